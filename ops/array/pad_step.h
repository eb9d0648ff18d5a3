#pragma once

#include <utility>

#include "core/run/step_fields.h"

namespace rill::ops {

struct FillArgs {
  PlacedView to;
  uint64_t value;
};
RILL_STEP_FIELDS(FillArgs, to, value)

struct BorderArgs {
  PlacedView out;
  List<std::pair<int64_t, int64_t>> pads;
  bool reflect;
};
RILL_STEP_FIELDS(BorderArgs, out, pads, reflect)

void run_fill(const FillArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
/// Pad the inner part with its own frames, axis by axis. Frames of later axes include the padding
/// of earlier axes.
void run_border(const BorderArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_fill(const FillArgs& args, StepTouches& touches);
void touch_border(const BorderArgs& args, StepTouches& touches);

inline constexpr auto kFill = step_kind<FillArgs, run_fill, touch_fill>("fill");
inline constexpr auto kBorder = step_kind<BorderArgs, run_border, touch_border>("border");

}  // namespace rill::ops
