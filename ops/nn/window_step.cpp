#include "ops/nn/window_step.h"

#include <algorithm>

#include "core/base/checked.h"
#include "core/run/share.h"

namespace rill::ops {

using kernels::DepthwiseF32Args;
using kernels::MatmulF32Args;

namespace {

void place(MatmulF32Args* args, const float* x, const float* w, const float* bias,
           const float* residual, float* y) {
  args->a = x;
  args->b = w;
  args->bias = bias;
  args->residual = residual;
  args->c = y;
}

void place(DepthwiseF32Args* args, const float* x, const float* w, const float* bias, const float*,
           float* y) {
  args->x = x;
  args->w = w;
  args->bias = bias;
  args->y = y;
}

void run_kernel(const ConvArgs<MatmulF32Args>& conv, const MatmulF32Args& args,
                std::byte* scratch) noexcept RILL_NONBLOCKING {
  if (conv.few_bits == nullptr) return conv.how->run(args);
  conv.few_bits->run(
      {args, reinterpret_cast<const std::byte*>(args.b), reinterpret_cast<float*>(scratch)});
}

void run_kernel(const ConvArgs<DepthwiseF32Args>& conv, const DepthwiseF32Args& args,
                std::byte*) noexcept RILL_NONBLOCKING {
  conv.how->run(args);
}

/// Narrow a call to some of its slices.
void narrow(const ProductSlices&, int64_t first, int64_t count, DepthwiseF32Args* args) {
  args->frames = count;
  args->x += first * args->x_frame_stride;
  args->y += first * args->y_frame_stride;
}

template <class Args>
void run_conv(const ConvArgs<Args>& conv, const Frame& frame,
              const Share& share) noexcept RILL_NONBLOCKING {
  const auto* x = frame.ptr<const float>(conv.x);
  const auto* w = frame.ptr<const float>(conv.weights);
  const auto* bias = conv.has_bias ? frame.ptr<const float>(conv.bias) : nullptr;
  const auto* residual = conv.has_residual ? frame.ptr<const float>(conv.residual) : nullptr;
  auto* y = frame.ptr<float>(conv.y);
  const auto turns = [&](int loop) { return conv.loops[loop].count; };
  const auto run = [&](const auto& index, int64_t first, int64_t count) {
    WindowLoop at;
    for (int l = 0; l < conv.loop_count; ++l) at.move(index[static_cast<size_t>(l)], conv.loops[l]);
    Args args = conv.kernel;
    place(&args, x + at.x, w + at.weights, bias ? bias + at.bias : nullptr,
          residual ? residual + at.residual : nullptr, y + at.y);
    if (count != conv.slices.count) narrow(conv.slices, first, count, &args);
    run_kernel(conv, args, share.scratch);
  };
  walk_share<kWindowLoops>(share, conv.loop_count, turns, conv.slices.count, run);
}

}  // namespace

template <class Args>
void run_calls(const ConvCalls<Args>& all, const Frame& frame,
               const Share& share) noexcept {
  int64_t begin = 0;
  for (const ConvArgs<Args>& conv : all.calls) {
    const int64_t first = std::max(share.begin, begin);
    const int64_t end = std::min(share.end, begin + conv.units);
    if (first < end) run_conv(conv, frame, {first - begin, end - begin, share.scratch});
    begin += conv.units;
  }
}

namespace {

/// The regions of one call without its loops.
struct CallRegions {
  Region x, weights, bias, residual, y;
};

CallRegions regions_of(const ConvArgs<MatmulF32Args>& conv, StepTouches& touches) {
  const MatmulF32Args& args = conv.kernel;
  touch_counts(args, touches);
  touches.require(!args.accumulate, "a product that starts anew");
  if (!touches.holds()) return {};
  const int64_t k = args.segments * args.segment_len;
  const int64_t nr = conv.few_bits != nullptr ? conv.few_bits->nr : conv.how->nr;
  const int64_t panel = conv.few_bits != nullptr
                            ? kernels::matmul_packed_bytes(*conv.few_bits, k, nr)
                            : 4 * kernels::matmul_f32_packed_floats(*conv.how, k, nr);
  touch_slices(conv.slices, args.m, args.n, nr, panel, touches);
  if (conv.few_bits != nullptr) touch_few_bits(args, *conv.few_bits, touches);
  return {rows_of(args, conv.x), packed_columns(args, *conv.how, conv.few_bits, conv.weights),
          region<float>(conv.bias).over(args.n), results_of(args, conv.residual, args.ldr),
          results_of(args, conv.y, args.ldc)};
}

CallRegions regions_of(const ConvArgs<DepthwiseF32Args>& conv, StepTouches& touches) {
  const DepthwiseF32Args& args = conv.kernel;
  touches.require(conv.slices.count == args.frames && !conv.has_residual, "slices of its frames");
  const Region x = region<float>(conv.x)
                       .over(args.frames, args.x_frame_stride)
                       .over(args.taps_outer, args.x_tap_outer_stride)
                       .over(args.taps, args.x_tap_stride)
                       .over(args.channels);
  touches.within(args.taps, 0, kMostCounted);
  touches.within(args.channels, 0, kMostCounted);
  if (!touches.holds()) return {};
  const int64_t tap_bytes = 4 * args.channels;
  const Region weights = region<std::byte>(conv.weights)
                             .over(args.taps_outer, args.taps * tap_bytes)
                             .over(args.taps, tap_bytes)
                             .over(tap_bytes)
                             .aligned(4);
  return {x, weights, region<float>(conv.bias).over(args.channels), {},
          region<float>(conv.y).over(args.frames, args.y_frame_stride).over(args.channels)};
}

}  // namespace

template <class Args>
void touch_calls(const ConvCalls<Args>& all, StepTouches& touches) {
  int64_t units = 0;
  for (const ConvArgs<Args>& conv : all.calls) {
    touches.require(conv.how != nullptr, "a kernel");
    touches.within(conv.loop_count, 0, kWindowLoops);
    if (!touches.holds()) return;
    CallRegions at = regions_of(conv, touches);
    int64_t own = conv.slices.count;
    for (int l = 0; l < conv.loop_count && touches.holds(); ++l) {
      const WindowLoop& loop = conv.loops[l];
      touches.within(loop.count, 0, kMostCounted);
      touches.within(loop.weights, -kMostCounted, kMostCounted);
      own = checked_mul(own, std::max<int64_t>(loop.count, 0)).value_or(-1);
      at.x = at.x.over(loop.count, loop.x);
      at.y = at.y.over(loop.count, loop.y);
      at.residual = at.residual.over(loop.count, loop.residual);
      at.weights = at.weights.over(loop.count, 4 * loop.weights);
      touches.require(loop.weights % 16 == 0, "weights that are aligned");
      at.bias = at.bias.over(loop.count, loop.bias);
    }
    touches.require(own == conv.units, "as many units as its arguments make");
    touches.within(own, 0, kMostCounted);
    if (!touches.holds()) return;
    units += own;
    touches.within(units, 0, kMostCounted);
    touches.reads(at.x);
    touches.reads(at.weights);
    if (conv.has_bias) touches.reads(at.bias);
    if (conv.has_residual) touches.reads(at.residual);
    touches.writes(at.y);
  }
  touches.units(units);
}

template void touch_calls(const ConvCalls<DepthwiseF32Args>& all, StepTouches& touches);
template void touch_calls(const ConvCalls<MatmulF32Args>& all, StepTouches& touches);
template void run_calls(const ConvCalls<DepthwiseF32Args>& all, const Frame& frame,
                        const Share& share) noexcept RILL_NONBLOCKING;
template void run_calls(const ConvCalls<MatmulF32Args>& all, const Frame& frame,
                        const Share& share) noexcept RILL_NONBLOCKING;

extern const StepKind depthwise_kind;
extern const StepKind windows_kind;
const StepKind depthwise_kind = kDepthwise;
const StepKind windows_kind = kWindows;

}  // namespace rill::ops
