#include "ops/math/tally_step.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/base/kept_count.h"
#include "ops/array/walk.h"
#include "ops/math/extreme.h"
#include "ops/math/integers.h"

namespace rill::ops {
namespace {

bool is_largest(ReduceKind kind) { return kind == ReduceKind::kMax || kind == ReduceKind::kArgMax; }

/// The state of an output: the number of elements seen, the index of the best one, and the
/// accumulator, a number of at most eight bytes.
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

/// Sum floats in f64, like a whole reduction.
template <class T>
using Sum = std::conditional_t<std::is_floating_point_v<Wide<T>>, double, Wide<T>>;

template <class T>
struct Adder {
  ReduceKind kind;
  Sum<T> start() const { return kind == ReduceKind::kProduct ? Sum<T>(1) : Sum<T>(0); }
  void add(Kept* kept, T x) const {
    const Sum<T> total = kept->seen == 0 ? start() : load<Sum<T>>(*kept);
    const auto v = static_cast<Sum<T>>(upcast(x));
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
  /// Take an element. The index is -1 until an element is chosen.
  void add(Kept* kept, T x) const {
    if (kept->seen == 0) {
      kept->index = -1;
      store(kept, start());
    }
    const W best = load<W>(*kept);
    const W v = upcast(x);
    const bool equal = is_as_good(v, best) && (kept->index < 0 || last);
    if (equal || is_better(largest, v, best)) {
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

/// The valid frames of a step: [first, last).
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
  const ReduceKind kind = args.kind;
  const View to = frame.view(args.to);
  if (kind == ReduceKind::kSum || kind == ReduceKind::kProduct) {
    const Adder<T> rule{kind};
    tally<T>(args, frame, range, rule,
             [&](int64_t i, const Kept& kept) { to.as<T>()[i] = rule.result(kept); });
    return;
  }
  const Extreme<T> rule{is_largest(kind), args.last};
  tally<T>(args, frame, range, rule, [&](int64_t i, const Kept& kept) {
    if (is_arg(kind)) {
      to.as<int64_t>()[i] = rule.index(kept);
    } else {
      to.as<T>()[i] = rule.result(kept);
    }
  });
}

static_assert(sizeof(Kept) == kTallyBytes);

}  // namespace

void run_tally(const TallyArgs& args, const Frame& frame) noexcept {
  const int64_t frames = args.from.extent(1);
  const int64_t start = frame.clock->position(frames) - args.delay;
  Range range{std::clamp<int64_t>(-start, 0, frames), 0};
  range.last = std::clamp<int64_t>(args.length.now(frame) - start, range.first, frames);
  const ReduceKind kind = args.kind;
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
  touches.within(static_cast<int64_t>(args.kind), 0, static_cast<int64_t>(ReduceKind::kAll));
  touches.within(args.delay, -kMostFrames, kMostFrames);
  touches.require(from.rank == 3, "outputs, frames and elements");
  if (!touches.holds()) return;
  const ReduceKind kind = args.kind;
  touches.require(is_truth(kind) ? from.dtype == DType::kBool : is_number(from.dtype),
                  "numbers to reduce");
  touches.reads(from);
  PlacedView to = args.to;
  to.rank = 0;
  to.dtype = is_arg(kind) ? DType::kI64 : from.dtype;
  touches.writes(region(to).over(from.extent(0)));
  touches.keeps(region<Kept>(args.state).over(from.extent(0)).aligned(8));
}

extern const StepKind tally_stream_kind;
const StepKind tally_stream_kind = kTally;

}  // namespace rill::ops
