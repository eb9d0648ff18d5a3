#include "core/tensor/uniform.h"

#include <algorithm>
#include <cstring>

#include "core/tensor/small.h"

namespace rill {

bool is_uniform(const TensorPtr& tensor) {
  if (!tensor || tensor->empty() || tensor->block_format() != BlockFormat::kNone) return false;
  if (tensor->volume() == 1) return true;
  if (!is_plain(tensor->dtype())) return false;
  const auto size = static_cast<size_t>(dtype_size(tensor->dtype()));
  const auto* bytes = tensor->data<std::byte>();
  return std::memcmp(bytes, bytes + size, static_cast<size_t>(tensor->size_bytes()) - size) == 0;
}

std::optional<double> uniform_number(const TensorPtr& tensor) {
  if (!tensor || tensor->empty() || tensor->block_format() != BlockFormat::kNone) {
    return std::nullopt;
  }
  std::optional<double> common;
  const int64_t count = is_uniform(tensor) ? 1 : tensor->volume();
  for (int64_t i = 0; i < count; ++i) {
    const auto value = element_as_double(*tensor, i);
    if (!value.ok() || (common && *common != *value)) return std::nullopt;
    common = *value;
  }
  return common;
}

bool has_zero_bits_only(const Tensor& tensor) {
  const auto* bytes = tensor.data<std::byte>();
  return std::all_of(bytes, bytes + tensor.size_bytes(),
                     [](std::byte each) { return each == std::byte{0}; });
}

Tensor first_element(const Tensor& tensor) {
  Tensor out = small_zeros(tensor.dtype(), {}, tensor.qparams());
  View from = tensor.view();
  from.rank = 0;
  copy_view(from, out.view());
  return out;
}

}  // namespace rill
