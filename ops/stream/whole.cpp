#include "ops/stream/whole.h"

#include <algorithm>

#include "core/base/kept_count.h"
#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "kernels/reduce/reduce.h"
#include "ops/math/elements.h"
#include "ops/stream/frames.h"

namespace rill::ops {

void PulseLength::fields(FieldVisitor& visitor) { visitor.field("value", value); }

// The stream symbol stays: its value is known at the end.
OpPtr PulseLength::with_symbol(std::string_view, const Dim&) const { return nullptr; }

Result<Facts> PulseLength::infer(FactSpan) const {
  if (!value || value->dtype() != DType::kDim) return fail(Code::kDType, "value: expected dims");
  Fact out = Fact::of_tensor(value);
  return Facts{out.without_value()};
}

Status PulseLength::eval(EvalCtx&) const {
  return fail(Code::kUnsupported, "the length of a stream is known in a prepared plan only");
}

namespace {

struct LengthArgs {
  std::vector<Dim> dims;
  Ref to;
};
RILL_STEP_FIELDS(LengthArgs, dims, to)

void run_length(const LengthArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING {
  auto* to = frame.ptr<int64_t>(args.to);
  for (size_t i = 0; i < args.dims.size(); ++i) {
    const bool known = frame.clock->end >= 0 || args.dims[i].is_const();
    to[i] = known ? args.dims[i].eval(*frame.bindings).value_or(0) : 0;
  }
}

void touch_length(const LengthArgs& args, StepTouches& touches) {
  touches.writes(region<int64_t>(args.to).over(static_cast<int64_t>(args.dims.size())));
}

constexpr auto kLength = step_kind<LengthArgs, run_length, touch_length>("length_stream");

}  // namespace

extern const StepKind length_stream_kind;
const StepKind length_stream_kind = kLength;

Status PulseLength::lower(Lowering& lowering) const {
  const auto dims = value->values<Dim>();
  const Operand to = lowering.make_out(0);
  lowering.step(kLength, {{dims.begin(), dims.end()}, to.ref}, {}, {to});
  return {};
}

Status PulseLength::save(SaveCtx& ctx) const {
  const auto dims = value->values<Dim>();
  ctx.need_registry("rill_pulse");
  ctx.assign(str_cat("rill_pulse_length(",
                     nnef_text(std::span<const Dim>(dims.data(), dims.size())),
                     ", shape = ", nnef_text(std::span<const int64_t>(value->shape())), ")"));
  return {};
}

void PulseReduce::fields(FieldVisitor& visitor) {
  visitor.field("kind", kind);
  visitor.field("axes", reduced);
  visitor.field("lanes", lanes);
  visitor.field("delay", delay);
  visitor.field("length", length);
}

Result<Facts> PulseReduce::infer(FactSpan in) const {
  RILL_CHECK(!reduced.empty() && kind >= 0 && kind <= static_cast<int64_t>(ReduceKind::kMax),
             "expected axes, and a sum, product, minimum or maximum");
  if (in[0].dtype != DType::kF32) return fail(Code::kDType, "input ", in[0], ": expected F32");
  Fact out = in[0].without_value();
  int64_t before = -1;
  for (const int64_t axis : reduced) {
    RILL_CHECK(axis > before && axis < in[0].rank(), "no axis ", axis, " in ", in[0]);
    before = axis;
    out.shape[static_cast<size_t>(axis)] = Dim(1);
  }
  return Facts{std::move(out)};
}

Status PulseReduce::eval(EvalCtx&) const {
  return fail(Code::kUnsupported, "a reduction of a stream has memory: it runs in a plan only");
}

namespace {

// As in a whole reduction: fewer elements make one chain.
constexpr int64_t kChainElements = 8;

struct ReduceArgs {
  PulseReduce op;
  kernels::ReduceF32Fn run;
  Operand from;  ///< axes that stay, then the reduced ones, row-major
  int64_t outputs = 1;
  int64_t frame = 1;  ///< elements of one output in one frame
  int64_t block = 0;  ///< elements that are added at a time; 0: one chain
  Ref state;
  Ref to;
  FramesSoFar length;
};

RILL_STEP_FIELDS(ReduceArgs, op, run, from, outputs, frame, block, state, to, length)

kernels::ReduceOp kernel_of(int64_t kind) {
  switch (static_cast<ReduceKind>(kind)) {
    case ReduceKind::kProduct:
      return kernels::ReduceOp::kProd;
    case ReduceKind::kMin:
      return kernels::ReduceOp::kMin;
    case ReduceKind::kMax:
      return kernels::ReduceOp::kMax;
    default:
      return kernels::ReduceOp::kSum;
  }
}

float joined(int64_t kind, float acc, float x) {
  switch (static_cast<ReduceKind>(kind)) {
    case ReduceKind::kProduct:
      return acc * x;
    case ReduceKind::kMin:
      return x < acc ? x : acc;
    case ReduceKind::kMax:
      return x > acc ? x : acc;
    default:
      return acc + x;
  }
}

float start_of(int64_t kind) {
  switch (static_cast<ReduceKind>(kind)) {
    case ReduceKind::kProduct:
      return 1.0F;
    case ReduceKind::kMin:
      return __builtin_inff();
    case ReduceKind::kMax:
      return -__builtin_inff();
    default:
      return 0.0F;
  }
}

/// What is kept per output: how many elements were seen, the lanes, and elements that do not fill a
/// block yet, the first ones among them.
class Kept {
 public:
  Kept(const ReduceArgs& args, std::byte* base, int64_t output)
      : args_(args), kind_(args.op.kind) {
    std::byte* own = base + output * bytes(args.block);
    seen_ = reinterpret_cast<int64_t*>(own);
    values_ = reinterpret_cast<float*>(own + sizeof(int64_t));
  }
  static int64_t room(int64_t block) { return std::max(block, kChainElements + 1); }
  static int64_t bytes(int64_t block) {
    return (8 + 4 * (block == 0 ? 1 : block + room(block)) + 7) / 8 * 8;
  }

  void add(float x) {
    if (*seen_ == 0) std::fill_n(values_, lanes(), start_of(kind_));
    ++*seen_;
    if (args_.block == 0) {
      values_[0] = joined(kind_, values_[0], x);
      return;
    }
    waiting()[waits()++] = x;
    if (*seen_ <= kChainElements) return;
    while (waits() >= args_.block) flush();
  }

  float result() {
    if (*seen_ == 0) return start_of(kind_);
    if (args_.block == 0) return values_[0];
    if (*seen_ <= kChainElements) {
      float acc = start_of(kind_);
      for (int64_t i = 0; i < *seen_; ++i) acc = joined(kind_, acc, waiting()[i]);
      return acc;
    }
    // The lanes stand in front of what is left: the kernel begins with them as its first block.
    kernels::ReduceF32Args call;
    float y = 0;
    call.op = kernel_of(kind_);
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
  /// Elements that wait: until there are more than a chain all of them, then less than a block.
  int64_t& waits() { return waits_; }
  void flush() {
    float* rest = waiting();
    for (int64_t i = 0; i < args_.block; ++i) values_[i] = joined(kind_, values_[i], rest[i]);
    waits_ -= args_.block;
    std::copy(rest + args_.block, rest + args_.block + waits_, rest);
  }

  const ReduceArgs& args_;
  int64_t kind_;
  int64_t* seen_;
  float* values_;
  int64_t waits_ = 0;

  friend void run_reduce(const ReduceArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
  void resume() {
    *seen_ = kept_count(*seen_);
    waits_ = *seen_ <= kChainElements || args_.block == 0 ? *seen_ : *seen_ % args_.block;
  }
};

void run_reduce(const ReduceArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING {
  const int64_t frames = args.from.extent(1);
  const int64_t start = frame.clock->position(frames) - args.op.delay;
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

void touch_reduce(const ReduceArgs& args, StepTouches& touches) {
  touches.require(args.run != nullptr && args.from.rank >= 2, "a kernel");
  touches.within(args.block, 0, kMostCounted);
  touches.within(args.op.delay, -kMostFrames, kMostFrames);
  for (const int64_t count : {args.outputs, args.frame}) touches.within(count, 0, kMostCounted);
  if (!touches.holds()) return;
  touches.within(args.from.extent(1), 0, kMostCounted);
  const int64_t own = args.from.extent(1) * args.frame;
  touches.reads(region<float>(args.from.ref).over(args.outputs, own).over(own));
  const int64_t kept = Kept::bytes(args.block);
  touches.keeps(region<std::byte>(args.state).over(args.outputs, kept).over(kept).aligned(8));
  touches.writes(region<float>(args.to).over(args.outputs));
}

constexpr auto kReduceStream = step_kind<ReduceArgs, run_reduce, touch_reduce>("reduce_stream");

}  // namespace

extern const StepKind reduce_stream_kind;
const StepKind reduce_stream_kind = kReduceStream;

Status PulseReduce::lower(Lowering& lowering) const {
  const Operand& x = lowering.in(0);
  const auto is_reduced = [&](int axis) {
    return std::find(reduced.begin(), reduced.end(), axis) != reduced.end();
  };
  std::vector<int> order;
  ReduceArgs args;
  for (int axis = 0; axis < x.rank; ++axis) {
    if (is_reduced(axis)) continue;
    order.push_back(axis);
    args.outputs *= x.extent(axis);
  }
  order.insert(order.end(), reduced.begin(), reduced.end());
  const int64_t frames = x.extent(static_cast<int>(reduced[0]));
  for (size_t i = 1; i < reduced.size(); ++i) args.frame *= x.extent(static_cast<int>(reduced[i]));
  args.op = *this;
  args.length = FramesSoFar(length);
  args.run = kernels::reduce_f32();
  args.block = lanes ? kernels::reduce_block_f32() : 0;
  const Operand ordered = lowering.ordered(x, order);
  args.from = {};
  args.from.rank = 3;
  args.from.shape = {args.outputs, frames, args.frame};
  args.from.ref = ordered.ref;
  const Operand out = lowering.make_out(0);
  args.to = out.ref;
  args.state = lowering.state(std::max<int64_t>(1, args.outputs) * Kept::bytes(args.block));
  if (args.outputs == 0 || args.frame == 0) return {};
  const Ref state = args.state;
  lowering.step(kReduceStream, std::move(args), {ordered}, {out, state});
  return {};
}

namespace {

Result<Value> load_length(LoadCtx& ctx) {
  RILL_ASSIGN(const std::vector<Dim> dims, ctx.dims("value"));
  RILL_ASSIGN(const std::vector<int64_t> shape, ctx.integers("shape"));
  RILL_ASSIGN(Tensor value, Tensor::of<Dim>(DType::kDim, shape, dims));
  auto op = std::make_shared<PulseLength>(std::make_shared<const Tensor>(std::move(value)));
  RILL_ASSIGN(const OutletId out, ctx.add1(std::move(op), {}));
  return Value(out);
}

const NnefOp kOps[] = {
    {"rill_pulse",
     "fragment rill_pulse_length<?>(value: integer[], shape: integer[]) -> (output: tensor<?>);",
     load_length},
    {"rill_pulse",
     "fragment rill_pulse_reduce(input: tensor<scalar>, kind: integer, axes: integer[], "
     "lanes: logical, delay: integer, length: integer) -> (output: tensor<scalar>);",
     load_declared<PulseReduce>}};

}  // namespace

Status PulseReduce::save(SaveCtx& ctx) const { return ctx.assign_declared(kOps[1]); }

extern const OpRoom whole_room;
const OpRoom whole_room = {"whole", kOps};

}  // namespace rill::ops
