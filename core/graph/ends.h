#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/dim/dim.h"

namespace rill {

/// Lengths of streams, as expressions in the stream symbol, and the number of whole pulses that are
/// stepped before the end is announced.
struct StreamEnd {
  Dim length;
  Dim stepped;       ///< whole pulses before the announcement
  int64_t from = 0;  ///< the value of the symbol from which both hold
};

/// List the ends at which a wire of `frames` frames is shortest relative to the stepped frames: a
/// property that holds at these ends holds at every length >= 1. If a longer stream never shortens
/// the wire, these are the first length of each pulse; else they are all lengths. `late`: the end
/// of a stream of whole pulses is announced after its last step.
std::vector<StreamEnd> shortest_ends(const Dim& frames, std::string_view symbol, int64_t pulse,
                                     bool late);

/// Return the maximum number of frames past the end of a wire that steps have already output when
/// the end is announced, over all lengths >= 1; at least 0. Nothing if it is unbounded.
/// `frames_beyond` returns this number for a number of stepped pulses and the frames of the wire.
/// Errors: kShape, as for `DimPattern::of`.
Result<std::optional<int64_t>> most_frames_beyond(
    const Dim& length, std::string_view symbol, int64_t pulse, bool late,
    const std::function<Dim(const Dim& stepped, const Dim& frames)>& frames_beyond);

/// Return the least divisor of the pulse that is a multiple of `unit` and for which `suits` holds:
/// another plan may continue the stream at its multiples. The pulse itself always qualifies,
/// because a stream that stays in its plan continues at its multiples.
int64_t least_begin_unit(int64_t pulse, int64_t unit, const std::function<bool(int64_t)>& suits);

}  // namespace rill
