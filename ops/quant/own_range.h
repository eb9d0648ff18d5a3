#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/math/unary.h"

namespace rill::ops {

/// Numbers quantised to 8 bits over their own range, which includes 0: `scale * (values - point)`.
/// All are floats.
struct OwnRange {
  OutletId values;  ///< 0 to 255
  OutletId scale;   ///< of the input's rank, with extents of 1
  OutletId point;   ///< as `scale`
};

/// Quantise numbers to their joint range. `axes`: all axes of x. `Wires` adds nodes: `Formula`, or
/// the writer of a body.
/// Source: ONNX, `DynamicQuantizeLinear`.
template <class Wires>
OwnRange in_own_range(Wires& w, OutletId x, const std::vector<int64_t>& axes) {
  // Bytes have no NaN: a NaN becomes 0 here, and makes the scale NaN.
  const auto limited = [&](OutletId value) {
    value = w.binary(BinaryKind::kMaxNumber, value, w.number(0.0, x));
    return w.binary(BinaryKind::kMinNumber, value, w.number(255.0, x));
  };
  const auto over = [&](OutletId value, OutletId by) {
    return w.unary(UnaryKind::kRoundEven, w.binary(BinaryKind::kDiv, value, by));
  };
  const OutletId zero = w.number(0.0, x);
  const OutletId high = w.binary(BinaryKind::kMax, w.reduce(ReduceKind::kMax, x, axes), zero);
  const OutletId low = w.binary(BinaryKind::kMin, w.reduce(ReduceKind::kMin, x, axes), zero);
  const OutletId span = w.binary(BinaryKind::kSub, high, low);
  const OutletId step = w.binary(BinaryKind::kDiv, span, w.number(255.0, x));
  // The standard does not define the scale of zeros; onnxruntime uses 1.
  const OutletId flat = w.binary(BinaryKind::kEq, step, zero);
  OwnRange out;
  out.scale = w.select(flat, w.number(1.0, x), step);
  out.point = limited(over(w.unary(UnaryKind::kNeg, low), out.scale));
  out.values = limited(w.binary(BinaryKind::kAdd, over(x, out.scale), out.point));
  return out;
}

}  // namespace rill::ops
