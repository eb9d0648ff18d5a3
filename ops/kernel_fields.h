#pragma once

#include "core/run/step_fields.h"
#include "kernels/depthwise/depthwise_args.h"
#include "kernels/fft/fft.h"
#include "kernels/int8/int8_args.h"
#include "kernels/matmul/matmul_args.h"
#include "kernels/pointwise/pointwise.h"
#include "kernels/pool/pool_args.h"
#include "kernels/reduce/reduce.h"
#include "kernels/softmax/softmax.h"

// Describes the arguments of kernels as step arguments here, because kernels do not include the
// types of steps.

namespace rill {

RILL_STEP_FIELDS(kernels::DepthwiseF32Args, frames, channels, taps, taps_outer, x, x_frame_stride,
                 x_tap_stride, x_tap_outer_stride, w, bias, y, y_frame_stride, clip, lo, hi)
RILL_STEP_FIELDS(kernels::FftPasses, n, count, radix, twiddles)
RILL_STEP_FIELDS(kernels::FftPlan, n, size, bluestein, passes, chirp, spectrum, real_twiddle,
                 kernel)
RILL_STEP_FIELDS(kernels::MatmulInt8Args, m, n, segments, segment_len, segment_stride, a, lda,
                 run, run_stride, a_signed, b, start, b_zero, c, ldc, scratch)
RILL_STEP_FIELDS(kernels::Rounding, mul, div, before, after, lo, hi, narrow)
RILL_STEP_FIELDS(kernels::QuantiseArgs, rounding, n, integers, floats, y, y_bytes)
RILL_STEP_FIELDS(kernels::MatmulF32Args, m, n, segments, segment_len, segment_stride, a, lda, b,
                 whole_panels, c, ldc, bias, accumulate, residual, ldr, slope, clip, lo, hi)
RILL_STEP_FIELDS(kernels::PointwiseInstr, op, dst, a, b, c, imm_at, imm)
RILL_STEP_FIELDS(kernels::PointwiseOperand, ptr, stride)
RILL_STEP_FIELDS(kernels::PointwiseArgs, extent, inputs, code_len, in, out, out_stride, code)
RILL_STEP_FIELDS(kernels::PoolF32Args, frames, channels, taps, taps_outer, x, x_frame_stride,
                 x_tap_stride, x_tap_outer_stride, y, y_frame_stride, scale)
RILL_STEP_FIELDS(kernels::ReduceF32Args, op, outer, reduced, inner, x, x_outer, x_reduced, x_inner,
                 y, y_outer, y_inner, scale)
RILL_STEP_FIELDS(kernels::SoftmaxF32Args, rows, n, x, x_stride, y, y_stride, log)

}  // namespace rill
