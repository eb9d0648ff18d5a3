#pragma once

#include <string>

#include "cli/options.h"
#include "plan_file/read.h"

namespace rill::cli {

/// Print inputs, outputs, targets, sizes and properties of a compiled model.
void print_plan(const plan_file::OpenedPlan& opened);

/// As above, as JSON.
std::string plan_json(const std::string& file, const plan_file::OpenedPlan& opened);

}  // namespace rill::cli
