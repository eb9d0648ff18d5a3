// Reads ONNX's Range.

#include <string>

#include "core/base/search.h"
#include "core/graph/onnx.h"
#include "ops/array/symbolic.h"

namespace rill::ops {
namespace {

/// Return whether the steps lead away from the limit, so that the range is empty.
/// `tract_core_range` ignores the direction of the step.
Result<bool> leads_away(OnnxCtx& ctx) {
  Tensor numbers[3];
  size_t known = 0;
  for (const char* name : {"start", "limit", "delta"}) {
    RILL_ASSIGN(const OutletId wire, ctx.wire(name));
    const TensorPtr& konst = ctx.fact(wire).konst;
    if (konst && konst->volume() == 1 && is_float(konst->dtype())) {
      RILL_ASSIGN(numbers[known++], cast(*konst, DType::kF64));
      continue;
    }
    const auto size = symbolic_value(ctx.graph(), wire);
    if (!size || !size->is_const()) break;
    RILL_ASSIGN(numbers[known++], cast(Tensor::scalar(*size), DType::kI64));
  }
  if (known < 3) return false;
  const auto away = [](auto start, auto limit, auto delta) {
    return delta > 0 ? start >= limit : start <= limit;
  };
  if (numbers[0].dtype() == DType::kI64) {
    return away(numbers[0].values<int64_t>()[0], numbers[1].values<int64_t>()[0],
                numbers[2].values<int64_t>()[0]);
  }
  return away(numbers[0].values<double>()[0], numbers[1].values<double>()[0],
              numbers[2].values<double>()[0]);
}

/// Fold a short list of known numbers now: exporters compute axes in this form.
Result<Value> folded(OnnxCtx& ctx, OutletId out) {
  constexpr int64_t kShort = 64;
  const auto count = ctx.fact(out).rank() == 1 ? ctx.fact(out).dim(0).to_int() : std::nullopt;
  const Node& node = ctx.graph().node(out.node);
  std::vector<TensorPtr> inputs;
  for (const OutletId& input : node.inputs) inputs.push_back(ctx.fact(input).konst);
  const bool open = !count || *count > kShort || !node.op->foldable() || contains(inputs, nullptr);
  if (open) return as_value(out);
  RILL_ASSIGN(std::vector<Tensor> values, evaluate(*node.op, inputs, node.outputs));
  return as_value(ctx.konst(std::move(values[0]), "list"));
}

/// Count in floats up to a size, as PyTorch does for positions. Nothing unless the bounds are
/// integers, which floats represent exactly.
Result<std::optional<Value>> range_of_floats(OnnxCtx& ctx) {
  std::vector<Value> bounds;
  bool open = false;
  DType type = DType::kF32;
  for (const char* name : {"start", "limit", "delta"}) {
    RILL_ASSIGN(const OutletId wire, ctx.wire(name));
    type = ctx.fact(wire).dtype;
    open |= !ctx.fact(wire).konst;
    const auto whole = symbolic_value(ctx.graph(), wire);
    if (!whole || (type != DType::kF32 && type != DType::kF64)) return std::optional<Value>();
    bounds.emplace_back(*whole);
  }
  if (!open) return std::optional<Value>();
  RILL_ASSIGN(const OutletId counted,
              ctx.call1("tract_core_range",
                        {{"start", bounds[0]}, {"end", bounds[1]}, {"step", bounds[2]}}));
  const std::string to = type == DType::kF32 ? "f32" : "f64";
  RILL_ASSIGN(const OutletId out,
              ctx.call1("tract_core_cast", {{"input", Value(counted)}, {"to", Value(to)}}));
  return std::optional<Value>(out);
}

/// Read Range. The length depends on the bounds, so they must be known.
Result<Value> range(OnnxCtx& ctx) {
  RILL_ASSIGN(std::optional<Value> floats, range_of_floats(ctx));
  if (floats) return *std::move(floats);
  std::vector<Value> bounds;
  for (const char* name : {"start", "limit", "delta"}) {
    RILL_ASSIGN(const OutletId wire, ctx.wire(name));
    const auto size = symbolic_value(ctx.graph(), wire);
    const DType type = ctx.fact(wire).dtype;
    if (!ctx.fact(wire).konst && size && (is_int(type) || type == DType::kDim)) {
      bounds.emplace_back(*size);
      continue;
    }
    if (!ctx.fact(wire).konst) {
      return fail(Code::kUnsupported, "input \"", name, "\" depends on data, but decides the shape")
          .hint("Give its value: --constantize NAME=VALUE for the input that it depends on");
    }
    bounds.emplace_back(wire);
  }
  RILL_ASSIGN(const bool away, leads_away(ctx));
  if (away) bounds[1] = bounds[0];
  RILL_ASSIGN(const OutletId out,
              ctx.call1("tract_core_range",
                        {{"start", bounds[0]}, {"end", bounds[1]}, {"step", bounds[2]}}));
  return folded(ctx, out);
}

const OnnxOp kOps[] = {
    {"", 11,
     "fragment Range(start: tensor<?>, limit: tensor<?>, delta: tensor<?>) "
     "-> (output: tensor<?>);",
     range},
    {"", 27,
     "fragment Range(start: tensor<?>, limit: tensor<?>, delta: tensor<?>, "
     "stash_type: integer = 1) -> (output: tensor<?>);",
     range},
};

}  // namespace

extern const OnnxModule range_onnx;
const OnnxModule range_onnx = {"range", kOps};

}  // namespace rill::ops
