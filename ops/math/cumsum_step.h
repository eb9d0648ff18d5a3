#pragma once

#include "core/run/step_fields.h"

namespace rill::ops {

struct CumSumHow {
  int axis = 0;
  bool exclusive = false;
  bool reverse = false;
  int64_t skip = 0;  ///< frames at the start of a stream that output 0 and are not summed
};
RILL_STEP_FIELDS(CumSumHow, axis, exclusive, reverse, skip)

/// Sums along an axis, which continue from step to step if there is a state.
struct CumSumArgs {
  CumSumHow how;
  PlacedView x;
  PlacedView y;
  bool has_state = false;
  Ref state;
};
RILL_STEP_FIELDS(CumSumArgs, how, x, y, has_state, state)

/// Return the bytes of the state of a stream.
int64_t sum_bytes(const CumSumHow& how, const PlacedView& x) RILL_NONBLOCKING;
/// Sum numbers. `kept`: the state, or null without a stream.
void add_up(const CumSumHow& how, const View& x, const View& y, std::byte* kept) RILL_NONBLOCKING;

void run_cumsum(const CumSumArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_cumsum(const CumSumArgs& args, StepTouches& touches);

inline constexpr auto kCumSum = step_kind<CumSumArgs, run_cumsum, touch_cumsum>("cumsum");

}  // namespace rill::ops
