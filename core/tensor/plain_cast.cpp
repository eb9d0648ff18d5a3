#include "core/tensor/plain_cast.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/tensor/convert_element.h"

namespace rill {
namespace {

/// Quantise a real number: round half to even, and clamp. 8-bit types compute in f32, like PyTorch
/// and tract: the mean of two neighbours is half way, and must round as it does there.
double quantise(double real, const View& to) {
  double low = -128;
  double high = 127;
  if (to.dtype == DType::kQU8) {
    low = 0;
    high = 255;
  } else if (to.dtype == DType::kQI32) {
    low = std::numeric_limits<int32_t>::min();
    high = std::numeric_limits<int32_t>::max();
  }
  double q = 0;
  if (to.dtype == DType::kQI32) {
    q = std::nearbyint(real / static_cast<double>(to.q.scale) + to.q.zero_point);
  } else {
    q = std::nearbyint(static_cast<float>(real) / to.q.scale + static_cast<float>(to.q.zero_point));
  }
  return std::isnan(q) ? 0 : std::clamp(q, low, high);
}

/// Cast through the widest type of the source's kind, which represents all its values. This needs
/// two loops per type instead of one per pair of types.
template <class Wide>
void cast_through(const View& from, const View& to) {
  constexpr int64_t kBlock = 64;
  Wide block[kBlock];
  if (from.volume() == 0) return;
  PairedRows rows(from, to);
  do {
    for (int64_t begin = 0; begin < rows.count; begin += kBlock) {
      const int64_t count = std::min(rows.count - begin, kBlock);
      visit_type(from.dtype, [&](auto source) {
        using From = decltype(source);
        const From* x = from.as<const From>() + rows.at_a + begin * rows.step_a;
        for (int64_t i = 0; i < count; ++i) block[i] = convert_element<Wide>(x[i * rows.step_a]);
      });
      visit_type(to.dtype, [&](auto target) {
        using To = decltype(target);
        To* y = to.as<To>() + rows.at_b + begin * rows.step_b;
        for (int64_t i = 0; i < count; ++i) y[i * rows.step_b] = convert_element<To>(block[i]);
      });
    }
  } while (rows.next());
}

/// Cast directly between integers of up to 32 bits (quantised numbers and accumulators), floats and
/// bools (masks). Through the widest type, these casts would dominate a model's time.
template <class From, class To>
void cast_rows(const View& from, const View& to) RILL_NONBLOCKING {
  if (from.volume() == 0) return;
  PairedRows rows(from, to);
  do {
    const From* x = from.as<const From>() + rows.at_a;
    To* y = to.as<To>() + rows.at_b;
    if (rows.step_a == 1 && rows.step_b == 1) {
      for (int64_t i = 0; i < rows.count; ++i) y[i] = convert_element<To>(x[i]);
    } else {
      for (int64_t i = 0; i < rows.count; ++i) {
        y[i * rows.step_b] = convert_element<To>(x[i * rows.step_a]);
      }
    }
  } while (rows.next());
}

using CastRows = void (*)(const View& from, const View& to) RILL_NONBLOCKING;

/// Return the direct cast for a pair of types; null if there is none.
CastRows rows_between(DType from, DType to) {
  const bool narrows = from == DType::kF32;
  if (!narrows && to != DType::kF32) return nullptr;
  switch (narrows ? to : from) {
    case DType::kI32:
      return narrows ? cast_rows<float, int32_t> : cast_rows<int32_t, float>;
    case DType::kI16:
      return narrows ? cast_rows<float, int16_t> : cast_rows<int16_t, float>;
    case DType::kBool:
      return narrows ? cast_rows<float, Bool> : cast_rows<Bool, float>;
    case DType::kU16:
      return narrows ? cast_rows<float, uint16_t> : cast_rows<uint16_t, float>;
    default:
      return nullptr;
  }
}

/// Read an element as a real number, or as the stored integer if `raw`.
double real_at(const View& view, int64_t at, bool raw) {
  double value = 0;
  visit_type(view.dtype, [&](auto type) {
    using T = decltype(type);
    value = convert_element<double>(view.as<T>()[at]);
  });
  if (!is_quantised(view.dtype) || raw) return value;
  return (value - view.q.zero_point) * static_cast<double>(view.q.scale);
}

void cast_quantised(const View& from, const View& to) {
  const bool raw = is_int(to.dtype);
  for_each_pair(from, to, [&](int64_t a, int64_t b) {
    double value = real_at(from, a, raw);
    if (is_quantised(to.dtype) && !is_int(from.dtype)) value = quantise(value, to);
    visit_type(to.dtype, [&](auto type) {
      using To = decltype(type);
      to.as<To>()[b] = convert_element<To>(value);
    });
  });
}

}  // namespace

void cast_plain(const View& from, const View& to) {
  if (from.dtype == to.dtype && from.q == to.q) return copy_plain(from, to);
  if (is_quantised(from.dtype) || is_quantised(to.dtype)) return cast_quantised(from, to);
  if (const CastRows rows = rows_between(from.dtype, to.dtype)) return rows(from, to);
  if (is_float(from.dtype)) return cast_through<double>(from, to);
  if (is_unsigned_int(from.dtype)) return cast_through<uint64_t>(from, to);
  cast_through<int64_t>(from, to);
}

}  // namespace rill
