#include <algorithm>

#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "kernels/fft/fft.h"
#include "ops/array/common.h"
#include "ops/kernel_fields.h"
#include "ops/signal/dft.h"
#include "ops/signal/fft_step.h"

namespace rill::ops {
namespace {

/// Transform along an axis: the discrete Fourier transform or its inverse, for any length.
/// Shapes: [.., T, .., 2] (re, im) -> the same. Units: not normalised in either direction.
/// Types: f32. Errors: kShape for a missing axis, or if the last axis is not a pair; kDType.
/// Stream: pointwise on other axes; refused on `axis`.
/// Accuracy: that of the FFT kernels.
/// Source: tract_core_fft.
struct Fft final : OpBase<Fft> {
  int64_t axis = 0;
  bool inverse = false;

  std::string_view name() const override { return "FFT"; }
  void fields(FieldVisitor& visitor) override {
    axis_field(visitor, "axis", axis);
    visitor.field("inverse", inverse);
  }
  Result<Facts> infer(FactSpan in) const override {
    RILL_TRY(expect_inputs(in, 1));
    RILL_CHECK(axis >= 0 && axis < in[0].rank() - 1, "no axis ", axis, " in ", in[0]);
    RILL_CHECK(in[0].shape.back() == Dim(2), "input ", in[0],
               ": expected pairs (re, im) on the last axis");
    if (in[0].dtype != DType::kF32) {
      return fail(Code::kDType, "input ", in[0], ": expected F32").hint("Cast it first");
    }
    return one_fact(in[0].without_value());
  }
  Status eval(EvalCtx& ctx) const override;
  /// The reference implementation sums over all points for each bin.
  Dim work(FactSpan in, FactSpan out) const override {
    return volume(out[0].shape) * in[0].dim(static_cast<int>(axis));
  }
  bool foldable() const override { return false; }
  Status lower(Lowering& lowering) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan) const override {
    std::vector<AxisTrack> tracks;
    for (int i = 0; i + 1 < in[0].rank(); ++i) {
      if (i != axis) tracks.push_back({{i}, {i}});
    }
    return tracks;
  }
  Tolerance tolerance() const override { return Tolerance::kRounding; }
  Status save(SaveCtx& ctx) const override;
};

Status Fft::eval(EvalCtx& ctx) const {
  const View& x = ctx.in[0];
  const View& y = ctx.out[0];
  const int pair = x.rank - 1;
  const int along = static_cast<int>(axis);
  const int64_t points = x.extent(along);
  if (y.volume() == 0) return {};
  for (int64_t line = 0; line < x.volume() / 2 / points; ++line) {
    int64_t rest = line;
    int64_t at_x = 0;
    int64_t at_y = 0;
    for (int i = pair; i-- > 0;) {
      if (i == along) continue;
      at_x += rest % x.extent(i) * x.step(i);
      at_y += rest % x.extent(i) * y.step(i);
      rest /= x.extent(i);
    }
    const float* from = x.as<const float>() + at_x;
    float* to = y.as<float>() + at_y;
    dft({from, from + x.step(pair), x.step(along)}, points, inverse,
        {to, to + y.step(pair), y.step(along)}, points, [](int64_t) { return 1.0; });
  }
  return {};
}

Status Fft::lower(Lowering& lowering) const {
  const int rank = lowering.in(0).rank;
  std::vector<int> order{rank - 1};
  for (int i = 0; i + 1 < rank; ++i) {
    if (i != axis) order.push_back(i);
  }
  order.push_back(static_cast<int>(axis));
  const Operand x = lowering.ordered(lowering.in(0), order);
  const Operand planned = lowering.out_shape(0);
  std::vector<int64_t> shape(planned.shape.begin(), planned.shape.begin() + rank);
  const Operand dense = lowering.scratch(DType::kF32, shape, order);
  const Operand y = lowering.make_out(0, order);
  FftArgs args;
  args.inverse = inverse;
  args.points = x.extent(static_cast<int>(axis));
  if (args.points == 0 || y.volume() == 0) return {};
  args.lanes = x.volume() / 2 / args.points;
  auto [tables, memory] = lowering.constant<float>(
      static_cast<int64_t>(kernels::fft_tables_floats(args.points, kernels::FftKind::kComplex)));
  args.tables = tables;
  kernels::fft_init(&args.plan, args.points, kernels::FftKind::kComplex, memory,
                    kernels::active_tier());
  args.plan.passes.twiddles = nullptr;
  args.scratch = lowering.scratch_bytes(
      (static_cast<int64_t>(kernels::fft_scratch_floats(args.plan)) + 16) * 4);
  args.x = x.ref;
  args.y = dense.ref;
  lowering.step(kFft, args, {x, tables}, {dense, args.scratch});
  lowering.copy(dense, y);
  return {};
}

const NnefOp kOps[] = {{"tract_core",
                        "fragment tract_core_fft(input: tensor<scalar>, axis: integer, "
                        "inverse: logical) -> (output: tensor<scalar>);",
                        load_on_input<Fft>}};

constexpr OpClass kClasses[] = {op_class<Fft>("Fft")};

}  // namespace

Status Fft::save(SaveCtx& ctx) const { return ctx.assign_declared(kOps[0]); }

extern const OpModule fft_module;
const OpModule fft_module = {"fft", kOps, kClasses};

}  // namespace rill::ops
