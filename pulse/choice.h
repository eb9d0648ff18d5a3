#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "pulse/pulse.h"

namespace rill::pulse {

/// Cost and latency of a stream with one pulse. Frames count in the stream symbol.
struct Choice {
  int64_t pulse = 0;
  double delay = 0;    ///< of the output that lags most, in frames
  double step_us = 0;  ///< by the cost model
  int64_t state_bytes = 0;
  int64_t arena_bytes = 0;

  /// Return the number of frames that arrive between the first frame of a pulse and its output: the
  /// rest of the pulse, and the model's look-ahead.
  double latency() const { return static_cast<double>(pulse - 1) + delay; }
  double us_per_frame() const { return step_us / static_cast<double>(pulse); }
};

/// Bounds of the search for a pulse, in frames of the stream symbol.
struct Bounds {
  int64_t least = 1;
  int64_t most = INT64_MAX;
  int64_t max_delay = INT64_MAX;    ///< of `Choice::delay`
  int64_t max_latency = INT64_MAX;  ///< of `Choice::latency`
};

/// Parse `auto`, or `auto:min=8,max=64,max_delay=20,max_latency=40` with any of these; nothing if
/// the text requests no search. Errors: kPulse for bounds that contradict each other.
Result<std::optional<Bounds>> parse_bounds(std::string_view text);

/// Report cost and latency of legal pulses within bounds. Candidates are a dozen multiples of the
/// least pulse >= `bounds.least`, and of the chunk of frames that layers read; those with too much
/// latency are dropped. Other symbols count as 1, because they scale the costs of all pulses alike.
/// Errors: kPulse if no legal pulse is within bounds; those of `pulsify`.
Result<std::vector<Choice>> choices(const Graph& graph, const Options& options,
                                    const Bounds& bounds);

/// Return the pulse of least latency whose time per frame is at most 25% above the least time per
/// frame.
const Choice& best(const std::vector<Choice>& choices);

/// A pulse that fills the chunks of frames for which layers wait.
struct ChunkPulse {
  int64_t pulse = 0;  ///< 0: there is none
  double delay = 0;   ///< of the output that lags most, in frames of the stream symbol
};

/// Return the shortest pulse with less latency than all shorter ones because it fills chunks: with
/// it the stream waits once for a chunk, otherwise once per layer. `unit`: the least pulse. Errors:
/// those of `pulsify`.
Result<ChunkPulse> chunk_pulse(const Graph& graph, Options options, int64_t unit);

/// Return the delay of a wire in frames of the stream symbol.
double symbol_frames(int64_t delay, int64_t wire_pulse, int64_t pulse);

}  // namespace rill::pulse
