#include "ops/math/cumsum_step.h"

#include <algorithm>

#include "core/base/kept_count.h"
#include "ops/array/walk.h"

namespace rill::ops {
namespace {

/// The bytes of a sum in the state. The first slot holds the number of frames seen.
constexpr int64_t kSlotBytes = 8;

template <class T>
Wide<T> added(Wide<T> a, Wide<T> b) {
  if constexpr (std::is_integral_v<Wide<T>>) {
    return static_cast<Wide<T>>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

}  // namespace

int64_t sum_bytes(const CumSumHow& how, const PlacedView& x) {
  int64_t sums = 1;
  for (int i = 0; i < x.rank; ++i) {
    if (i != how.axis) sums *= x.extent(i);
  }
  return kSlotBytes * (sums + 1);
}

void add_up(const CumSumHow& how, const View& x, const View& y, std::byte* slots) {
  const int on = how.axis;
  const int64_t length = x.extent(on);
  int64_t* seen = reinterpret_cast<int64_t*>(slots);
  if (slots) *seen = kept_count(*seen);
  const int64_t wait = slots ? std::clamp<int64_t>(how.skip - *seen, 0, length) : 0;
  visit_number(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    int64_t lane = 0;
    for_each_element<2>(
        {without_axis(x, on), without_axis(y, on)}, [&](const std::array<int64_t, 2>& at) {
          const T* from = x.as<const T>() + at[0];
          T* to = y.as<T>() + at[1];
          ++lane;
          Wide<T> sum = 0;
          auto* kept = slots ? reinterpret_cast<Wide<T>*>(slots + kSlotBytes * lane) : nullptr;
          if (kept) sum = *kept;
          for (int64_t n = 0; n < length; ++n) {
            const int64_t i = how.reverse ? length - 1 - n : n;
            if (i < wait) {
              to[i * y.step(on)] = narrow<T>(Wide<T>(0));
              continue;
            }
            const Wide<T> next = added<T>(sum, upcast(from[i * x.step(on)]));
            to[i * y.step(on)] = narrow<T>(how.exclusive ? sum : next);
            sum = next;
          }
          if (kept) *kept = sum;
        });
  });
  if (slots) *seen += length;
}

void run_cumsum(const CumSumArgs& args, const Frame& frame) noexcept {
  add_up(args.how, frame.view(args.x), frame.view(args.y),
         args.has_state ? frame.ptr<std::byte>(args.state) : nullptr);
}

void touch_cumsum(const CumSumArgs& args, StepTouches& touches) {
  touches.has_axis(args.x, args.how.axis);
  touches.alike(args.x, args.y);
  touches.require(is_number(args.x.dtype) && args.how.skip >= 0, "numbers to sum");
  if (!touches.holds()) return;
  touches.reads(args.x);
  touches.writes(args.y);
  if (!args.has_state) return;
  int64_t sums = 1;
  for (int i = 0; i < args.x.rank; ++i) {
    if (i == args.how.axis) continue;
    touches.within(args.x.extent(i), 0, kMostCounted);
    if (!touches.holds()) return;
    sums *= args.x.extent(i);
    touches.within(sums, 0, kMostCounted);
  }
  if (!touches.holds()) return;
  touches.keeps(region<int64_t>(args.state).over(sums + 1));
}

extern const StepKind cumsum_kind;
const StepKind cumsum_kind = kCumSum;

}  // namespace rill::ops
