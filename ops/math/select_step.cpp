#include "ops/math/select_step.h"

#include "ops/array/walk.h"

namespace rill::ops {

void select_elements(const View& condition, const View& a, const View& b, const View& out) {
  visit_plain_size(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    for_each_element<4>({out, condition, a, b}, [&](const std::array<int64_t, 4>& at) {
      out.as<T>()[at[0]] = condition.as<const uint8_t>()[at[1]] != 0 ? a.as<const T>()[at[2]]
                                                                     : b.as<const T>()[at[3]];
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
