#include "ops/nn/window_step.h"

#include <algorithm>

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
  if (conv.f16 == nullptr) return conv.how->run(args);
  conv.f16->run(
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

template void run_calls(const ConvCalls<DepthwiseF32Args>& all, const Frame& frame,
                        const Share& share) noexcept;
template void run_calls(const ConvCalls<MatmulF32Args>& all, const Frame& frame,
                        const Share& share) noexcept;

extern const StepKind depthwise_kind;
extern const StepKind windows_kind;
const StepKind depthwise_kind = kDepthwise;
const StepKind windows_kind = kWindows;

}  // namespace rill::ops
