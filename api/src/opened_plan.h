#pragma once

#include "core/base/status.h"
#include "plan_file/limits.h"
#include "plan_file/map.h"
#include "plan_file/place.h"

namespace rill::api {

/// Check a compiled model and place its plan. librill finds the operators, too, so that errors can
/// name them; librill_run only finds the steps.
Result<plan_file::OpenedAlone> opened_plan(const plan_file::MappedFile& file,
                                           const plan_file::Limits& limits);

}  // namespace rill::api
