#include "ops/nn/resample.h"

#include <algorithm>
#include <cmath>

#include "core/dim/fraction.h"
#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "core/graph/rewrite.h"
#include "ops/array/axis_ops.h"
#include "ops/array/broadcast.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"
#include "ops/array/indices.h"
#include "ops/array/reshape.h"
#include "ops/nn/resample_step.h"
#include "ops/nn/resample_stream.h"
#include "ops/nn/resample_taps.h"

namespace rill::ops {
namespace {

constexpr std::string_view kCoords[] = {
    "half_pixel",           "pytorch_half_pixel",   "align_corners",     "asymmetric",
    "half_pixel_symmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"};
constexpr std::string_view kNearest[] = {"floor", "ceil", "round_prefer_floor",
                                         "round_prefer_ceil"};

template <size_t N>
bool is_one_of(const std::string& text, const std::string_view (&list)[N]) {
  return std::find(std::begin(list), std::end(list), text) != std::end(list);
}

}  // namespace

Result<Dim> scaled_extent(const Dim& extent, float scale) {
  RILL_CHECK(std::isfinite(scale) && scale > 0.0F, "scale ", scale, ": expected a positive number");
  if (const auto number = extent.to_int()) {
    const float product = static_cast<float>(*number) * scale;
    RILL_CHECK(product < 9e18F && scale < 9e18F, "extent ", *number, " times ", scale,
               " is too large");
    return Dim(std::round(scale) == scale ? *number * static_cast<int64_t>(scale)
                                          : static_cast<int64_t>(product));
  }
  if (const auto ratio = simple_fraction(scale, Rounded::kDown)) {
    return floor_div(extent * Dim(ratio->first), ratio->second);
  }
  return fail(Code::kSymbol, "extent ", extent, " times ", scale, " is not a simple expression")
      .hint("Set its symbols, as in --set S=16000, or give the sizes of the output");
}

void ResizeAxis::fields(FieldVisitor& visitor) {
  axis_field(visitor, "axis", axis);
  visitor.field("to", to);
  visitor.field("scale", scale);
  visitor.field("coord", coord);
  visitor.field("interpolator", interpolator);
  visitor.field("nearest", nearest);
  visitor.field("roi_begin", roi_begin);
  visitor.field("roi_end", roi_end);
  visitor.field("cubic_a", cubic_a);
  visitor.field("outside", outside);
  visitor.field("exclude_outside", exclude_outside);
  visitor.field("antialias", antialias);
}

Result<Facts> ResizeAxis::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 1));
  const Fact& x = in[0];
  RILL_CHECK(axis >= 0 && axis < x.rank(), "no axis ", axis, " in ", x);
  const bool known = is_nearest() || interpolator == "linear" || interpolator == "cubic";
  if (!known || !is_one_of(coord, kCoords) || !is_one_of(nearest, kNearest)) {
    return fail(Code::kArg, "interpolator \"", interpolator, "\", coord_transformer \"", coord,
                "\", nearest_mode \"", nearest, "\": one of these is unknown");
  }
  const bool repeats_only = is_nearest() && !is_crop() && is_plain(x.dtype);
  if (x.dtype != DType::kF32 && !repeats_only) {
    return fail(Code::kDType, "input ", x, ": expected f32 to interpolate");
  }
  RILL_CHECK(scale >= 0.0F && std::isfinite(scale), "scale ", scale);
  const auto from = x.dim(static_cast<int>(axis)).to_int();
  const auto count = to.to_int();
  RILL_CHECK(!count || *count >= 0, "extent ", *count, ": expected 0 or more");
  RILL_CHECK(!from || *from > 0 || (count && *count == 0), "nothing to sample along axis ", axis,
             " of ", x);
  Fact out = x.without_value();
  out.shape[static_cast<size_t>(axis)] = to;
  return one_fact(std::move(out));
}

Dim ResizeAxis::work(FactSpan in, FactSpan out) const {
  const auto from = in[0].dim(static_cast<int>(axis)).to_int();
  const auto count = out[0].dim(static_cast<int>(axis)).to_int();
  if (!from || !count || *from == 0) return volume(out[0].shape);
  return volume(out[0].shape) * Dim(3 * Taps(*this, *from, *count).count());
}

Status ResizeAxis::eval(EvalCtx& ctx) const {
  const View& x = ctx.in[0];
  const View& y = ctx.out[0];
  const int on = static_cast<int>(axis);
  if (y.volume() == 0) return {};
  Taps taps(*this, x.extent(on), y.extent(on));
  const View from = without_axis(x, on);
  const View to_lanes = without_axis(y, on);
  for (int64_t i = 0; i < y.extent(on); ++i) {
    const bool inside = taps.move_to(i);
    const int64_t at_y = i * y.step(on);
    if (is_nearest() && inside) {
      const int64_t source = taps.index(taps.weight(1) != 0.0F ? 1 : 0) * x.step(on);
      visit_size(x.dtype, [&](auto tag) {
        using T = decltype(tag);
        for_each_element<2>({from, to_lanes}, [&](const std::array<int64_t, 2>& at) {
          y.as<T>()[at[1] + at_y] = x.as<const T>()[at[0] + source];
        });
      });
      continue;
    }
    for_each_element<2>({from, to_lanes}, [&](const std::array<int64_t, 2>& at) {
      float sum = inside ? 0.0F : outside;
      for (int64_t k = 0; inside && k < taps.count(); ++k) {
        const float w = taps.weight(k);
        if (w != 0.0F) sum += w * x.as<const float>()[at[0] + taps.index(k) * x.step(on)];
      }
      y.as<float>()[at[1] + at_y] = sum;
    });
  }
  return {};
}

Status ResizeAxis::lower(Lowering& lowering) const {
  const Operand& in = lowering.in(0);
  const int on = static_cast<int>(axis);
  if (in.dtype != DType::kF32 || is_nearest() || lowering.history(0)) return Op::lower(lowering);
  const Operand x = lowering.row_major(in);
  const Operand y = lowering.make_out(0);
  if (!y.contiguous()) return Op::lower(lowering);
  ResampleArgs args;
  args.from = x.extent(on);
  args.to = y.extent(on);
  args.outside = outside;
  for (int i = 0; i < on; ++i) args.outer *= x.extent(i);
  for (int i = on + 1; i < x.rank; ++i) args.inner *= x.extent(i);
  Taps taps(*this, args.from, args.to);
  args.taps = taps.count();
  int64_t entries = 0;
  if (__builtin_mul_overflow(args.to, args.taps, &entries) || entries > (int64_t{1} << 31)) {
    return fail(Code::kNoMem, counted(args.to, "output"), " of ", args.taps, " taps");
  }
  const auto [index_ref, indices] = lowering.constant<int64_t>(entries);
  const auto [weight_ref, weights] = lowering.constant<float>(entries);
  const auto [count_ref, counts] = lowering.constant<int64_t>(args.to);
  for (int64_t i = 0; i < args.to; ++i) {
    counts[i] = taps.move_to(i) ? 0 : -1;
    for (int64_t k = 0; counts[i] >= 0 && k < args.taps; ++k) {
      const float w = taps.weight(k);
      if (w == 0.0F) continue;
      indices[i * args.taps + counts[i]] = taps.index(k);
      weights[i * args.taps + counts[i]++] = w;
    }
  }
  args.x = x.ref;
  args.y = y.ref;
  args.indices = index_ref;
  args.weights = weight_ref;
  args.counts = count_ref;
  lowering.step(kResample, args, {x, index_ref, weight_ref, count_ref}, {y});
  return {};
}

std::vector<AxisTrack> ResizeAxis::axes(FactSpan in, FactSpan) const {
  std::vector<AxisTrack> tracks;
  for (int i = 0; i < in[0].rank(); ++i) {
    if (i != axis) tracks.push_back({{i}, {i}});
  }
  return tracks;
}

Status ResizeAxis::pulsify(PulseBuilder& b) const {
  const auto stream = b.stream(0);
  if (!stream || stream->axis != axis) return Op::pulsify(b);
  return resample_stream(*this, b);
}

bool ResizeAxis::is_centered() const {
  return coord == "half_pixel_symmetric" && (scale == 0.0F || Taps::ratio(scale).down == 1);
}

bool ResizeAxis::is_local() const {
  constexpr std::string_view kLocal[] = {"half_pixel", "pytorch_half_pixel", "asymmetric",
                                         "tf_half_pixel_for_nn"};
  return is_one_of(coord, kLocal) || is_centered();
}

int64_t ResizeAxis::repeats() const {
  const bool left =
      nearest == "floor" && (coord == "asymmetric" || coord == "tf_half_pixel_for_nn");
  const bool round = nearest == "round_prefer_ceil" && (coord == "half_pixel" || is_centered());
  const bool whole = scale >= 2.0F && scale <= 4096.0F && std::round(scale) == scale;
  return is_nearest() && !exclude_outside && whole && (left || round) ? static_cast<int64_t>(scale)
                                                                      : 0;
}

Status ResizeAxis::declutter(Rewrite& rewrite) const {
  const Dim& from = rewrite.in(0).dim(static_cast<int>(axis));
  if (!is_crop() && (scale == 1.0F || scale == 0.0F) && from == to) {
    return rewrite.bypass(rewrite.input(0));
  }
  const int64_t times = repeats();
  if (times == 0 || !(from * Dim(times) == to)) return {};
  // Add an axis after this one, repeat it, and merge the two: these operators stream.
  const std::string& name = rewrite.node().name;
  RILL_ASSIGN(OutletId wire, rewrite.wire1(name + "_axis", make_op<AddAxis>(axis + 1),
                                           {rewrite.mapped(rewrite.input(0))}));
  std::vector<Dim> counts(static_cast<size_t>(rewrite.in(0).rank()) + 1, Dim(1));
  counts[static_cast<size_t>(axis) + 1] = Dim(times);
  RILL_ASSIGN(wire, rewrite.wire1(name + "_copies", make_op<Tile>(counts), {wire}));
  RILL_ASSIGN(wire, rewrite.wire1(name, make_op<Reshape>(axis, 2, std::vector<Dim>{to}), {wire}));
  return rewrite.replace({wire});
}

Cost ResizeAxis::cost(FactSpan in, FactSpan out) const {
  const Dim bytes = (volume(in[0].shape) + volume(out[0].shape)) * Dim(dtype_size(in[0].dtype));
  if (is_nearest()) return {Dim(0), bytes};
  return {volume(out[0].shape) * Dim(interpolator == "cubic" ? 4 : 2), bytes};
}

bool ResizeAxis::is_scaled(const Dim& from) const {
  const auto scaled = scale > 0.0F ? scaled_extent(from, scale) : Result<Dim>(Dim(0));
  return scale > 0.0F && scaled.ok() && *scaled == to;
}

namespace {

/// Return `of(i)` for every axis i, separated by commas.
template <class Of>
std::string for_each_axis(const Fact& in, const Of& of) {
  std::string out;
  for (int i = 0; i < in.rank(); ++i) out += str_cat(i > 0 ? ", " : "", of(i));
  return out;
}

/// Return whether `tract_core_resize` can express the resampling. It ignores an axis whose extent
/// does not change.
bool has_core_form(const ResizeAxis& op, const Fact& in) {
  const Dim& from = in.dim(static_cast<int>(op.axis));
  const bool extent_follows = op.scale == 0.0F ? !(from == op.to) : op.is_scaled(from);
  const bool plain_nearest =
      !op.is_nearest() || op.nearest == "floor" || op.nearest == "round_prefer_ceil";
  return extent_follows && plain_nearest && !op.is_crop() && !op.exclude_outside && !op.antialias &&
         op.cubic_a == -0.75F && op.outside == 0.0F;
}

}  // namespace

Status ResizeAxis::save(SaveCtx& ctx) const {
  RILL_ASSIGN(const std::string x, ctx.in(0));
  const Fact& in = ctx.graph().fact(ctx.node().inputs[0]);
  const bool core = has_core_form(*this, in);
  // An f32 scale cannot express every ratio of sizes, and the standard's form has no sizes.
  const bool crops_alone = is_crop() || (roi_begin == 0.0F && roi_end == 1.0F);
  if (!core && !(is_scaled(in.dim(static_cast<int>(axis))) && crops_alone)) {
    return ctx.assign_declared(kResizeAxisForm);
  }
  const auto scales = for_each_axis(in, [&](int i) { return nnef_text(i == axis ? scale : 1.0F); });
  const std::string how = str_cat(", coord_transformer = \"", coord, "\", interpolator = \"",
                                  interpolator, "\", nearest_mode = \"", nearest, "\"");
  if (core) {
    ctx.need_registry("tract_core");
    const auto size = [&](int i) { return ctx.dim(i == axis ? to : in.dim(i)); };
    const bool by_size = scale == 0.0F;
    ctx.assign(str_cat("tract_core_resize(", x, ", ", by_size ? "sizes" : "scales", " = [",
                       by_size ? for_each_axis(in, size) : scales, "]", how, ")"));
    return {};
  }
  ctx.need_registry("tract_onnx");
  std::string roi;
  if (is_crop()) {
    const auto begins =
        for_each_axis(in, [&](int i) { return nnef_text(i == axis ? roi_begin : 0.0F); });
    const auto ends =
        for_each_axis(in, [&](int i) { return nnef_text(i == axis ? roi_end : 1.0F); });
    roi = str_cat(", roi = [", begins, ", ", ends, "]");
  }
  ctx.assign(str_cat("tract_onnx_resize(", x, ", scales = [", scales, "]", roi, how,
                     ", cubic_coeff_a = ", nnef_text(cubic_a),
                     ", exclude_outside = ", exclude_outside, ", antialias = ", antialias,
                     ", extrapolation_value = ", nnef_text(outside), ")"));
  return {};
}

}  // namespace rill::ops
