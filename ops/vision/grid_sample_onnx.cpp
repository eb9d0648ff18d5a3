// Reads ONNX's GridSample.

#include "ops/math/formula.h"
#include "ops/nn/einsum.h"

namespace rill::ops {
namespace {

Result<Value> grid_sample(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("X"));
  RILL_ASSIGN(const OutletId grid, ctx.wire("grid"));
  RILL_ASSIGN(std::string mode, ctx.text("mode"));
  RILL_ASSIGN(std::string padding, ctx.text("padding_mode"));
  RILL_ASSIGN(const bool align, ctx.boolean("align_corners"));
  // Opset 20 renamed the modes.
  if (mode == "linear") mode = "bilinear";
  if (mode == "cubic") mode = "bicubic";
  return as_value(ctx.call1("tract_core_grid_sample", {{"input", Value(x)},
                                                       {"grid", Value(grid)},
                                                       {"mode", Value(std::move(mode))},
                                                       {"padding_mode", Value(std::move(padding))},
                                                       {"align_corners", Value(align)}}));
}

/// Return the position of an entry. -1 and 1 are the outer entries if `align` is set, else the
/// edges.
double place(int64_t index, int64_t count, bool align) {
  if (align) return count == 1 ? -1.0 : -1.0 + 2.0 * static_cast<double>(index) / double(count - 1);
  return (2.0 * static_cast<double>(index) + 1.0) / static_cast<double>(count) - 1.0;
}

/// Return the positions [entries, axes + 1] of a grid, the last axis first, then a 1.
Result<Tensor> places(const std::vector<int64_t>& extents, bool align) {
  constexpr int64_t kMost = int64_t{1} << 26;
  const auto axes = static_cast<int64_t>(extents.size());
  int64_t entries = 1;
  for (const int64_t extent : extents) {
    RILL_CHECK(extent > 0 && extent <= kMost / entries, "a grid of ", extents);
    entries *= extent;
  }
  std::vector<float> numbers;
  for (int64_t i = 0; i < entries; ++i) {
    int64_t rest = i;
    for (size_t axis = extents.size(); axis-- > 0; rest /= extents[axis]) {
      numbers.push_back(static_cast<float>(place(rest % extents[axis], extents[axis], align)));
    }
    numbers.push_back(1.0F);
  }
  return Tensor::of<float>(DType::kF32, {entries, axes + 1}, std::span<const float>(numbers));
}

Result<Value> affine_grid(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId theta = f.arg("theta");
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(const std::vector<int64_t> size, ctx.integers("size"));
  RILL_ASSIGN(const bool align, ctx.boolean("align_corners"));
  const auto axes = static_cast<int64_t>(size.size()) - 2;
  const Fact in = f.fact(theta);
  RILL_CHECK((axes == 2 || axes == 3) && in.rank() == 3 && in.dim(1) == Dim(axes) &&
                 in.dim(2) == Dim(axes + 1),
             "size ", size, " and theta ", in, ": expected [N, C, H, W] and [N, 2, 3], or ",
             "[N, C, D, H, W] and [N, 3, 4]");
  RILL_ASSIGN(Tensor grid, places({size.begin() + 2, size.end()}, align));
  RILL_ASSIGN(grid, cast(grid, in.dtype));
  const OutletId moved = add_einsum(f, "pk,nck->npc", {f.konst(std::move(grid)), theta});
  std::vector<Dim> shape = {in.dim(0)};
  shape.insert(shape.end(), size.begin() + 2, size.end());
  shape.emplace_back(axes);
  return f.value(f.reshape(moved, shape));
}

const OnnxOp kOps[] = {
    {"", 20,
     "fragment AffineGrid(theta: tensor<?>, size: tensor<integer>, align_corners: logical = false) "
     "-> (grid: tensor<?>);",
     affine_grid, Rounding::kOnce},
    {"", 16,
     "fragment GridSample(X: tensor<?>, grid: tensor<?>, align_corners: logical = false, "
     "mode: string = 'bilinear', padding_mode: string = 'zeros') -> (Y: tensor<?>);",
     grid_sample, Rounding::kOnce},
    {"", 20,
     "fragment GridSample(X: tensor<?>, grid: tensor<?>, align_corners: logical = false, "
     "mode: string = 'linear', padding_mode: string = 'zeros') -> (Y: tensor<?>);",
     grid_sample, Rounding::kOnce},
};

}  // namespace

extern const OnnxModule grid_sample_onnx;
const OnnxModule grid_sample_onnx = {"grid_sample", kOps};

}  // namespace rill::ops
