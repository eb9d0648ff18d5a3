// How ONNX's Softmax and its kin are read.

#include "ops/array/common.h"
#include "ops/math/formula.h"
#include "ops/nn/softmax.h"

namespace rill::ops {
namespace {

/// Before opset 13, all axes from `axis` on are one.
Result<std::vector<int64_t>> joint_axes(OnnxCtx& ctx, int rank) {
  RILL_ASSIGN(const int64_t written, ctx.integer("axis"));
  if (ctx.opset() < 13 && written == rank) return std::vector<int64_t>();
  RILL_ASSIGN(const int64_t axis, axis_in(written, rank));
  std::vector<int64_t> axes = {axis};
  for (int64_t next = axis + 1; ctx.opset() < 13 && next < rank; ++next) axes.push_back(next);
  return axes;
}

template <bool kLog>
Result<Value> softmax(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("input"));
  RILL_ASSIGN(std::vector<int64_t> axes, joint_axes(ctx, ctx.fact(x).rank()));
  RILL_ASSIGN(const OutletId out,
              ctx.add1(std::make_shared<Softmax>(std::move(axes), kLog), {x}));
  return Value(out);
}

/// One at the first of the largest elements, else zero.
Result<Value> hardmax(OnnxCtx& ctx) {
  Formula f(ctx);
  OutletId x = f.arg("input");
  if (!f.ok()) return f.take_status();
  const std::vector<Dim> shape = f.fact(x).shape;
  RILL_ASSIGN(const std::vector<int64_t> axes, joint_axes(ctx, f.rank(x)));
  const auto first = static_cast<size_t>(axes.empty() ? f.rank(x) : axes[0]);
  if (axes.size() > 1) {
    const std::span<const Dim> all(shape);
    x = f.reshape(x, {volume(all.first(first)), volume(all.subspan(first))});
  }
  const int64_t axis = axes.size() > 1 ? 1 : static_cast<int64_t>(first);
  const OutletId at = f.reduce(ReduceKind::kArgMax, x, {axis});
  OutletId index = f.range(f.dim(x, static_cast<int>(axis)));
  for (int64_t i = f.rank(x) - 1; f.ok() && i > axis; --i) index = f.with_axis(index, 1);
  const OutletId hit = f.binary(BinaryKind::kEq, index, at);
  return f.value(f.reshape(f.cast(hit, f.fact(x).dtype), shape));
}

const OnnxOp kOps[] = {
    {"", 1, "fragment Softmax(input: tensor<?>, axis: integer = 1) -> (output: tensor<?>);",
     softmax<false>},
    {"", 13, "fragment Softmax(input: tensor<?>, axis: integer = -1) -> (output: tensor<?>);",
     softmax<false>},
    {"", 1, "fragment LogSoftmax(input: tensor<?>, axis: integer = 1) -> (output: tensor<?>);",
     softmax<true>},
    {"", 13, "fragment LogSoftmax(input: tensor<?>, axis: integer = -1) -> (output: tensor<?>);",
     softmax<true>},
    {"", 1, "fragment Hardmax(input: tensor<?>, axis: integer = 1) -> (output: tensor<?>);",
     hardmax},
    {"", 13, "fragment Hardmax(input: tensor<?>, axis: integer = -1) -> (output: tensor<?>);",
     hardmax},
};

}  // namespace

extern const OnnxRoom softmax_onnx;
const OnnxRoom softmax_onnx = {"softmax", kOps};

}  // namespace rill::ops
