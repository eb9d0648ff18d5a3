#include "ops/nn/window_step.h"

#include <algorithm>

#include "core/base/checked.h"
#include "core/run/share.h"
#include "core/run/together.h"
#include "ops/nn/gathered_step.h"

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

using kernels::MatmulPacked;

/// Run a call. `few_bits` reads the weights; null: they are f32.
void run_kernel(const ConvArgs<MatmulF32Args>& conv, const MatmulPacked* few_bits,
                const MatmulF32Args& args, std::byte* scratch) noexcept RILL_NONBLOCKING {
  if (few_bits == nullptr) return conv.how->run(args);
  few_bits->run(
      {args, reinterpret_cast<const std::byte*>(args.b), reinterpret_cast<float*>(scratch)});
}

void run_kernel(const ConvArgs<DepthwiseF32Args>& conv, const MatmulPacked*,
                const DepthwiseF32Args& args, std::byte*) noexcept RILL_NONBLOCKING {
  conv.how->run(args);
}

/// Narrow a call to some of its slices.
void narrow(const ProductSlices&, int64_t first, int64_t count, DepthwiseF32Args* args) {
  args->frames = count;
  args->x += first * args->x_frame_stride;
  args->y += first * args->y_frame_stride;
}

template <class Args>
void run_conv(const ConvArgs<Args>& conv, const MatmulPacked* few_bits, const Frame& frame,
              const Share& share) noexcept RILL_NONBLOCKING {
  const auto* x = frame.ptr<const float>(conv.x);
  const auto* w = frame.ptr<const float>(conv.weights);
  const auto* bias = conv.has_bias ? frame.ptr<const float>(conv.bias) : nullptr;
  const auto* residual = conv.has_residual ? frame.ptr<const float>(conv.residual) : nullptr;
  auto* y = frame.ptr<float>(conv.y);
  const auto iterations = [&](int loop) { return conv.loops[loop].count; };
  const auto run = [&](const auto& index, int64_t first, int64_t count) {
    WindowLoop at;
    for (int l = 0; l < conv.loop_count; ++l) at.move(index[static_cast<size_t>(l)], conv.loops[l]);
    Args args = conv.kernel;
    place(&args, x + at.x, w + at.weights, bias ? bias + at.bias : nullptr,
          residual ? residual + at.residual : nullptr, y + at.y);
    if (count != conv.slices.count) narrow(conv.slices, first, count, &args);
    run_kernel(conv, few_bits, args, share.scratch);
  };
  walk_share<kWindowLoops>(share, conv.loop_count, iterations, conv.slices.count, run);
}

template <class Args>
void run_all(const ConvCalls<Args>& all, const MatmulPacked* few_bits, const Frame& frame,
             const Share& share) noexcept RILL_NONBLOCKING {
  int64_t begin = 0;
  for (const ConvArgs<Args>& conv : all.calls) {
    const int64_t first = std::max(share.begin, begin);
    const int64_t end = std::min(share.end, begin + conv.units);
    if (first < end) run_conv(conv, few_bits, frame, {first - begin, end - begin, share.scratch});
    begin += conv.units;
  }
}

/// Run a call for several streams.
void run_conv(const ConvArgs<MatmulF32Args>& conv,
              std::span<const Frame> frames) noexcept RILL_NONBLOCKING {
  const auto iterations = [&](int loop) { return conv.loops[loop].count; };
  int64_t all = 1;
  for (int l = 0; l < conv.loop_count; ++l) all *= iterations(l);
  const auto run = [&](const auto& index, int64_t, int64_t) {
    WindowLoop at;
    for (int l = 0; l < conv.loop_count; ++l) at.move(index[static_cast<size_t>(l)], conv.loops[l]);
    StreamRows rows[kMostTogether];
    for (size_t i = 0; i < frames.size(); ++i) {
      rows[i].a = frames[i].ptr<const float>(conv.x) + at.x;
      rows[i].c = frames[i].ptr<float>(conv.y) + at.y;
      if (!conv.has_residual) continue;
      rows[i].residual = frames[i].ptr<const float>(conv.residual) + at.residual;
    }
    MatmulF32Args args = conv.kernel;
    args.b = frames[0].ptr<const float>(conv.weights) + at.weights;
    if (conv.has_bias) args.bias = frames[0].ptr<const float>(conv.bias) + at.bias;
    run_gathered(*conv.how, args, {rows, frames.size()});
  };
  walk_share<kWindowLoops>({0, all}, conv.loop_count, iterations, 1, run);
}

/// The regions of one call without its loops.
struct CallRegions {
  Checked work = 0;  ///< multiply-adds
  Region x, weights, bias, residual, y;
};

[[gnu::cold]] CallRegions regions_of(const ConvArgs<MatmulF32Args>& conv,
                                     const MatmulPacked* few_bits, StepTouches& touches) {
  const MatmulF32Args& args = conv.kernel;
  touch_counts(args, touches);
  touches.require(!args.accumulate, "a matmul without accumulation");
  if (!touches.holds()) return {};
  const int64_t k = args.segments * args.segment_len;
  const int64_t nr = few_bits != nullptr ? few_bits->nr : conv.how->nr;
  const int64_t panel = few_bits != nullptr
                            ? kernels::matmul_packed_bytes(*few_bits, k, nr)
                            : 4 * kernels::matmul_f32_packed_floats(*conv.how, k, nr);
  touch_slices(conv.slices, args.m, args.n, nr, panel, touches);
  if (few_bits != nullptr) touch_few_bits(args, *few_bits, touches);
  return {checked(args.m) * args.n * k, rows_of(args, conv.x),
          packed_columns(args, *conv.how, few_bits, conv.weights),
          region<float>(conv.bias).over(args.n), results_of(args, conv.residual, args.ldr),
          results_of(args, conv.y, args.ldc)};
}

[[gnu::cold]] CallRegions regions_of(const ConvArgs<DepthwiseF32Args>& conv, const MatmulPacked*,
                                     StepTouches& touches) {
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
  return {0, x, weights, region<float>(conv.bias).over(args.channels), {},
          region<float>(conv.y).over(args.frames, args.y_frame_stride).over(args.channels)};
}

template <class Args>
[[gnu::cold]] void touch_all(const ConvCalls<Args>& all, const MatmulPacked* few_bits,
                             StepTouches& touches) {
  int64_t units = 0;
  for (const ConvArgs<Args>& conv : all.calls) {
    touches.require(conv.how != nullptr, "a kernel");
    touches.within(conv.loop_count, 0, kWindowLoops);
    if (!touches.holds()) return;
    CallRegions at = regions_of(conv, few_bits, touches);
    int64_t own = conv.slices.count;
    for (int l = 0; l < conv.loop_count && touches.holds(); ++l) {
      const WindowLoop& loop = conv.loops[l];
      touches.within(loop.count, 0, kMostCounted);
      touches.within(loop.weights, -kMostCounted, kMostCounted);
      own = checked_mul(own, std::max<int64_t>(loop.count, 0)).value_or(-1);
      at.work *= loop.count;
      at.x = at.x.over(loop.count, loop.x);
      at.y = at.y.over(loop.count, loop.y);
      at.residual = at.residual.over(loop.count, loop.residual);
      at.weights = at.weights.over(loop.count, 4 * loop.weights);
      touches.require(loop.weights % 16 == 0, "weights that are aligned");
      at.bias = at.bias.over(loop.count, loop.bias);
    }
    touches.require(own == conv.units, "the units that its arguments make");
    touches.within(own, 0, kMostCounted);
    if (!touches.holds()) return;
    units += own;
    touches.within(units, 0, kMostCounted);
    touches.works({at.work});
    touches.reads(at.x);
    touches.reads(at.weights);
    if (conv.has_bias) touches.reads(at.bias);
    if (conv.has_residual) touches.reads(at.residual);
    touches.writes(at.y);
  }
  touches.units(units);
}

}  // namespace

template <class Args>
void run_calls(const ConvCalls<Args>& all, const Frame& frame, const Share& share) noexcept {
  run_all(all, nullptr, frame, share);
}

bool run_windows(const ConvCalls<MatmulF32Args>& all, std::span<const Frame> frames) noexcept {
  const auto is_own = [&](const ConvArgs<MatmulF32Args>& conv) {
    return !is_shared(conv.weights, frames) || (conv.has_bias && !is_shared(conv.bias, frames));
  };
  if (any_of(all.calls, is_own)) return false;
  for (const ConvArgs<MatmulF32Args>& conv : all.calls) run_conv(conv, frames);
  return true;
}

template <class Args>
void touch_calls(const ConvCalls<Args>& all, StepTouches& touches) {
  touch_all(all, nullptr, touches);
}

void run_few_bits_windows(const FewBitsWindows& all, const Frame& frame,
                          const Share& share) noexcept {
  run_all(all.windows, all.few_bits, frame, share);
}

void touch_few_bits_windows(const FewBitsWindows& all, StepTouches& touches) {
  touches.require(all.few_bits != nullptr, "a kernel");
  touch_all(all.windows, all.few_bits, touches);
}

template void touch_calls(const ConvCalls<DepthwiseF32Args>& all, StepTouches& touches);
template void touch_calls(const ConvCalls<MatmulF32Args>& all, StepTouches& touches);
template void run_calls(const ConvCalls<DepthwiseF32Args>& all, const Frame& frame,
                        const Share& share) noexcept RILL_NONBLOCKING;
template void run_calls(const ConvCalls<MatmulF32Args>& all, const Frame& frame,
                        const Share& share) noexcept RILL_NONBLOCKING;

extern const StepKind depthwise_kind;
extern const StepKind windows_kind;
extern const StepKind few_bits_windows_kind;
const StepKind depthwise_kind = kDepthwise;
const StepKind windows_kind = kWindows;
const StepKind few_bits_windows_kind = kFewBitsWindows;

}  // namespace rill::ops
