#pragma once

#include "core/base/status.h"
#include "core/run/plan.h"
#include "plan_file/limits.h"

namespace rill::plan_file {

/// Check an untrusted plan: its numbers fit together, its cost is within the limits, and each step
/// stays inside its buffers, by the memory that its kind reports. The time is linear in the records
/// and in the tables of steps. The records were read within their ranges (core/run/plan_records.h).
/// Errors: kParse; kNoMem for a plan beyond the limits; kUnsupported for an output that lags too
/// many steps.
Result<Cost> check(const Plan& plan, const Limits& limits = {});

/// Refuse a file of more bytes than the limits. Errors: kNoMem.
Status check_size(int64_t file_bytes, const Limits& limits);

}  // namespace rill::plan_file
