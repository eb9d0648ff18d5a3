// How ONNX's Reshape and Flatten are read.

#include "core/graph/onnx.h"
#include "ops/array/reshape.h"
#include "ops/array/symbolic.h"
#include "ops/math/formula.h"

namespace rill::ops {
namespace {

/// What is left of the input for the extent that is -1.
Result<Dim> rest_of(const Fact& in, const std::vector<Dim>& to, size_t open) {
  Dim others = 1;
  // Extents that both sides share need not be divided by.
  std::vector<Dim> left = in.shape;
  for (size_t i = 0; i < to.size(); ++i) {
    if (i == open) continue;
    const auto same = std::find(left.begin(), left.end(), to[i]);
    if (same != left.end() && !(to[i] == Dim(0))) {
      left.erase(same);
    } else {
      others *= to[i];
    }
  }
  const Dim whole = volume(left);
  const auto rest = exact_div(whole, others);
  if (rest) return *rest;
  const auto number = others.to_int();
  if (!number || *number <= 0 || whole.is_const()) {
    return fail(Code::kShape, in, " cannot become ", to, ": ", whole, " elements in parts of ",
                others);
  }
  return floor_div(whole, *number);
}

Result<Value> reshape(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("data"));
  RILL_ASSIGN(std::vector<Dim> to, computed_dims(ctx, "shape"));
  int64_t allow_zero = 0;
  if (ctx.has("allowzero")) {
    RILL_ASSIGN(allow_zero, ctx.integer("allowzero"));
  }
  const Fact in = ctx.fact(x);
  std::optional<size_t> open;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] == Dim(0) && allow_zero == 0) {
      RILL_CHECK(static_cast<int>(i) < in.rank(), "extent ", i, " is 0, for that of the input, ",
                 in, ", which has none");
      to[i] = in.shape[i];
    }
    if (!(to[i] == Dim(-1))) continue;
    RILL_CHECK(!open, "shape ", to, " has -1 twice");
    open = i;
  }
  if (open) {
    RILL_ASSIGN(to[*open], rest_of(in, to, *open));
  }
  RILL_ASSIGN(const OutletId out,
              ctx.add1(std::make_shared<Reshape>(0, in.rank(), std::move(to)), {x}));
  return Value(out);
}

Result<Value> flatten(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("input"));
  RILL_ASSIGN(int64_t axis, ctx.integer("axis"));
  const Fact in = ctx.fact(x);
  if (axis < 0) axis += in.rank();
  RILL_CHECK(axis >= 0 && axis <= in.rank(), "no axis ", axis, " in ", in);
  const std::span<const Dim> shape(in.shape);
  const auto front = static_cast<size_t>(axis);
  std::vector<Dim> to = {volume(shape.first(front)), volume(shape.subspan(front))};
  RILL_ASSIGN(const OutletId out,
              ctx.add1(std::make_shared<Reshape>(0, in.rank(), std::move(to)), {x}));
  return Value(out);
}

/// Blocks of the image become channels, or channels blocks.
Result<Value> depth_to_space(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("input");
  if (!f.ok()) return f.take_status();
  const Fact in = f.fact(x);
  RILL_ASSIGN(const int64_t block, ctx.integer("blocksize"));
  std::string mode = "DCR";
  if (ctx.has("mode")) {
    RILL_ASSIGN(mode, ctx.text("mode"));
  }
  RILL_CHECK(mode == "DCR" || mode == "CRD", "attribute \"mode\" is ", mode,
             ": expected DCR or CRD");
  RILL_CHECK(in.rank() == 4 && block > 0, "input ", in, ", blocks of ", block,
             ": expected [batch, channels, height, width]");
  const auto depth = exact_div(in.dim(1), Dim(block * block));
  RILL_CHECK(depth, "input ", in, ": the channels are no multiple of ", block * block);
  const bool blocks_first = mode == "DCR";
  const OutletId split =
      blocks_first
          ? f.reshape(x, {in.dim(0), Dim(block), Dim(block), *depth, in.dim(2), in.dim(3)})
          : f.reshape(x, {in.dim(0), *depth, Dim(block), Dim(block), in.dim(2), in.dim(3)});
  const std::vector<int64_t> order = blocks_first ? std::vector<int64_t>{0, 3, 4, 1, 5, 2}
                                                  : std::vector<int64_t>{0, 1, 4, 2, 5, 3};
  return f.value(f.reshape(f.transpose(split, order),
                           {in.dim(0), *depth, in.dim(2) * Dim(block), in.dim(3) * Dim(block)}));
}

Result<Value> space_to_depth(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("input");
  if (!f.ok()) return f.take_status();
  const Fact in = f.fact(x);
  RILL_ASSIGN(const int64_t block, ctx.integer("blocksize"));
  std::string mode = "DCR";
  if (ctx.has("mode")) {
    RILL_ASSIGN(mode, ctx.text("mode"));
  }
  RILL_CHECK(mode == "DCR" || mode == "CRD", "attribute \"mode\" is ", mode,
             ": expected DCR or CRD");
  RILL_CHECK(in.rank() == 4 && block > 0, "input ", in, ", blocks of ", block,
             ": expected [batch, channels, height, width]");
  const auto height = exact_div(in.dim(2), Dim(block));
  const auto width = exact_div(in.dim(3), Dim(block));
  RILL_CHECK(height && width, "input ", in, ": height and width are no multiples of ", block);
  const OutletId split =
      f.reshape(x, {in.dim(0), in.dim(1), *height, Dim(block), *width, Dim(block)});
  const std::vector<int64_t> order = mode == "DCR" ? std::vector<int64_t>{0, 3, 5, 1, 2, 4}
                                                   : std::vector<int64_t>{0, 1, 3, 5, 2, 4};
  return f.value(f.reshape(f.transpose(split, order),
                           {in.dim(0), in.dim(1) * Dim(block * block), *height, *width}));
}

const OnnxOp kOps[] = {
    {"", 5, "fragment Reshape(data: tensor<?>, shape: tensor<integer>) -> (reshaped: tensor<?>);",
     reshape},
    {"", 14,
     "fragment Reshape(data: tensor<?>, shape: tensor<integer>, allowzero: integer = 0) "
     "-> (reshaped: tensor<?>);",
     reshape},
    {"", 1, "fragment Flatten(input: tensor<?>, axis: integer = 1) -> (output: tensor<?>);",
     flatten},
    {"", 1, "fragment DepthToSpace(input: tensor<?>, blocksize: integer) -> (output: tensor<?>);",
     depth_to_space},
    {"", 11,
     "fragment DepthToSpace(input: tensor<?>, blocksize: integer, mode: string = 'DCR') "
     "-> (output: tensor<?>);",
     depth_to_space},
    {"", 1, "fragment SpaceToDepth(input: tensor<?>, blocksize: integer) -> (output: tensor<?>);",
     space_to_depth},
    {"", 28,
     "fragment SpaceToDepth(input: tensor<?>, blocksize: integer, mode: string = 'DCR') "
     "-> (output: tensor<?>);",
     space_to_depth},
};

}  // namespace

extern const OnnxRoom reshape_onnx;
const OnnxRoom reshape_onnx = {"reshape", kOps};

}  // namespace rill::ops
