#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/graph.h"

namespace rill::pulse {

/// Frame n of the outputs of a node depends only on frames >= (n * stride + offset) / divisor of an
/// input.
struct Read {
  int node = 0;
  int input = 0;
  int64_t stride = 1;
  int64_t offset = 0;
  int64_t divisor = 1;
  int64_t least = 0;  ///< no earlier frame is read, whatever n is
};

/// Return the number of leading output frames without a reader, for every node, such as before a
/// slice that begins later. An input without a `Read` is read from its first frame, as is every
/// output of the graph.
std::vector<int64_t> unread_frames(const Graph& whole, const std::vector<Read>& reads);

}  // namespace rill::pulse
