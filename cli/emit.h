#pragma once

#include <span>

#include "cli/args.h"
#include "core/exec/property.h"
#include "plan_file/write.h"

namespace rill::cli {

/// Write the plan as a C file and its header if `--emit-c` asks for it.
/// Errors: kArg for several targets; kUnsupported for steps without C, with node and remedy.
Status write_emitted(const Args& args, std::span<const plan_file::TargetPlan> plans,
                     std::span<const Property> properties);

}  // namespace rill::cli
