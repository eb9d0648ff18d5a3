#pragma once

#include "core/base/refusal.h"
#include "core/run/session.h"
#include "core/run/step_fields.h"

namespace rill {

/// The first index of a run that its operator does not have, where the model computes indices. It
/// lies in memory of a session that no other step uses.
struct BadIndex {
  int64_t found = 0;  ///< 1: the other members are set
  int64_t node = 0;   ///< in `Plan::nodes`
  int64_t number = 0;
  int64_t at = 0;  ///< its element in row-major order
  int64_t least = 0;
  int64_t most = 0;
};

/// The first step of a plan that computes indices: forget the bad index of the previous run.
struct WatchIndicesArgs {
  Ref bad;
};
RILL_STEP_FIELDS(WatchIndicesArgs, bad)

/// Record the first index outside of [least, most], unless the run has found one.
struct CheckIndicesArgs {
  PlacedView indices;
  Ref bad;
  int node = 0;
  int64_t least = 0;
  int64_t most = 0;
};
RILL_STEP_FIELDS(CheckIndicesArgs, indices, bad, node, least, most)

void run_watch_indices(const WatchIndicesArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void run_check_indices(const CheckIndicesArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_watch_indices(const WatchIndicesArgs& args, StepTouches& touches);
void touch_check_indices(const CheckIndicesArgs& args, StepTouches& touches);

inline constexpr auto kWatchIndices =
    step_kind<WatchIndicesArgs, run_watch_indices, touch_watch_indices>("watch_indices");
inline constexpr auto kCheckIndices =
    step_kind<CheckIndicesArgs, run_check_indices, touch_check_indices>("check_indices");

/// Return whether the model computed an index that its operator does not have, in the last step of
/// a session. Real-time: yes.
inline bool computed_bad_index(PlacedSession& session) RILL_NONBLOCKING {
  const Plan& plan = session.plan();
  if (plan.steps.empty() || plan.steps[0].run != kWatchIndices.run) return false;
  const auto& watch = *static_cast<const WatchIndicesArgs*>(plan.steps[0].args);
  return session.frame().ptr<const BadIndex>(watch.bad)->found != 0;
}

/// Refuse such an index. Errors: kArg. Real-time: yes.
Refusal check_computed_indices(PlacedSession& session) RILL_NONBLOCKING;

}  // namespace rill
