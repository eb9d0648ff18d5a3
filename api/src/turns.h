#pragma once

#include "api/include/rill/rill.h"
#include "core/base/nonblocking.h"

namespace rill::api {

/// Tell whether a turn may be taken now.
rill_status check_turn(const char* function, const rill_turn& turn) RILL_NONBLOCKING;
/// Announce the end of a stream whose turn is its last: kShape if the model has no output then.
rill_status announce_end(const rill_turn& turn) RILL_NONBLOCKING;
void take_end_back(const rill_turn& turn) RILL_NONBLOCKING;
/// Note that the turn is taken; tell whether there is a step to run.
bool begin_turn(const rill_turn& turn) RILL_NONBLOCKING;

}  // namespace rill::api
