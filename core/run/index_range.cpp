#include "core/run/index_range.h"

#include "core/tensor/visit_number.h"

namespace rill {
namespace {

/// Return the index of the first element, in row-major order, that is not in [least, most]; -1 if
/// all are.
template <class T>
int64_t first_beyond(const View& values, int64_t least, int64_t most, int64_t* found) {
  std::array<int64_t, kMaxRank> at{};
  const int64_t count = values.volume();
  const T* element = values.as<const T>();
  for (int64_t i = 0; i < count; ++i) {
    // 2^63 and above become negative, and no axis is that long.
    *found = static_cast<int64_t>(*element);
    if (*found < least || *found > most) return i;
    for (int axis = values.rank - 1; axis >= 0; --axis) {
      int64_t& index = at[static_cast<size_t>(axis)];
      element += values.step(axis);
      if (++index < values.extent(axis)) break;
      element -= index * values.step(axis);
      index = 0;
    }
  }
  return -1;
}

}  // namespace

Refusal check_index_range(const PlanIo& io, const View& values) {
  if (!io.indices) return {};
  int64_t found = 0;
  int64_t at = -1;
  visit_number(io.dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T>) {
      at = first_beyond<T>(values, io.least, io.most, &found);
    }
  });
  if (at < 0) return {};
  return refusal(Code::kArg, "An index counts from 0, or from -1 backwards",
                 "input \"%s\" holds the index %lld at element %lld: expected %lld to %lld",
                 io.name.c_str(), static_cast<long long>(found), static_cast<long long>(at),
                 static_cast<long long>(io.least), static_cast<long long>(io.most));
}

}  // namespace rill
