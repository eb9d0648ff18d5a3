#include <algorithm>
#include <cmath>

#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"
#include "ops/math/binary.h"

namespace rill::ops {
namespace {

/// Sample an image at the points of a grid, whose components run from -1 to 1 or, with `pixels`,
/// count pixels, the last axis first.
/// Shapes: x [N, C, D1..Dk], grid [N, O1..Ok, k] -> [N, C, O1..Ok]; bicubic: k = 2.
/// Types: f32. Errors: kShape, kDType, kArg for unknown modes.
/// Stream: on the batch and channel axes frame by frame; on axes of the grid if the image is
/// static. Sampling along a streaming axis is refused.
/// Accuracy: f32, one chain of sums over ascending taps.
/// Source: PyTorch, `torch.nn.functional.grid_sample`; tract, `tract_core_grid_sample`.
class GridSample final : public OpBase<GridSample> {
 public:
  std::string mode = "bilinear";  ///< or nearest, bicubic
  std::string padding = "zeros";  ///< or border, reflection
  bool align_corners = false;
  bool pixels = false;

  std::string_view name() const override { return "GridSample"; }
  void fields(FieldVisitor& visitor) override {
    visitor.field("mode", mode);
    visitor.field("padding", padding);
    visitor.field("align_corners", align_corners);
    visitor.field("pixels", pixels);
  }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan) const override {
    // The axes of the grid stream, since each point gives one output; so do batch and channels.
    std::vector<AxisTrack> tracks{{{0, 0}, {0}}, {{1, -1}, {1}}};
    for (int i = 2; i < in[0].rank(); ++i) tracks.push_back({{-1, i - 1}, {i}});
    return tracks;
  }
  Status pulsify(PulseBuilder& b) const override {
    const auto stream = b.stream(0);
    if (stream && stream->axis >= 2) {
      return b.refuse("Stream the points of the grid, and keep the image static",
                      "a point may lie anywhere along streaming axis ", stream->axis);
    }
    return Op::pulsify(b);
  }
  Cost cost(FactSpan in, FactSpan out) const override {
    int64_t taps = 1;
    for (int i = 2; i < in[0].rank() && mode != "nearest"; ++i) taps *= mode == "bicubic" ? 4 : 2;
    return {Dim(taps) * volume(out[0].shape), Dim(4) * Dim(taps + 1) * volume(out[0].shape)};
  }
  Tolerance tolerance() const override { return Tolerance::kRounding; }
  Status save(SaveCtx& ctx) const override;

  /// Return the coordinate in pixels for a component of the grid.
  float pixel(float g, int64_t size) const {
    if (pixels) return g;
    const auto n = static_cast<float>(size);
    return align_corners ? (g + 1.0F) / 2.0F * (n - 1.0F) : ((g + 1.0F) * n - 1.0F) / 2.0F;
  }
  /// Reflect a coordinate about the borders of the image.
  float reflected(float at, int64_t size) const {
    const float low = align_corners ? 0.0F : -0.5F;
    const float span = align_corners ? static_cast<float>(size) - 1.0F : static_cast<float>(size);
    if (span <= 0.0F) return 0.0F;
    const float from_low = std::abs(at - low);
    const float extra = std::fmod(from_low, span);
    const bool flipped = std::fmod(std::floor(from_low / span), 2.0F) != 0.0F;
    return flipped ? low + span - extra : low + extra;
  }
  /// Move a coordinate into the image by the padding mode; zero padding leaves it unchanged.
  float placed(float at, int64_t size) const {
    const float last = static_cast<float>(size) - 1.0F;
    if (padding == "zeros") return at;
    if (padding == "reflection") at = reflected(at, size);
    return std::fmin(std::fmax(at, 0.0F), last);
  }
};

Result<Facts> GridSample::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 2));
  const Fact& x = in[0];
  const Fact& grid = in[1];
  const bool known = (mode == "bilinear" || mode == "nearest" || mode == "bicubic") &&
                     (padding == "zeros" || padding == "border" || padding == "reflection");
  if (!known) return fail(Code::kArg, "mode \"", mode, "\", padding_mode \"", padding, "\"");
  RILL_CHECK(x.rank() >= 3 && grid.rank() == x.rank(), "input ", x, ", grid ", grid,
             ": expected one rank of at least 3");
  if (x.dtype != DType::kF32 || grid.dtype != DType::kF32) {
    return fail(Code::kDType, "input ", x, ", grid ", grid, ": expected f32");
  }
  const auto difference = (x.dim(0) - grid.dim(0)).to_int();
  RILL_CHECK(!difference || *difference == 0, "input ", x, ", grid ", grid,
             ": the batches differ");
  const auto components = grid.shape.back().to_int();
  RILL_CHECK(!components || *components == x.rank() - 2, "grid ", grid, ": expected ", x.rank() - 2,
             " components on the last axis");
  RILL_CHECK(mode != "bicubic" || x.rank() == 4, "bicubic sampling of ", x, ": expected rank 4");
  Fact out = Fact::of(x.dtype, {x.dim(0), x.dim(1)});
  for (int i = 2; i < x.rank(); ++i) {
    RILL_CHECK(!(x.dim(i) == Dim(0)), "nothing to sample in ", x);
    out.shape.push_back(grid.dim(i - 1));
  }
  return one_fact(std::move(out));
}

/// The pixels that a point reads along one axis: up to four taps.
struct AxisTaps {
  int count = 0;
  int64_t index[4] = {};  ///< -1 outside
  float weight[4] = {};

  void add(int64_t at, int64_t size, float w) {
    index[count] = at >= 0 && at < size ? at : -1;
    weight[count++] = w;
  }
};

void cubic_weights(float t, float (&w)[4]) {
  constexpr float a = -0.75F;
  const auto near = [](float x) { return ((a + 2.0F) * x - (a + 3.0F)) * x * x + 1.0F; };
  const auto far = [](float x) { return ((a * x - 5.0F * a) * x + 8.0F * a) * x - 4.0F * a; };
  w[0] = far(t + 1.0F);
  w[1] = near(t);
  w[2] = near(1.0F - t);
  w[3] = far(2.0F - t);
}

/// Return a coordinate as an index; NaN and far coordinates become an index outside of the image.
int64_t index_of(float at) {
  return at > -1e9F && at < 1e9F ? static_cast<int64_t>(at) : INT64_MIN / 2;
}

AxisTaps taps_of(const GridSample& op, float g, int64_t size) {
  AxisTaps taps;
  const float raw = op.pixel(g, size);
  if (op.mode == "bicubic") {
    const float base = std::floor(raw);
    float w[4];
    cubic_weights(raw - base, w);
    for (int k = 0; k < 4; ++k) {
      const float at = op.placed(base + static_cast<float>(k - 1), size);
      taps.add(index_of(at), size, w[k]);
    }
    return taps;
  }
  const float at = op.placed(raw, size);
  if (op.mode == "nearest") {
    taps.add(index_of(std::nearbyint(at)), size, 1.0F);
    return taps;
  }
  const float base = std::floor(at);
  taps.add(index_of(base), size, 1.0F - (at - base));
  taps.add(index_of(base + 1.0F), size, at - base);
  return taps;
}

/// Sum over the taps of axes `axis` and above.
float sum_taps(const View& x, const AxisTaps* taps, int axis, int64_t at) {
  if (axis == x.rank) return x.as<const float>()[at];
  const AxisTaps& own = taps[axis - 2];
  float sum = 0.0F;
  for (int k = 0; k < own.count; ++k) {
    if (own.index[k] < 0) continue;
    sum += own.weight[k] * sum_taps(x, taps, axis + 1, at + own.index[k] * x.step(axis));
  }
  return sum;
}

Status GridSample::eval(EvalCtx& ctx) const {
  const View& x = ctx.in[0];
  const View& grid = ctx.in[1];
  const View& y = ctx.out[0];
  const int spatial = x.rank - 2;
  // Iterate over the points: the batch, and the axes of the grid except the last.
  View points = grid;
  View out = y;
  View image = x;
  points.rank = out.rank = image.rank = grid.rank - 1;
  for (int i = 1; i < points.rank; ++i) {
    out.stride[static_cast<size_t>(i)] = y.step(i + 1);
    image.stride[static_cast<size_t>(i)] = 0;
  }
  for_each_element<3>({points, out, image}, [&](const std::array<int64_t, 3>& at) {
    AxisTaps taps[kMaxRank];
    for (int axis = 0; axis < spatial; ++axis) {
      const int64_t component = (spatial - 1 - axis) * grid.step(grid.rank - 1);
      taps[axis] = taps_of(*this, grid.as<const float>()[at[0] + component], x.extent(axis + 2));
    }
    for (int64_t c = 0; c < x.extent(1); ++c) {
      y.as<float>()[at[1] + c * y.step(1)] = sum_taps(x, taps, 2, at[2] + c * x.step(1));
    }
  });
  return {};
}

Result<Value> load_with(LoadCtx& ctx, bool pixels) {
  RILL_ASSIGN(OutletId x, plain_wire(ctx, "input"));
  RILL_ASSIGN(OutletId grid, plain_wire(ctx, "grid"));
  const DType type = ctx.fact(x).dtype;
  if (!is_float(type) || !is_float(ctx.fact(grid).dtype)) {
    return fail(Code::kDType, "input ", ctx.fact(x), ", grid ", ctx.fact(grid),
                ": expected floats");
  }
  RILL_ASSIGN(x, cast_to(ctx, x, DType::kF32));
  RILL_ASSIGN(grid, cast_to(ctx, grid, DType::kF32));
  auto op = draft_op<GridSample>();
  RILL_TRY(ctx.fields(*op));
  RILL_ASSIGN(op->padding, ctx.text("padding_mode"));
  op->pixels = pixels;
  RILL_ASSIGN(OutletId out, ctx.add1(std::move(op), {x, grid}));
  RILL_ASSIGN(out, cast_to(ctx, out, type));
  return as_value(out);
}

Result<Value> load(LoadCtx& ctx) { return load_with(ctx, false); }
Result<Value> load_pixels(LoadCtx& ctx) { return load_with(ctx, true); }

#define RILL_GRID_SAMPLE(registry, name)                                           \
  {                                                                                \
    registry,                                                                      \
        "fragment " name                                                           \
        "(input: tensor<scalar>, grid: tensor<scalar>, mode: string = 'bilinear'," \
        " padding_mode: string = 'zeros', align_corners: logical = false)"         \
        " -> (output: tensor<scalar>);",                                           \
        load                                                                       \
  }

constexpr NnefOp kOps[] = {
    RILL_GRID_SAMPLE("tract_core", "tract_core_grid_sample"),
    RILL_GRID_SAMPLE("tract_onnx", "tract_onnx_grid_sample"),
    {"rill_onnx",
     "fragment rill_onnx_sample_pixels(input: tensor<scalar>, grid: tensor<scalar>,"
     " mode: string = 'bilinear', padding_mode: string = 'zeros') -> (output: tensor<scalar>);",
     load_pixels},
};

constexpr OpClass kClasses[] = {op_class<GridSample>("GridSample")};

}  // namespace

Status GridSample::save(SaveCtx& ctx) const {
  return ctx.assign_declared(kOps[pixels ? 2 : 0], {{"padding_mode", nnef_text(padding)}});
}

extern const OpModule grid_sample_module;
const OpModule grid_sample_module = {"grid_sample", kOps, kClasses};

}  // namespace rill::ops
