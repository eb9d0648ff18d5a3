#pragma once

#include "core/base/status.h"
#include "core/graph/streaming.h"
#include "core/run/plan.h"

namespace rill {

/// Set the streaming properties of the inputs and outputs of a plan. Errors: kShape if the declared
/// lengths contradict each other.
Status describe_streams(const Streaming& streaming, Plan* plan);

}  // namespace rill
