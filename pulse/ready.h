#pragma once

#include <optional>
#include <string_view>

#include "pulse/attention/attention.h"
#include "pulse/report.h"

namespace rill::pulse {

/// Return the graph in the form that is pulsed: with its knowledge of streams, and simplified.
Result<Graph> before_pulsing(Graph graph, std::string_view symbol);

/// Return whether attention streams along that symbol, which takes more code than a single
/// operator.
bool meets_attention(const Graph& graph, std::string_view symbol);

/// A graph whose nodes are pulsed one by one, and its attention, which is pulsed as a whole.
struct Ready {
  Graph whole;
  AllAttention attention;
};

/// Simplify a graph, and find its attention. Errors: kPulse for a model that is pulsed already.
Result<Ready> ready_for_pulses(const Graph& graph, const Options& options);

/// Join constant keys before the streams of attention late; nothing if there are none. `pads`:
/// whether padding counts as such keys.
Result<std::optional<Ready>> with_front_keys(const Ready& ready, const Options& options, bool pads);

/// Errors: kPulse for a model that is already pulsed.
Status refuse_pulsed(const Graph& graph);

}  // namespace rill::pulse
