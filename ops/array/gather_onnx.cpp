// How ONNX's Gather and its kin are read.

#include "core/graph/onnx.h"
#include "ops/array/common.h"
#include "ops/array/gather.h"

namespace rill::ops {
namespace {

template <class T>
Result<Value> gather(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId data, ctx.wire("data"));
  RILL_ASSIGN(const OutletId indices, ctx.wire("indices"));
  RILL_ASSIGN(const int64_t written, ctx.integer("axis"));
  RILL_ASSIGN(const int64_t axis, axis_in(written, ctx.fact(data).rank()));
  RILL_ASSIGN(const OutletId out, ctx.add1(std::make_shared<T>(axis), {data, indices}));
  return Value(out);
}

Result<Value> gather_nd(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId data, ctx.wire("data"));
  RILL_ASSIGN(const OutletId indices, ctx.wire("indices"));
  int64_t batches = 0;
  if (ctx.has("batch_dims")) {
    RILL_ASSIGN(batches, ctx.integer("batch_dims"));
  }
  RILL_ASSIGN(const OutletId out,
              ctx.add1(std::make_shared<GatherNd>(batches), {data, indices}));
  return Value(out);
}

const OnnxOp kOps[] = {
    {"", 1, "fragment Gather(data: tensor<?>, indices: tensor<integer>, axis: integer = 0) "
            "-> (output: tensor<?>);",
     gather<Gather>},
    {"", 11,
     "fragment GatherElements(data: tensor<?>, indices: tensor<integer>, axis: integer = 0) "
     "-> (output: tensor<?>);",
     gather<GatherElements>},
    {"", 11, "fragment GatherND(data: tensor<?>, indices: tensor<integer>) -> (output: tensor<?>);",
     gather_nd},
    {"", 12,
     "fragment GatherND(data: tensor<?>, indices: tensor<integer>, batch_dims: integer = 0) "
     "-> (output: tensor<?>);",
     gather_nd},
};

}  // namespace

extern const OnnxRoom gather_onnx;
const OnnxRoom gather_onnx = {"gather", kOps};

}  // namespace rill::ops
