#pragma once

#include <span>
#include <string_view>

#include "core/graph/nnef.h"

namespace rill::ops {

/// List the op modules of this build.
std::span<const OpModule* const> op_table();

/// List what `RILL_OPS` leaves out of this build: lines of `operator module`.
std::string_view ops_left_out();

/// Ask the modules of this build for a faster form of the node of an op, in the order of the table.
Status fuse_by_modules(const Op& op, Rewrite& rewrite);

}  // namespace rill::ops
