#pragma once

#include "core/base/status.h"
#include "core/graph/streaming.h"
#include "core/run/plan.h"

namespace rill {

/// Write the streaming of inputs and outputs, which must be known, into a plan. Errors: kShape if
/// the stated lengths contradict each other.
Status describe_streams(const Streaming& streaming, Plan* plan);

}  // namespace rill
