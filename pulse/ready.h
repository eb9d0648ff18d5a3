#pragma once

#include <optional>
#include <string_view>

#include "pulse/attention/attention.h"
#include "pulse/report.h"

namespace rill::pulse {

/// Return the graph after all passes that precede pulsing.
Result<Graph> before_pulsing(Graph graph, std::string_view symbol);

/// Return whether a graph has attention over that symbol. Pulsing attention takes more code than
/// single operators do.
bool meets_attention(const Graph& graph, std::string_view symbol);

/// A graph whose nodes are pulsed one by one, and its attention, which is pulsed as a whole.
struct Ready {
  Graph whole;
  AllAttention attention;
};

/// Simplify a graph, and find its attention. Errors: kPulse for a model that is pulsed already.
Result<Ready> ready_for_pulses(const Graph& graph, const Options& options);

/// Join constant keys, which precede the stream, directly to the inputs of attention; nothing if
/// there are none. `pads`: whether padding counts as such keys.
Result<std::optional<Ready>> with_front_keys(const Ready& ready, const Options& options, bool pads);

/// Refuse a model that is already pulsed. Errors: kPulse.
Status refuse_pulsed(const Graph& graph);

}  // namespace rill::pulse
