#include "core/base/sorted.h"

#include <algorithm>
#include <numeric>

namespace rill {

std::vector<size_t> sorted_order(size_t count, bool (*less)(const void* items, size_t a, size_t b),
                                 const void* items) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return less(items, a, b); });
  return order;
}

}  // namespace rill
