#include "core/exec/layout.h"

#include <algorithm>
#include <array>
#include <map>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "core/base/sorted.h"

namespace rill {
namespace {

// The maximum number of buffers that are placed by size. This compares every pair, which takes 20
// ms at the limit; models have a few hundred buffers.
constexpr size_t kMostBySize = 8192;

/// Return the indices of buffers sorted by decreasing size; if `by_begin`, sorted by first step,
/// then by decreasing size.
std::vector<size_t> ordered(std::span<const Lifetime> buffers, bool by_begin) {
  std::vector<std::array<int64_t, 3>> keys;
  keys.reserve(buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    const int64_t begin = by_begin ? buffers[i].first_step : 0;
    keys.push_back({begin, -buffers[i].bytes, static_cast<int64_t>(i)});
  }
  sort_list(keys);
  std::vector<size_t> out;
  out.reserve(keys.size());
  for (const auto& key : keys) out.push_back(static_cast<size_t>(key[2]));
  return out;
}

/// Place the largest buffers first, each in the lowest gap between buffers that are alive at the
/// same time.
int64_t place_by_size(std::span<Lifetime> buffers) {
  std::vector<Lifetime> placed;  // by offset
  placed.reserve(buffers.size());
  int64_t top = 0;
  for (const size_t i : ordered(buffers, false)) {
    Lifetime& buffer = buffers[i];
    const int64_t bytes = aligned_bytes(buffer.bytes);
    int64_t at = 0;
    for (const Lifetime& other : placed) {
      if (other.last_step < buffer.first_step || other.first_step > buffer.last_step) continue;
      if (at + bytes <= other.offset) break;
      at = std::max(at, other.offset + aligned_bytes(other.bytes));
    }
    buffer.offset = at;
    top = std::max(top, at + bytes);
    const auto after = std::upper_bound(
        placed.begin(), placed.end(), at,
        [](int64_t offset, const Lifetime& other) { return offset < other.offset; });
    placed.insert(after, buffer);
  }
  return top;
}

/// The free gaps of a block that grows at its end.
class Gaps {
 public:
  int64_t top() const { return top_; }

  /// Take the smallest gap that is large enough; else extend the block.
  int64_t take(int64_t bytes) {
    const auto found = by_bytes_.lower_bound({bytes, 0});
    if (found == by_bytes_.end()) return take_at_end(bytes);
    const auto [room, at] = *found;
    erase(at);
    if (room > bytes) insert(at + bytes, room - bytes);
    return at;
  }

  void give_back(int64_t at, int64_t bytes) {
    auto next = by_offset_.lower_bound(at);
    if (next != by_offset_.end() && next->first == at + bytes) {
      bytes += next->second;
      erase(next->first);
    }
    next = by_offset_.lower_bound(at);
    if (next != by_offset_.begin()) {
      const auto [before, room] = *std::prev(next);
      if (before + room == at) {
        erase(before);
        at = before;
        bytes += room;
      }
    }
    insert(at, bytes);
  }

 private:
  int64_t take_at_end(int64_t bytes) {
    int64_t at = top_;
    if (!by_offset_.empty()) {
      const auto [last, room] = *std::prev(by_offset_.end());
      if (last + room == top_) {
        erase(last);
        at = last;
      }
    }
    top_ = at + bytes;
    return at;
  }
  void insert(int64_t at, int64_t bytes) {
    by_offset_.emplace(at, bytes);
    by_bytes_.emplace(bytes, at);
  }
  void erase(int64_t at) {
    const auto it = by_offset_.find(at);
    by_bytes_.erase({it->second, at});
    by_offset_.erase(it);
  }

  std::map<int64_t, int64_t> by_offset_;
  std::set<std::pair<int64_t, int64_t>> by_bytes_;
  int64_t top_ = 0;
};

/// Place buffers in the order of their first steps, each in the smallest gap that dead buffers
/// left.
int64_t place_in_time(std::span<Lifetime> buffers) {
  const auto dies_later = [&](size_t a, size_t b) {
    return buffers[a].last_step > buffers[b].last_step;
  };
  std::priority_queue<size_t, std::vector<size_t>, decltype(dies_later)> alive(dies_later);
  Gaps gaps;
  for (const size_t i : ordered(buffers, true)) {
    Lifetime& buffer = buffers[i];
    while (!alive.empty() && buffers[alive.top()].last_step < buffer.first_step) {
      const Lifetime& gone = buffers[alive.top()];
      gaps.give_back(gone.offset, aligned_bytes(gone.bytes));
      alive.pop();
    }
    if (buffer.bytes == 0) continue;
    buffer.offset = gaps.take(aligned_bytes(buffer.bytes));
    alive.push(i);
  }
  return gaps.top();
}

}  // namespace

int64_t lay_out(std::span<Lifetime> buffers) {
  return buffers.size() <= kMostBySize ? place_by_size(buffers) : place_in_time(buffers);
}

}  // namespace rill
