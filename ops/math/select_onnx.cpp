// How ONNX's Where and Clip are read.

#include "core/graph/onnx.h"
#include "ops/math/numpy.h"
#include "ops/math/select.h"

namespace rill::ops {
namespace {

Result<Value> where(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId condition, ctx.wire("condition"));
  RILL_ASSIGN(const OutletId x, ctx.wire("X"));
  RILL_ASSIGN(const OutletId y, ctx.wire("Y"));
  RILL_ASSIGN(std::vector<OutletId> wires, numpy_operands(ctx, {condition, x, y}));
  RILL_ASSIGN(const OutletId out, ctx.add1(std::make_shared<Select>(), std::move(wires)));
  return Value(out);
}

const OnnxOp kOps[] = {
    {"", 9, "fragment Where(condition: tensor<logical>, X: tensor<?>, Y: tensor<?>) "
            "-> (output: tensor<?>);",
     where},
};

}  // namespace

extern const OnnxRoom select_onnx;
const OnnxRoom select_onnx = {"select", kOps};

}  // namespace rill::ops
