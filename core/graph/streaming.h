#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/number_range.h"
#include "core/dim/dim.h"

namespace rill {

/// The default stream symbol.
inline constexpr std::string_view kDefaultStreamSymbol = "S";

/// The streaming of an output of a pulsed graph.
struct StreamingOutput {
  int axis = -1;      ///< axis of the frames; -1: static
  int64_t delay = 0;  ///< frames to drop before the first one of the stream
  /// Frames of the whole stream, in the stream symbol. For a static output: the value that the
  /// symbol must reach before the output is known. Nothing if that value is unknown, or if the
  /// output is known from the start.
  std::optional<Dim> length;
};

/// A streaming wire of the graph before it was pulsed.
struct StreamingWire {
  std::string name;   ///< name of its node, or `name:slot` for an output other than the first
  int64_t delay = 0;  ///< its delay in frames of this wire
};

/// How a pulsed graph streams. Inputs and outputs are listed by position; those beyond the end of
/// the list are static.
struct Streaming {
  std::string named;  ///< the stream symbol as the file names it; empty if it does not
  /// Units of the stream symbol per step. 0: the program that pulsed the graph recorded only
  /// inputs, outputs and the symbol.
  int64_t pulse = 0;
  std::vector<int> input_axes;  ///< axes of the frames; -1: static
  /// The length of each input in the whole stream, in the stream symbol. Nothing if it is
  /// proportional to the symbol, at the ratio of the frames per step.
  std::vector<std::optional<Dim>> input_lengths;
  std::vector<StreamingOutput> outputs;
  std::vector<StreamingWire> wires;
  int64_t begin_unit = 1;  ///< a state can be continued at multiples of this, in the stream symbol;
  int64_t settled = 0;     ///< before this position only at whole pulses
  bool late_end = false;   ///< the end of a stream of whole pulses may be announced after its last
                           ///< step
  std::optional<int64_t> longest;           ///< the longest stream that the model allows
  std::vector<Dim> asserted;                ///< expressions that are >= 0 at every valid length
  std::vector<std::string> approximations;  ///< losses of accuracy or context for the sake of
                                            ///< streaming
  /// The valid ranges of inputs that hold indices, from the graph before it was pulsed: a stream
  /// may also move frames that the whole graph cuts away.
  std::vector<std::optional<NumberRange>> indices;
  /// Fingerprint of the graph before it was pulsed.
  std::optional<std::array<uint64_t, 2>> model;

  std::string symbol() const { return named.empty() ? std::string(kDefaultStreamSymbol) : named; }
  int input_axis(size_t index) const { return index < input_axes.size() ? input_axes[index] : -1; }
  std::optional<Dim> input_length(size_t index) const {
    return index < input_lengths.size() ? input_lengths[index] : std::nullopt;
  }
  StreamingOutput output(size_t index) const {
    return index < outputs.size() ? outputs[index] : StreamingOutput();
  }
};

}  // namespace rill
