#pragma once

#include <span>
#include <string>

#include "core/exec/property.h"
#include "plan_file/write.h"

namespace rill::cli {

/// Write the plan as a C file and its header, for `--emit-c`; nothing if `to` is empty. `model`:
/// the path that the file names.
/// Errors: kArg for several targets; kUnsupported for steps without C, with node and remedy.
Status write_emitted(const std::string& to, const std::string& model,
                     std::span<const plan_file::TargetPlan> plans,
                     std::span<const Property> properties);

}  // namespace rill::cli
