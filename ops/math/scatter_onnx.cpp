// Reads ONNX's operators that write into a tensor.

#include "core/graph/onnx.h"

namespace rill::ops {
namespace {

/// Return the reduction. Opset 11 has only "none", 16 adds sum and product, 18 minimum and maximum.
Result<std::string> reduction_of(OnnxCtx& ctx) {
  if (!ctx.has("reduction")) return std::string("none");
  return ctx.text("reduction");
}

Result<Value> scatter_elements(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId data, ctx.wire("data"));
  RILL_ASSIGN(const OutletId indices, ctx.wire("indices"));
  RILL_ASSIGN(const OutletId updates, ctx.wire("updates"));
  RILL_ASSIGN(const int64_t axis, ctx.integer("axis"));
  RILL_ASSIGN(std::string reduction, reduction_of(ctx));
  return as_value(
      ctx.call1("tract_core_scatter_elements", {{"input", Value(data)},
                                                {"indices", Value(indices)},
                                                {"updates", Value(updates)},
                                                {"axis", Value(Dim(axis))},
                                                {"reduction", Value(std::move(reduction))}}));
}

Result<Value> scatter_nd(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId data, ctx.wire("data"));
  RILL_ASSIGN(const OutletId indices, ctx.wire("indices"));
  RILL_ASSIGN(const OutletId updates, ctx.wire("updates"));
  RILL_ASSIGN(std::string reduction, reduction_of(ctx));
  return as_value(ctx.call1("tract_core_scatter_nd", {{"input", Value(data)},
                                                      {"indices", Value(indices)},
                                                      {"updates", Value(updates)},
                                                      {"reduction", Value(std::move(reduction))}}));
}

#define RILL_ONNX_SCATTER(since, name, attributes, reader)                                    \
  {                                                                                           \
    "", since, "fragment " name "(data: tensor<?>, indices: tensor<integer>, "                \
        "updates: tensor<?>" attributes ") -> (output: tensor<?>);",                          \
        reader                                                                                \
  }

const OnnxOp kOps[] = {
    RILL_ONNX_SCATTER(9, "Scatter", ", axis: integer = 0", scatter_elements),
    RILL_ONNX_SCATTER(11, "ScatterElements", ", axis: integer = 0", scatter_elements),
    RILL_ONNX_SCATTER(16, "ScatterElements", ", axis: integer = 0, reduction: string = 'none'",
                      scatter_elements),
    RILL_ONNX_SCATTER(11, "ScatterND", "", scatter_nd),
    RILL_ONNX_SCATTER(16, "ScatterND", ", reduction: string = 'none'", scatter_nd),
};

}  // namespace

extern const OnnxModule scatter_onnx;
const OnnxModule scatter_onnx = {"scatter", kOps};

}  // namespace rill::ops
