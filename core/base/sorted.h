#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

// One sort for lists of every type; `std::sort` takes 1 to 3 kB of code per type. Allocates, so
// steps must not use it.

namespace rill {

/// Return the indices of the items in sorted order; the sort is stable. `less(items, a, b)`
/// compares items a and b.
std::vector<size_t> sorted_order(size_t count, bool (*less)(const void* items, size_t a, size_t b),
                                 const void* items);

template <class Less>
std::vector<size_t> sorted_order(size_t count, const Less& less) {
  return sorted_order(
      count,
      [](const void* test, size_t a, size_t b) { return (*static_cast<const Less*>(test))(a, b); },
      &less);
}

/// Sort a list; equal items keep their order.
template <class T, class Less = std::less<T>>
void sort_list(std::vector<T>& list, const Less& less = {}) {
  const std::vector<size_t> order =
      sorted_order(list.size(), [&](size_t a, size_t b) { return less(list[a], list[b]); });
  std::vector<T> sorted;
  sorted.reserve(list.size());
  for (const size_t i : order) sorted.push_back(std::move(list[i]));
  list = std::move(sorted);
}

}  // namespace rill
