#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/list.h"

namespace rill::kernels {

/// An elementwise operation. Comparisons give 1 or 0; "C library" marks operations that run lane by
/// lane. Accuracy: that of kernels/math/functions.h; kAdd, kSub, kMul, kDiv, kSqrt are IEEE.
enum class PointwiseOp : uint8_t {
  // y = a op b
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMin,  // NaN where either is NaN; of zeros, a
  kMax,
  kMinNumber,  // of a number and a NaN, the number
  kMaxNumber,
  kHypot,
  kPow,  // C library
  kLt,   // a NaN compares false, but true for kNe
  kLe,
  kGt,
  kGe,
  kEq,
  kNe,
  kAnd,  // non-zero test of both, gives 1 or 0
  kOr,
  // y = a != 0 ? b : c
  kSelect,
  // y = op a
  kCopy,
  kNeg,
  kAbs,
  kSquare,
  kSqrt,
  kRsqrt,
  kRecip,
  kExp,
  kLog,
  kLog1p,
  kExpm1,
  kSoftplus,
  kTanh,
  kSigmoid,
  kErf,
  kSilu,
  kGeluApprox,
  kHardSwish,
  kLeakyRelu,  // slope `imm` below 0
  kFloor,
  kCeil,
  kRound,      // half away from zero
  kRoundEven,  // half to even
  kSign,
  kNot,  // a == 0
  kSin,
  kCos,
  kTan,  // this one and those up to kAtanh: C library
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  kOfInteger,  // bits of an i32 -> the nearest f32, ties to even
};

/// Which operand of a binary operation is `imm` instead of a register.
enum class PointwiseImm : uint8_t { kNone, kA, kB };

/// One instruction: registers[dst] = op(registers[a], registers[b], registers[c]).
struct PointwiseInstr {
  PointwiseOp op = PointwiseOp::kCopy;
  uint8_t dst = 0;
  uint8_t a = 0;
  uint8_t b = 0;
  uint8_t c = 0;
  PointwiseImm imm_at = PointwiseImm::kNone;  // binary operations only
  float imm = 0.0f;
};

constexpr int kPointwiseAxes = 4;
constexpr int kPointwiseMaxInputs = 8;
constexpr int kPointwiseRegisters = 16;
constexpr int kPointwiseMaxCode = 24;

/// One input, with strides in floats for each iteration axis: 0 broadcasts, negative ones are
/// allowed.
struct PointwiseOperand {
  const float* ptr = nullptr;
  int64_t stride[kPointwiseAxes] = {};
};

/// An elementwise program over strided arrays. Before the code runs at a position, registers
/// 0..inputs-1 hold the inputs there; the last instruction's result goes to `out`. The code must
/// write every register other than an input before it reads it.
struct PointwiseArgs {
  int64_t extent[kPointwiseAxes] = {1, 1, 1, 1};  // the innermost axis last
  int inputs = 0;
  int code_len = 0;
  PointwiseOperand in[kPointwiseMaxInputs];
  float* out = nullptr;
  int64_t out_stride[kPointwiseAxes] = {};
  PointwiseInstr code[kPointwiseMaxCode];
};

/// Rewrite the iteration axes into fewer and longer ones, and put the best one innermost.
/// The program's result keeps its bits.
/// Real-time: yes, but slow: call it at prepare, when strides are known; pointers may be set later.
void pointwise_collapse(PointwiseArgs* args) noexcept RILL_NONBLOCKING;

/// Return how many floats of scratch a call needs; 64-byte alignment is best, none is needed.
size_t pointwise_scratch_floats() noexcept RILL_NONBLOCKING;

/// Run the program for every position of the iteration space.
/// `out` may be one of the inputs, with the same strides; else it overlaps none.
/// Types: f32. Accuracy: a position's result depends only on the inputs at that position.
/// Real-time: yes.
using PointwiseFn = void (*)(const PointwiseArgs& args, float* scratch) noexcept RILL_NONBLOCKING;

/// Choose the function for a CPU; never null. Real-time: yes, but slow: call it at prepare.
PointwiseFn pointwise_f32(Tier cpu = active_tier()) noexcept RILL_NONBLOCKING;

/// Return all kernels of the family in this build; the argument only selects the family.
KernelList<NamedKernel<PointwiseFn>> kernels_like(PointwiseFn) RILL_NONBLOCKING;

#define RILL_KERNEL(needs, name) \
  void name(const PointwiseArgs& args, float* scratch) noexcept RILL_NONBLOCKING;
#include "kernels/pointwise/kernels.inc"
#undef RILL_KERNEL

}  // namespace rill::kernels
