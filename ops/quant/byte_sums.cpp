#include "ops/quant/byte_sums.h"

#include "core/base/search.h"
#include "ops/nn/byte_lower.h"

namespace rill::ops {

Status ByteSums::lower(Lowering& lowering) const {
  std::vector<int> x_order;
  std::vector<int> y_order;
  int column_axis = 0;
  for (const int axis : Lowering::physical_order(lowering.in(0))) {
    if (axis == summed) continue;
    x_order.push_back(axis);
    const auto at = find(from, axis);
    y_order.push_back(static_cast<int>(at - from.begin()));
  }
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] < 0) column_axis = static_cast<int>(i);
  }
  x_order.push_back(static_cast<int>(summed));
  y_order.push_back(column_axis);
  const Operand x = lowering.ordered(lowering.in(0), x_order);
  const Operand& w = lowering.in(1);
  ByteProduct product;
  product.x = x.ref;
  product.x_type = x.dtype;
  product.x_zero = static_cast<int32_t>(x_zero);
  product.w_zero = static_cast<int32_t>(w_zero);
  product.columns = w.extent(0);
  product.segment_len = product.row_stride = w.extent(1) / parts;
  product.segments = parts;
  product.rows = 1;
  for (const int axis : x_order) product.rows *= axis == summed ? 1 : x.extent(axis);
  const auto* bytes = w.konst->data<int8_t>();
  product.weights.resize(static_cast<size_t>(w.konst->volume()));
  for (int64_t n = 0; n < product.columns; ++n) {
    for (int64_t k = 0; k < product.k(); ++k) {
      product.weights[static_cast<size_t>(k * product.columns + n)] = *bytes++;
    }
  }
  if (has_bias) {
    const auto values = lowering.in(2).konst->values<int32_t>();
    product.bias.assign(values.begin(), values.end());
    lowering.packed(2);
  }
  if (has_zero) product.zero = lowering.in(has_bias ? 3 : 2).ref;
  if (rounds) product.rounding = rounding;
  lower_byte_product(product, lowering, y_order);
  lowering.packed(1);
  return {};
}

}  // namespace rill::ops
