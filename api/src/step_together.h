#pragma once

#include "api/include/rill/rill.h"
#include "api/src/errors.h"
#include "core/base/nonblocking.h"
#include "core/run/index_step.h"

namespace rill::api {

/// Check whether a step is allowed now.
rill_status check_session_step(const char* function,
                               const rill_session_step& step) RILL_NONBLOCKING;
/// Announce the end of a stream before its last step. Errors: RILL_E_SHAPE if the model is not
/// defined for that length.
rill_status announce_end(const rill_session_step& step) RILL_NONBLOCKING;
void take_end_back(const rill_session_step& step) RILL_NONBLOCKING;
/// Record the call, and return whether there is a step to run.
bool begin_step(const rill_session_step& step) RILL_NONBLOCKING;
/// Refuse the step that ran if its model computed an index out of range.
inline rill_status refuse_bad_index(PlacedSession& session) RILL_NONBLOCKING {
  return computed_bad_index(session) ? report(check_computed_indices(session)) : RILL_OK;
}

}  // namespace rill::api
