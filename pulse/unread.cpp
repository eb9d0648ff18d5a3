#include "pulse/unread.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/checked.h"

namespace rill::pulse {
namespace {

/// A bound on frame numbers, so that their products with strides stay far from overflow.
constexpr int64_t kMost = int64_t{1} << 31;

/// Return the first input frame that is read for output frames >= `frame`.
int64_t first_read(const Read& read, int64_t frame) {
  const auto place = checked_mul(frame, read.stride);
  // Skipping fewer frames is always correct.
  const int64_t first =
      place ? std::clamp<int64_t>(*place + read.offset, 0, kMost) / read.divisor : 0;
  return std::max(first, read.least);
}

}  // namespace

std::vector<int64_t> unread_frames(const Graph& whole, const std::vector<Read>& reads) {
  std::map<std::pair<int, int>, Read> known;
  for (const Read& read : reads) known[{read.node, read.input}] = read;
  constexpr int64_t kNobody = INT64_MAX;
  std::vector<int64_t> out(whole.nodes.size(), kNobody);
  for (const OutletId& output : whole.outputs) out[static_cast<size_t>(output.node)] = 0;
  for (size_t id = whole.nodes.size(); id-- > 0;) {
    const Node& node = whole.nodes[id];
    if (out[id] == kNobody) out[id] = 0;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const auto read = known.find({static_cast<int>(id), static_cast<int>(i)});
      const int64_t first = read == known.end() ? 0 : first_read(read->second, out[id]);
      int64_t& unread = out[static_cast<size_t>(node.inputs[i].node)];
      unread = std::min(unread, first);
    }
  }
  return out;
}

}  // namespace rill::pulse
