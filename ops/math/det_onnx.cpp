// Reads ONNX's Det.

#include "ops/math/formula.h"

namespace rill::ops {
namespace {

Result<Value> det(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("X");
  const DType type = f.dtype(x);
  if (!f.ok()) return f.take_status();
  if (!is_float(type)) return fail(Code::kDType, "X ", f.fact(x), ": expected floats");
  if (const int rank = f.rank(x); rank >= 2) {
    RILL_TRY(ctx.take_as_equal(f.dim(x, rank - 2), f.dim(x, rank - 1)));
  }
  const OutletId wide = type == DType::kF64 ? x : f.cast(x, DType::kF32);
  const OnnxCtx::Argument arguments[] = {{"input", Value(wide)}};
  RILL_ASSIGN(const Value made, ctx.call("rill_onnx_det", arguments));
  return f.value(f.cast(*made.get<std::vector<Value>>()->front().get<OutletId>(), type));
}

const OnnxOp kOps[] = {
    {"", 11, "fragment Det(X: tensor<?>) -> (Y: tensor<?>);", det},
};

}  // namespace

extern const OnnxModule det_onnx;
const OnnxModule det_onnx = {"det", kOps};

}  // namespace rill::ops
