#include "core/run/index_range.h"

#include <cstring>

namespace rill {
namespace {

/// Read a whole number of a type of integers.
int64_t integer_at(DType dtype, const std::byte* element) {
  int64_t number = 0;
  const auto bytes = static_cast<size_t>(dtype_size(dtype));
  std::memcpy(&number, element, bytes);
  if (!is_signed_int(dtype)) return number;  // 2^63 and above become negative: no axis is that long
  const auto unused = static_cast<int>(64 - 8 * bytes);
  return static_cast<int64_t>(static_cast<uint64_t>(number) << unused) >> unused;
}

}  // namespace

Beyond first_beyond(const View& values, int64_t least, int64_t most) {
  std::array<int64_t, kMaxRank> at{};
  const int64_t bytes = dtype_size(values.dtype);
  const int64_t count = values.volume();
  const auto* element = values.as<const std::byte>();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t number = integer_at(values.dtype, element);
    if (number < least || number > most) return {i, number};
    for (int axis = values.rank - 1; axis >= 0; --axis) {
      int64_t& index = at[static_cast<size_t>(axis)];
      element += bytes * values.step(axis);
      if (++index < values.extent(axis)) break;
      element -= bytes * index * values.step(axis);
      index = 0;
    }
  }
  return {};
}

Refusal check_index_range(const PlanIo& io, const View& values) {
  if (!io.indices || !is_int(io.dtype)) return {};
  const Beyond beyond = first_beyond(values, io.least, io.most);
  if (beyond.at < 0) return {};
  const IndexWords words = index_words(io.least);
  const auto number = static_cast<long long>(beyond.number);
  const auto at = static_cast<long long>(beyond.at);
  if (io.most == INT64_MAX) {
    return refusal(Code::kArg, words.hint,
                   "input \"%s\" holds the %s %lld at element %lld: expected %lld or more",
                   io.name.c_str(), words.noun, number, at, static_cast<long long>(io.least));
  }
  return refusal(Code::kArg, words.hint,
                 "input \"%s\" holds the %s %lld at element %lld: expected %lld to %lld",
                 io.name.c_str(), words.noun, number, at, static_cast<long long>(io.least),
                 static_cast<long long>(io.most));
}

}  // namespace rill
