#pragma once

#include "api/include/rill/rill.h"
#include "core/base/nonblocking.h"

namespace rill::api {

/// The mode of a stream: pulse by pulse, or by pushing frames. Open: undecided.
enum class Drive : uint8_t { kOpen, kSteps, kPushes };

/// The session states that calls distinguish. docs/sessions.md describes each.
enum class SessionState : uint8_t {
  kWhole,  ///< of a plan that does not stream, always
  kNew,
  kStepped,
  kPushed,
  kEnded,  ///< by a state that was loaded: nothing waits; the tail comes by steps or by pulls
  kSteppedToEnd,
  kPushedToEnd,
};
SessionState state_of(const rill_session& session) RILL_NONBLOCKING;

/// The calls that some session state refuses.
enum class Call : uint8_t { kRun, kStep, kPartial, kFlush, kPush, kPull, kFinish, kState };

/// Check whether a call is allowed now: else RILL_E_STATE. Changes nothing.
rill_status check_state(const char* function, Call call,
                        const rill_session& session) RILL_NONBLOCKING;
/// Record a successful call.
void pass_state(Call call, rill_session* session) RILL_NONBLOCKING;

}  // namespace rill::api
