#pragma once

#include <algorithm>

#include "ops/array/index_at.h"
#include "ops/array/walk.h"

namespace rill::ops {

/// Write the slices of axis `on` at the indices; zeros for an index out of range. `visit` calls a
/// function with the type of an element, as `visit_plain_size` does. `index_at` reads an index, as
/// `plain_index_at` does. Steps read numbers only; evaluation also reads strings and dims.
template <class Visit, class IndexAt>
void gather_along(const View& data, const View& indices, int on, const View& out,
                   const Visit& visit, const IndexAt& index_at) {
  const View slice = without_axis(data, on);
  // Split the output's axes into those of the indices and the others.
  View places = indices;
  View rest = slice;
  for (int i = 0; i < indices.rank; ++i) {
    places.stride[static_cast<size_t>(i)] = out.step(on + i);
  }
  for (int i = 0; i < slice.rank; ++i) {
    rest.stride[static_cast<size_t>(i)] = out.step(i < on ? i : i + indices.rank);
  }
  const bool rows = slice.contiguous() && rest.contiguous();
  const int64_t row = slice.volume();
  visit(data.dtype, [&](auto tag) {
    using T = decltype(tag);
    for_each_element<2>({indices, places}, [&](const std::array<int64_t, 2>& place) {
      const int64_t index = wrapped_index(index_at(indices, place[0]), data.extent(on));
      T* to = out.as<T>() + place[1];
      const T* from = index < 0 ? nullptr : data.as<const T>() + index * data.step(on);
      if (rows && from) {
        std::copy_n(from, row, to);
        return;
      }
      for_each_element<2>({slice, rest}, [&](const std::array<int64_t, 2>& at) {
        to[at[1]] = from ? from[at[0]] : T{};
      });
    });
  });
}

}  // namespace rill::ops
