#pragma once

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

/// List the ends at which a wire of `frames` frames is shortest beside what has been stepped: what
/// holds at these holds at every length from 1 on. Where the wire never gets shorter as the stream
/// gets longer, these are the first length of every pulse; else every length.
/// `late`: streams of whole pulses learn of their end after their last step.
std::vector<StreamEnd> shortest_ends(const Dim& frames, std::string_view symbol, int64_t pulse,
                                     bool late);

}  // namespace rill
