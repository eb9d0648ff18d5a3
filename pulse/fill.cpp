#include "pulse/fill.h"

#include <algorithm>

namespace rill::pulse {

bool same_fill(const TensorPtr& a, const TensorPtr& b) {
  if (a == b) return true;
  const auto zero = [](const TensorPtr& t) {
    if (!t) return true;
    for (int64_t i = 0; i < t->volume(); ++i) {
      const auto value = element_as_double(*t, i);
      if (!value.ok() || *value != 0.0) return false;
    }
    return true;
  };
  if (!a || !b) return zero(a) && zero(b);
  return a->same_bits(*b);
}

TensorPtr compact_fill(const TensorPtr& fill) {
  if (!fill || fill->volume() == 0 || !is_plain(fill->dtype())) return fill;
  const auto size = dtype_size(fill->dtype());
  const auto* bytes = fill->data<std::byte>();
  for (int64_t i = 1; i < fill->volume(); ++i) {
    if (!std::equal(bytes, bytes + size, bytes + i * size)) return fill;
  }
  if (std::all_of(bytes, bytes + size, [](std::byte b) { return b == std::byte{0}; })) {
    return nullptr;
  }
  auto scalar = Tensor::zeros(fill->dtype(), {}, fill->qparams());
  if (!scalar.ok()) return fill;
  std::copy(bytes, bytes + size, scalar->mutable_data<std::byte>());
  return std::make_shared<const Tensor>(std::move(scalar).value());
}

}  // namespace rill::pulse
