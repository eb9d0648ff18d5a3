#include "ops/stream/tally.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/base/kept_count.h"
#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "ops/math/elements.h"
#include "ops/math/integers.h"
#include "ops/stream/frames.h"

namespace rill::ops {

void PulseTally::fields(FieldVisitor& visitor) {
  visitor.field("kind", kind);
  visitor.field("axes", reduced);
  visitor.field("last", last);
  visitor.field("delay", delay);
  visitor.field("length", length);
}

namespace {

bool is_arg(ReduceKind kind) { return kind == ReduceKind::kArgMin || kind == ReduceKind::kArgMax; }
bool is_truth(ReduceKind kind) { return kind == ReduceKind::kAny || kind == ReduceKind::kAll; }
bool is_largest(ReduceKind kind) { return kind == ReduceKind::kMax || kind == ReduceKind::kArgMax; }

}  // namespace

Result<Facts> PulseTally::infer(FactSpan in) const {
  RILL_CHECK(!reduced.empty() && kind >= 0 && kind <= static_cast<int64_t>(ReduceKind::kAll),
             "expected axes and a kind of reduction");
  const auto which = static_cast<ReduceKind>(kind);
  const bool fits = is_truth(which) ? in[0].dtype == DType::kBool : is_number(in[0].dtype);
  if (!fits) return fail(Code::kDType, "no such reduction of ", in[0]);
  Fact out = is_arg(which) ? Fact::of(DType::kI64, in[0].shape) : in[0].without_value();
  int64_t before = -1;
  for (const int64_t axis : reduced) {
    RILL_CHECK(axis > before && axis < in[0].rank(), "no axis ", axis, " in ", in[0]);
    before = axis;
    out.shape[static_cast<size_t>(axis)] = Dim(1);
  }
  return Facts{std::move(out)};
}

Status PulseTally::eval(EvalCtx&) const {
  return fail(Code::kUnsupported, "a reduction of a stream has memory: it runs in a plan only");
}

namespace {

struct TallyArgs {
  PulseTally op;
  PlacedView from;  ///< [outputs, frames, elements of one output in one frame]
  PlacedView to;    ///< [outputs]
  Ref state;
  FramesSoFar length;
};
RILL_STEP_FIELDS(TallyArgs, op, from, to, state, length)

/// What is kept per output: how many elements were seen, which of them is taken, and a number of at
/// most eight bytes.
struct Kept {
  int64_t seen;
  int64_t index;
  uint64_t bits;
};

template <class W>
W load(const Kept& kept) {
  W value;
  std::memcpy(&value, &kept.bits, sizeof value);
  return value;
}
template <class W>
void store(Kept* kept, W value) {
  kept->bits = 0;
  std::memcpy(&kept->bits, &value, sizeof value);
}

/// Sums of floats are taken in f64, as a whole reduction takes them.
template <class T>
using Sum = std::conditional_t<std::is_floating_point_v<Wide<T>>, double, Wide<T>>;

template <class T>
struct Adder {
  ReduceKind kind;
  Sum<T> start() const { return kind == ReduceKind::kProduct ? Sum<T>(1) : Sum<T>(0); }
  void add(Kept* kept, T x) const {
    const Sum<T> total = kept->seen == 0 ? start() : load<Sum<T>>(*kept);
    const auto v = static_cast<Sum<T>>(widen(x));
    if constexpr (std::is_integral_v<Sum<T>>) {
      const auto op = kind == ReduceKind::kProduct ? BinaryKind::kMul : BinaryKind::kAdd;
      store(kept, integer_binary(op, total, v, 64));
    } else {
      store(kept, kind == ReduceKind::kProduct ? total * v : total + v);
    }
    ++kept->seen;
  }
  T result(const Kept& kept) const {
    return narrow<T>(static_cast<Wide<T>>(kept.seen == 0 ? start() : load<Sum<T>>(kept)));
  }
};

template <class T>
struct Extreme {
  using W = Wide<T>;
  bool largest;
  bool last;
  W start() const {
    using Limits = std::numeric_limits<W>;
    if constexpr (std::is_floating_point_v<W>) {
      return largest ? -Limits::infinity() : Limits::infinity();
    } else {
      return largest ? Limits::lowest() : Limits::max();
    }
  }
  /// The index is negative until an element was taken.
  void add(Kept* kept, T x) const {
    if (kept->seen == 0) {
      kept->index = -1;
      store(kept, start());
    }
    const W best = load<W>(*kept);
    const W v = widen(x);
    const bool better = largest ? v > best : v < best;
    if (better || (v == best && (kept->index < 0 || last))) {
      store(kept, v);
      kept->index = kept->seen;
    }
    ++kept->seen;
  }
  T result(const Kept& kept) const { return narrow<T>(kept.seen == 0 ? start() : load<W>(kept)); }
  static int64_t index(const Kept& kept) { return std::max<int64_t>(0, kept.index); }
};

struct Truth {
  bool any;
  void add(Kept* kept, uint8_t x) const {
    const bool before = kept->seen == 0 ? !any : kept->index != 0;
    kept->index = any ? before || x != 0 : before && x != 0;
    ++kept->seen;
  }
  uint8_t result(const Kept& kept) const { return kept.seen == 0 ? !any : kept.index != 0; }
};

/// The frames of a step that count: [first, last).
struct Range {
  int64_t first;
  int64_t last;
};

template <class T, class Rule, class Give>
void tally(const TallyArgs& args, const Frame& frame, Range range, const Rule& rule, Give&& give) {
  const View from = frame.view(args.from);
  auto* kept = frame.ptr<Kept>(args.state);
  for (int64_t output = 0; output < from.extent(0); ++output, ++kept) {
    const T* own = from.as<const T>() + output * from.step(0);
    kept->seen = kept_count(kept->seen);
    for (int64_t i = range.first; i < range.last; ++i) {
      for (int64_t k = 0; k < from.extent(2); ++k) {
        rule.add(kept, own[i * from.step(1) + k * from.step(2)]);
      }
    }
    give(output, *kept);
  }
}

template <class T>
void tally_numbers(const TallyArgs& args, const Frame& frame, Range range) {
  const auto kind = static_cast<ReduceKind>(args.op.kind);
  const View to = frame.view(args.to);
  if (kind == ReduceKind::kSum || kind == ReduceKind::kProduct) {
    const Adder<T> rule{kind};
    tally<T>(args, frame, range, rule,
             [&](int64_t i, const Kept& kept) { to.as<T>()[i] = rule.result(kept); });
    return;
  }
  const Extreme<T> rule{is_largest(kind), args.op.last};
  tally<T>(args, frame, range, rule, [&](int64_t i, const Kept& kept) {
    if (is_arg(kind)) {
      to.as<int64_t>()[i] = rule.index(kept);
    } else {
      to.as<T>()[i] = rule.result(kept);
    }
  });
}

void run_tally(const TallyArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING {
  const int64_t frames = args.from.extent(1);
  const int64_t start = frame.clock->position(frames) - args.op.delay;
  Range range{std::clamp<int64_t>(-start, 0, frames), 0};
  range.last = std::clamp<int64_t>(args.length.now(frame) - start, range.first, frames);
  const auto kind = static_cast<ReduceKind>(args.op.kind);
  if (is_truth(kind)) {
    const Truth rule{kind == ReduceKind::kAny};
    const View to = frame.view(args.to);
    tally<uint8_t>(args, frame, range, rule,
                   [&](int64_t i, const Kept& kept) { to.as<uint8_t>()[i] = rule.result(kept); });
    return;
  }
  visit_number(args.from.dtype,
               [&](auto tag) { tally_numbers<decltype(tag)>(args, frame, range); });
}

void touch_tally(const TallyArgs& args, StepTouches& touches) {
  const PlacedView& from = args.from;
  touches.within(args.op.kind, 0, static_cast<int64_t>(ReduceKind::kAll));
  touches.within(args.op.delay, -kMostFrames, kMostFrames);
  touches.require(from.rank == 3, "outputs, frames and elements");
  if (!touches.holds()) return;
  const auto kind = static_cast<ReduceKind>(args.op.kind);
  touches.require(is_truth(kind) ? from.dtype == DType::kBool : is_number(from.dtype),
                  "numbers to reduce");
  touches.reads(from);
  PlacedView to = args.to;
  to.rank = 0;
  to.dtype = is_arg(kind) ? DType::kI64 : from.dtype;
  touches.writes(region(to).over(from.extent(0)));
  touches.keeps(region<Kept>(args.state).over(from.extent(0)).aligned(8));
}

constexpr auto kTally = step_kind<TallyArgs, run_tally, touch_tally>("tally_stream");

/// A row-major operand seen with other extents.
Operand seen_as(const Operand& x, std::vector<int64_t> shape) {
  Operand out = x;
  out.rank = static_cast<int>(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i]) {
    out.shape[i] = shape[i];
    out.stride[i] = stride;
  }
  out.konst = nullptr;
  return out;
}

}  // namespace

extern const StepKind tally_stream_kind;
const StepKind tally_stream_kind = kTally;

Status PulseTally::lower(Lowering& lowering) const {
  const Operand& x = lowering.in(0);
  std::vector<int> order;
  int64_t outputs = 1;
  int64_t elements = 1;
  for (int axis = 0; axis < x.rank; ++axis) {
    if (std::find(reduced.begin(), reduced.end(), axis) != reduced.end()) continue;
    order.push_back(axis);
    outputs *= x.extent(axis);
  }
  order.insert(order.end(), reduced.begin(), reduced.end());
  const int64_t frames = x.extent(static_cast<int>(reduced[0]));
  for (size_t i = 1; i < reduced.size(); ++i) elements *= x.extent(static_cast<int>(reduced[i]));
  TallyArgs args;
  args.op = *this;
  args.length = frames_so_far(lowering, length);
  args.from = seen_as(lowering.ordered(x, order), {outputs, frames, elements});
  args.to = seen_as(lowering.make_out(0), {outputs});
  args.state = lowering.state(std::max<int64_t>(1, outputs) * static_cast<int64_t>(sizeof(Kept)));
  if (outputs == 0 || elements == 0) return {};
  const std::vector<Touched> reads = {args.from};
  const std::vector<Touched> writes = {args.to, args.state};
  lowering.step(kTally, std::move(args), reads, writes);
  return {};
}

namespace {

const NnefOp kOps[] = {
    {"rill_pulse",
     "fragment rill_pulse_tally<?>(input: tensor<?>, kind: integer, axes: integer[], "
     "last: logical, delay: integer, length: integer) -> (output: tensor<?>);",
     load_declared<PulseTally>}};

}  // namespace

Status PulseTally::save(SaveCtx& ctx) const { return ctx.assign_declared(kOps[0]); }

extern const OpRoom tally_room;
const OpRoom tally_room = {"tally", kOps};

}  // namespace rill::ops
