#pragma once

#include <type_traits>

#include "kernels/depthwise/depthwise.h"
#include "kernels/matmul/matmul.h"
#include "ops/kernel_fields.h"
#include "ops/nn/product_parts.h"

namespace rill::ops {

/// A loop around a kernel call, with the step of each operand per iteration, in floats.
struct WindowLoop {
  int64_t count = 1;
  int64_t x = 0;
  int64_t y = 0;
  int64_t residual = 0;
  int64_t weights = 0;
  int64_t bias = 0;

  void move(int64_t iterations, const WindowLoop& loop) {
    x += iterations * loop.x;
    y += iterations * loop.y;
    residual += iterations * loop.residual;
    weights += iterations * loop.weights;
    bias += iterations * loop.bias;
  }
};

RILL_STEP_FIELDS(WindowLoop, count, x, y, residual, weights, bias)

constexpr int kWindowLoops = 4;

/// The kernel of a matmul, or of a depthwise window.
template <class Args>
using KernelOf = std::conditional_t<std::is_same_v<Args, kernels::MatmulF32Args>,
                                    kernels::MatmulF32, kernels::DepthwiseF32>;

template <class Args>
struct ConvArgs {
  const KernelOf<Args>* how = nullptr;
  Args kernel;
  WindowLoop loops[kWindowLoops];
  int loop_count = kWindowLoops;
  ProductSlices slices;
  Ref x;
  Ref weights;
  Ref bias;
  Ref residual;
  Ref y;
  bool has_bias = false;
  bool has_residual = false;
  int64_t units = 1;  ///< of work
};

template <class Args>
RILL_STEP_FIELDS(ConvArgs<Args>, how, kernel, loops, loop_count, slices, x, weights, bias, residual,
                 y, has_bias, has_residual, units)

/// The calls of one step; their units of work are numbered consecutively.
template <class Args>
struct ConvCalls {
  List<ConvArgs<Args>> calls;
};
template <class Args>
RILL_STEP_FIELDS(ConvCalls<Args>, calls)

/// Matmuls with quantized weights: a separate kind, so that a program without such weights links
/// none of their kernels.
struct FewBitsWindows {
  ConvCalls<kernels::MatmulF32Args> windows;
  const kernels::MatmulPacked* few_bits = nullptr;
};
RILL_STEP_FIELDS(FewBitsWindows, windows, few_bits)

template <class Args>
void run_calls(const ConvCalls<Args>& all, const Frame& frame,
               const Share& share) noexcept RILL_NONBLOCKING;
extern template void run_calls(const ConvCalls<kernels::DepthwiseF32Args>& all, const Frame& frame,
                               const Share& share) noexcept RILL_NONBLOCKING;
extern template void run_calls(const ConvCalls<kernels::MatmulF32Args>& all, const Frame& frame,
                               const Share& share) noexcept RILL_NONBLOCKING;
/// Run the matmuls for several streams.
bool run_windows(const ConvCalls<kernels::MatmulF32Args>& all,
                 std::span<const Frame> frames) noexcept RILL_NONBLOCKING;
template <class Args>
void touch_calls(const ConvCalls<Args>& all, StepTouches& touches);

void run_few_bits_windows(const FewBitsWindows& all, const Frame& frame,
                          const Share& share) noexcept RILL_NONBLOCKING;
void touch_few_bits_windows(const FewBitsWindows& all, StepTouches& touches);

inline constexpr auto kDepthwise =
    step_kind<ConvCalls<kernels::DepthwiseF32Args>, run_calls<kernels::DepthwiseF32Args>,
              touch_calls<kernels::DepthwiseF32Args>>("depthwise");
inline constexpr auto kWindows =
    step_kind<ConvCalls<kernels::MatmulF32Args>, run_calls<kernels::MatmulF32Args>,
              touch_calls<kernels::MatmulF32Args>, run_windows>("windows");
inline constexpr auto kFewBitsWindows =
    step_kind<FewBitsWindows, run_few_bits_windows, touch_few_bits_windows>("few_bits_windows");

}  // namespace rill::ops
