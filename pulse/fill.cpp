#include "pulse/fill.h"

#include "core/tensor/uniform.h"

namespace rill::pulse {

bool same_fill(const TensorPtr& a, const TensorPtr& b) {
  if (a == b) return true;
  const auto zero = [](const TensorPtr& t) {
    return !t || t->empty() || uniform_number(t) == 0.0;
  };
  if (!a || !b) return zero(a) && zero(b);
  return a->same_bits(*b);
}

TensorPtr compact_fill(const TensorPtr& fill) {
  if (!is_uniform(fill) || !is_plain(fill->dtype())) return fill;
  if (has_zero_bits_only(*fill)) return nullptr;
  return std::make_shared<const Tensor>(first_element(*fill));
}

}  // namespace rill::pulse
