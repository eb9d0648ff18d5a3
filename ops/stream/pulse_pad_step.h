#pragma once

#include "core/run/frames_so_far.h"

namespace rill::ops {

struct PadStreamArgs {
  int axis = 0;
  int64_t before = 0;
  Extent after;
  int64_t begin_input = 0;
  Extent end_input;
  int64_t overlap = 0;
  bool edge = false;  ///< repeat the first and last frame; else use `value`
  PlacedView value;
  PlacedView view;
  Ref last_frame;
};
RILL_STEP_FIELDS(PadStreamArgs, axis, before, after, begin_input, end_input, overlap, edge, value,
                 view, last_frame)

void run_pad_stream(const PadStreamArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_pad_stream(const PadStreamArgs& args, StepTouches& touches);

inline constexpr auto kPadStream =
    step_kind<PadStreamArgs, run_pad_stream, touch_pad_stream>("pad_stream");

}  // namespace rill::ops
