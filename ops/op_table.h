#pragma once

#include <span>
#include <string_view>

#include "core/graph/nnef.h"

namespace rill::ops {

/// List the op modules of this build.
std::span<const OpModule* const> op_table();

/// List the operators that `RILL_OPS` excludes from this build: lines of `operator module`.
std::string_view ops_left_out();

/// Apply the fuse rules of this build's modules to a node, in the order of the table.
Status fuse_by_modules(const Op& op, Rewrite& rewrite);

}  // namespace rill::ops
