#include "ops/math/select_step.h"

#include "ops/array/walk.h"

namespace rill::ops {

void select_elements(const View& condition, const View& a, const View& b, const View& out) {
  visit_plain_size(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    using Four = std::array<int64_t, 4>;
    for_each_row<4>({out, condition, a, b}, [&](const Four& at, const Four& step, int64_t count) {
      const uint8_t* truth = condition.as<const uint8_t>() + at[1];
      const T* x = a.as<const T>() + at[2];
      const T* y = b.as<const T>() + at[3];
      T* to = out.as<T>() + at[0];
      for (int64_t i = 0; i < count; ++i) {
        // Branch-free: conditions of noisy data are unpredictable.
        const auto keep = static_cast<T>(0 - static_cast<T>(truth[i * step[1]] != 0));
        to[i * step[0]] = static_cast<T>((x[i * step[2]] & keep) | (y[i * step[3]] & ~keep));
      }
    });
  });
}

void run_select(const SelectArgs& args, const Frame& frame) noexcept {
  select_elements(frame.view(args.condition), frame.view(args.a), frame.view(args.b),
                  frame.view(args.out));
}

void touch_select(const SelectArgs& args, StepTouches& touches) {
  touches.require(args.condition.dtype == DType::kBool && is_plain(args.out.dtype),
                  "a condition");
  touches.alike(args.a, args.out);
  touches.alike(args.b, args.out);
  PlacedView condition = args.condition;
  condition.dtype = args.out.dtype;
  touches.alike(condition, args.out);
  if (!touches.holds()) return;
  touches.reads(args.condition);
  touches.reads(args.a);
  touches.reads(args.b);
  touches.writes(args.out);
}

extern const StepKind select_kind;
const StepKind select_kind = kSelect;

}  // namespace rill::ops
