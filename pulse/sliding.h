#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace rill::pulse {

/// Frames of a sliding window, in the stream symbol: each step computes the whole model over `left
/// + step + right` frames, and outputs the `step` frames in the middle.
struct Window {
  int64_t left = 0;
  int64_t step = 1;
  int64_t right = 0;

  int64_t frames() const { return left + step + right; }
};

/// The asymptotic rate of a length: `frames` per `unit` of the symbol.
struct WindowRate {
  int64_t frames = 1;
  int64_t unit = 1;

  /// Scale a count of the symbol that is a multiple of `unit`.
  int64_t of(int64_t symbol) const { return symbol / unit * frames; }
};

/// Return the rate of an axis of `length` frames. Errors: kPulse if it has none, with the remedy.
Result<WindowRate> window_rate(const Dim& length, std::string_view symbol);

/// Rewrite a graph to compute one whole window per step: the stream symbol becomes the frames of
/// the window. Frames before and after the stream are zeros.
/// An output along the symbol streams with a delay of `right`. An output without it that depends on
/// the stream gets a new first axis with one row per step; row k is that of the window which ends
/// with frame (k + 1) * `step`.
/// `Graph::streaming` describes the streams, and the property "rill.window" the window.
/// Errors: kPulse for windows without a step, and for models whose outputs do not grow in
/// proportion to the symbol, with the remedy.
Result<Graph> slide(const Graph& graph, const std::string& symbol, const Window& window);

/// Add windows as the last remedy to a refusal to pulse a graph, if they are possible.
Status or_windows(const Graph& graph, const std::string& symbol, Status refused);

/// Return the window that `slide` recorded in the properties of a graph; nothing if there is none.
std::optional<Window> window_of(const Graph& graph);

}  // namespace rill::pulse
