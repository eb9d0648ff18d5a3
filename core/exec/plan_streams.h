#pragma once

#include "core/base/status.h"
#include "core/graph/streaming.h"
#include "core/run/plan.h"

namespace rill {

/// Write into a plan, whose inputs and outputs are known, how they stream.
/// Errors: kShape where the lengths that are told do not suit each other.
Status describe_streams(const Streaming& streaming, Plan* plan);

}  // namespace rill
