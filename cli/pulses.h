#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "pulse/pulse.h"

namespace rill::cli {

/// What a stream costs and how late it is with one pulse. Frames are those of the stream symbol.
struct PulseChoice {
  int64_t pulse = 0;
  double delay = 0;    ///< of the output that lags most, in frames
  double step_us = 0;  ///< by the cost model
  int64_t state_bytes = 0;
  int64_t arena_bytes = 0;

  /// Frames that the first frame of a pulse waits for its answer: for the pulse to fill up, and
  /// for the frames that the model looks ahead.
  double latency() const { return static_cast<double>(pulse - 1) + delay; }
  double us_per_frame() const { return step_us / static_cast<double>(pulse); }
};

/// `auto`, `S=auto`, `S=auto:min=8,max=64`.
struct AutoPulse {
  std::string symbol{kDefaultStreamSymbol};
  int64_t least = 1;
  int64_t most = INT64_MAX;
};
/// Nothing unless the text asks for a search. Errors: kPulse for bounds that make no sense.
Result<std::optional<AutoPulse>> parse_auto_pulse(std::string_view text);

/// Cost and latency of the legal pulses within bounds: a dozen multiples of the least one.
Result<std::vector<PulseChoice>> pulse_choices(const Graph& graph, const pulse::Options& options,
                                               const AutoPulse& bounds);
/// The smallest pulse whose frames cost little more than the cheapest ones.
const PulseChoice& best_choice(const std::vector<PulseChoice>& choices);

/// The delay of a wire in frames of the stream symbol.
double symbol_frames(int64_t delay, int64_t wire_pulse, int64_t pulse);

/// CPU time against latency as SVG. `frame_ms` is 0 where it is not known.
std::string pulse_picture(const std::vector<PulseChoice>& choices, double frame_ms,
                          const std::string& title);

}  // namespace rill::cli
