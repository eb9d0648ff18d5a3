#pragma once

#include <optional>
#include <string_view>

#include "pulse/report.h"

namespace rill::pulse {

/// Return the graph in the form that is pulsed: with its knowledge of streams, and simplified.
Result<Graph> before_pulsing(Graph graph, std::string_view symbol);

/// Return whether attention streams along that symbol, which takes more code than a single
/// operator.
bool meets_attention(const Graph& graph, std::string_view symbol);

/// Make the graph whose nodes are pulsed one by one: simplified, with each attention as one node.
/// Errors: kPulse for a model that is pulsed already.
Result<Graph> ready_for_pulses(const Graph& graph, const Options& options);

/// Return a graph that is ready with constant keys before its streams; nothing if it has none.
/// `pads`: whether padding counts as such keys.
Result<std::optional<Graph>> with_front_keys(const Graph& whole, const Options& options, bool pads);

/// Errors: kPulse for a model that is already pulsed.
Status refuse_pulsed(const Graph& graph);

}  // namespace rill::pulse
