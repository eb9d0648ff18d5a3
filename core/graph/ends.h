#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/dim/dim.h"

namespace rill {

/// Lengths of streams, as expressions in the stream symbol, with the number of whole pulses that
/// have been stepped before the end is announced to the steps.
struct StreamEnd {
  Dim length;
  Dim told;          ///< pulses
  int64_t from = 0;  ///< the least value of the symbol that both are meant for
};

/// List the ends at which a wire of `frames` frames is shortest relative to the stepped frames: a
/// property that holds at these holds at every length from 1 on. If a longer stream never shortens
/// the wire, these are the first length of every pulse; else every length. `late`: streams of whole
/// pulses learn of their end after their last step.
std::vector<StreamEnd> shortest_ends(const Dim& frames, std::string_view symbol, int64_t pulse,
                                     bool late);

/// Find how many frames that have gone by lie behind the end of a wire at most, over all lengths
/// from 1 on, when its end is announced: at least 0; nothing if there is no such bound.
/// `behind` counts them for the pulses that have been stepped and the frames of the wire.
/// Errors: kShape, as `DimPattern::of`.
Result<std::optional<int64_t>> most_behind(
    const Dim& length, std::string_view symbol, int64_t pulse, bool late,
    const std::function<Dim(const Dim& told, const Dim& frames)>& behind);

/// Find the least divisor of the pulse, a multiple of `unit`, that `suits`: at its multiples
/// another plan may continue a stream in pulses. The pulse itself suits: a stream that never moved
/// continues so.
int64_t least_begin_unit(int64_t pulse, int64_t unit, const std::function<bool(int64_t)>& suits);

}  // namespace rill
