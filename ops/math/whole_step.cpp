#include "ops/math/whole_step.h"

#include "core/base/kept_count.h"

namespace rill::ops {

namespace {

float joined(kernels::ReduceOp kind, float acc, float x) {
  switch (kind) {
    case kernels::ReduceOp::kProd:
      return acc * x;
    case kernels::ReduceOp::kMin:
      return kernels::smaller_of(acc, x);
    case kernels::ReduceOp::kMax:
      return kernels::larger_of(acc, x);
    default:
      return acc + x;
  }
}

float start_of(kernels::ReduceOp kind) {
  switch (kind) {
    case kernels::ReduceOp::kProd:
      return 1.0F;
    case kernels::ReduceOp::kMin:
      return __builtin_inff();
    case kernels::ReduceOp::kMax:
      return -__builtin_inff();
    default:
      return 0.0F;
  }
}

/// The state of an output: the number of elements seen, the lanes, and the elements that do not
/// fill a block yet. Up to the length of a chain, all elements wait there.
class Kept {
 public:
  Kept(const ReduceStreamArgs& args, std::byte* base, int64_t output)
      : args_(args), kind_(args.op) {
    std::byte* own = base + output * bytes_kept(args.block);
    seen_ = reinterpret_cast<int64_t*>(own);
    values_ = reinterpret_cast<float*>(own + sizeof(int64_t));
  }

  /// Continue from the saved state.
  void resume() {
    *seen_ = kept_count(*seen_);
    waits_ = *seen_ <= kReduceChainElements || args_.block == 0 ? *seen_ : *seen_ % args_.block;
  }

  void add(float x) {
    if (*seen_ == 0) std::fill_n(values_, lanes(), start_of(kind_));
    ++*seen_;
    if (args_.block == 0) {
      values_[0] = joined(kind_, values_[0], x);
      return;
    }
    waiting()[waits()++] = x;
    if (*seen_ <= kReduceChainElements) return;
    while (waits() >= args_.block) flush();
  }

  float result() {
    if (*seen_ == 0) return start_of(kind_);
    if (args_.block == 0) return values_[0];
    if (*seen_ <= kReduceChainElements) {
      float acc = start_of(kind_);
      for (int64_t i = 0; i < *seen_; ++i) acc = joined(kind_, acc, waiting()[i]);
      return acc;
    }
    // The lanes precede the waiting elements: the kernel reads them as its first block.
    kernels::ReduceF32Args call;
    float y = 0;
    call.op = kind_;
    call.reduced = args_.block + waits();
    call.x = values_;
    call.x_reduced = 1;
    call.y = &y;
    args_.run(call);
    return y;
  }

 private:
  int64_t lanes() const { return std::max<int64_t>(1, args_.block); }
  float* waiting() { return values_ + args_.block; }
  /// The number of waiting elements: all elements up to the length of a chain, later less than a
  /// block.
  int64_t& waits() { return waits_; }
  void flush() {
    float* rest = waiting();
    for (int64_t i = 0; i < args_.block; ++i) values_[i] = joined(kind_, values_[i], rest[i]);
    waits_ -= args_.block;
    std::copy(rest + args_.block, rest + args_.block + waits_, rest);
  }

  const ReduceStreamArgs& args_;
  kernels::ReduceOp kind_;
  int64_t* seen_;
  float* values_;
  int64_t waits_ = 0;
};

}  // namespace

void run_reduce_stream(const ReduceStreamArgs& args, const Frame& frame) noexcept {
  const int64_t frames = args.from.extent(1);
  const int64_t start = frame.clock->position(frames) - args.delay;
  const int64_t first = std::clamp<int64_t>(-start, 0, frames);
  const int64_t last =
      std::clamp<int64_t>(args.length.now(frame) - start, first, frames);
  const auto* from = frame.ptr<const float>(args.from.ref);
  auto* to = frame.ptr<float>(args.to);
  for (int64_t output = 0; output < args.outputs; ++output) {
    Kept kept(args, frame.ptr<std::byte>(args.state), output);
    kept.resume();
    const float* own = from + output * frames * args.frame;
    for (int64_t i = first * args.frame; i < last * args.frame; ++i) kept.add(own[i]);
    to[output] = kept.result();
  }
}

void touch_reduce_stream(const ReduceStreamArgs& args, StepTouches& touches) {
  touches.require(args.run != nullptr && args.from.rank >= 2, "a kernel");
  touches.require(args.op <= kernels::ReduceOp::kProd, "a sum, product, minimum or maximum");
  touches.within(args.block, 0, kMostCounted);
  touches.within(args.delay, -kMostFrames, kMostFrames);
  for (const int64_t count : {args.outputs, args.frame}) touches.within(count, 0, kMostCounted);
  if (!touches.holds()) return;
  touches.within(args.from.extent(1), 0, kMostCounted);
  const int64_t own = args.from.extent(1) * args.frame;
  touches.reads(region<float>(args.from.ref).over(args.outputs, own).over(own));
  const int64_t kept = bytes_kept(args.block);
  touches.keeps(region<std::byte>(args.state).over(args.outputs, kept).over(kept).aligned(8));
  touches.writes(region<float>(args.to).over(args.outputs));
}

extern const StepKind reduce_stream_kind;
const StepKind reduce_stream_kind = kReduceStream;

}  // namespace rill::ops
