#pragma once

#include <span>
#include <string_view>

#include "core/graph/nnef.h"

namespace rill::ops {

/// List the op rooms of this build.
std::span<const OpRoom* const> op_table();

/// List what `RILL_OPS` leaves out of this build: lines of `operator room`.
std::string_view ops_left_out();

/// Ask the rooms of this build for a faster form of the node of an op, in the order of the table.
Status fuse_by_rooms(const Op& op, Rewrite& rewrite);

}  // namespace rill::ops
