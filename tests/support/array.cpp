#include "tests/support/array.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

namespace rill::test {
namespace {

size_t element(const Array& array) { return rill_dtype_size(array.dtype); }

std::string shape_text(const std::vector<int64_t>& shape) {
  std::ostringstream out;
  for (const int64_t extent : shape) out << extent << ',';
  return out.str();
}

std::string index_text(const Array& array, int64_t at) {
  std::string out;
  for (size_t axis = array.shape.size(); axis-- > 0;) {
    out = std::to_string(at % array.shape[axis]) + (out.empty() ? "" : ", ") + out;
    at /= array.shape[axis];
  }
  return "[" + out + "]";
}

std::string type_difference(const Array& found, const Array& want) {
  if (found.dtype != want.dtype) {
    return std::string("type ") + rill_dtype_name(found.dtype) + ", expected " +
           rill_dtype_name(want.dtype);
  }
  if (found.shape == want.shape) return {};
  return "shape " + shape_text(found.shape) + " expected " + shape_text(want.shape);
}

template <class T>
std::string close_difference(const Array& found, const Array& want, double atol, double rtol) {
  int64_t worst = -1;
  int64_t outliers = 0;
  double worst_excess = 0;
  for (int64_t i = 0; i < want.volume(); ++i) {
    const double a = found.as<T>()[i];
    const double b = want.as<T>()[i];
    if ((std::isnan(a) && std::isnan(b)) || a == b) continue;
    const double excess = std::abs(a - b) - (atol + rtol * std::abs(b));
    if (excess <= 0) continue;
    ++outliers;
    if (worst < 0 || !(excess <= worst_excess)) {
      worst = i;
      worst_excess = excess;
    }
  }
  if (worst < 0) return {};
  std::ostringstream out;
  out << outliers << " of " << want.volume() << " differ, most at " << index_text(want, worst)
      << ": " << found.as<T>()[worst] << ", expected " << want.as<T>()[worst];
  return out.str();
}

}  // namespace

Array Array::zeros(rill_dtype dtype, std::vector<int64_t> shape) {
  Array out;
  out.dtype = dtype;
  out.shape = std::move(shape);
  out.bytes.resize(static_cast<size_t>(out.volume()) * element(out));
  return out;
}

Array Array::noise(std::vector<int64_t> shape, uint32_t seed) {
  Array out = zeros(RILL_F32, std::move(shape));
  auto* values = reinterpret_cast<float*>(out.bytes.data());
  uint64_t state = seed * 2654435761U + 12345U;
  for (int64_t i = 0; i < out.volume(); ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;  // Knuth's MMIX
    values[i] = static_cast<float>(static_cast<int32_t>(state >> 32)) / 2147483648.0F;
  }
  return out;
}

int64_t Array::volume() const {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

rill_view Array::view() const {
  rill_view view = {};
  view.size = sizeof(view);
  view.dtype = dtype;
  view.rank = static_cast<uint32_t>(shape.size());
  view.shape = shape.data();
  view.data = const_cast<std::byte*>(bytes.data());
  return view;
}

Array Array::part(int axis, int64_t first, int64_t count) const {
  Array out = *this;
  const auto a = static_cast<size_t>(axis);
  out.shape[a] = count;
  out.bytes.assign(static_cast<size_t>(out.volume()) * element(out), std::byte{0});
  if (dtype == RILL_F32) {
    auto* values = reinterpret_cast<float*>(out.bytes.data());
    std::fill_n(values, out.volume(), std::numeric_limits<float>::quiet_NaN());
  }
  size_t row = element(*this);
  for (size_t i = a + 1; i < shape.size(); ++i) row *= static_cast<size_t>(shape[i]);
  int64_t outer = 1;
  for (size_t i = 0; i < a; ++i) outer *= shape[i];
  const int64_t present = std::clamp<int64_t>(shape[a] - first, 0, count);
  for (int64_t i = 0; i < outer && present > 0; ++i) {
    std::memcpy(out.bytes.data() + static_cast<size_t>(i * count) * row,
                bytes.data() + static_cast<size_t>(i * shape[a] + first) * row,
                static_cast<size_t>(present) * row);
  }
  return out;
}

void Array::append(const Array& more, int axis) {
  const auto a = static_cast<size_t>(axis);
  Array joined = part(axis, 0, shape[a] + more.shape[a]);
  size_t row = element(*this);
  for (size_t i = a + 1; i < shape.size(); ++i) row *= static_cast<size_t>(shape[i]);
  int64_t outer = 1;
  for (size_t i = 0; i < a; ++i) outer *= shape[i];
  const size_t chunk = static_cast<size_t>(more.shape[a]) * row;
  for (int64_t i = 0; i < outer && chunk > 0; ++i) {
    const auto lane = static_cast<size_t>(i);
    std::memcpy(joined.bytes.data() + static_cast<size_t>(i * joined.shape[a] + shape[a]) * row,
                more.bytes.data() + lane * chunk, chunk);
  }
  *this = std::move(joined);
}

std::string difference(const Array& found, const Array& want, double atol, double rtol) {
  if (auto other = type_difference(found, want); !other.empty()) return other;
  if (want.dtype == RILL_F32) return close_difference<float>(found, want, atol, rtol);
  if (want.dtype == RILL_F64) return close_difference<double>(found, want, atol, rtol);
  return bit_difference(found, want);
}

std::string bit_difference(const Array& found, const Array& want) {
  if (auto other = type_difference(found, want); !other.empty()) return other;
  if (found.bytes == want.bytes) return {};
  if (want.dtype == RILL_F32) {
    const std::string in_values = close_difference<float>(found, want, 0, 0);
    return in_values.empty() ? "bits differ in signs of zero or NaN" : in_values;
  }
  const auto at = std::mismatch(found.bytes.begin(), found.bytes.end(), want.bytes.begin());
  const auto offset = (at.first - found.bytes.begin()) / static_cast<int64_t>(element(want));
  return "elements differ from " + index_text(want, offset) + " on";
}

}  // namespace rill::test
