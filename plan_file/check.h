#pragma once

#include "core/base/status.h"
#include "core/run/plan.h"
#include "plan_file/limits.h"

namespace rill::plan_file {

/// Check a plan that anybody may have written: its numbers fit together, it costs no more than the
/// limits say, and each step stays inside of its buffers, by what its kind says it touches. In time
/// linear in the records, and in the tables that steps have. The records were read within their
/// ranges (core/run/plan_records.h).
/// Errors: kParse; kNoMem for a plan that costs more than the limits; kUnsupported for an output
/// that lags too many steps.
Result<Cost> check(const Plan& plan, const Limits& limits = {});

/// Errors: kNoMem for a file of more bytes than the limits.
Status check_size(int64_t file_bytes, const Limits& limits);

}  // namespace rill::plan_file
