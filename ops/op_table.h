#pragma once

#include <span>
#include <string_view>

#include "core/graph/nnef.h"

namespace rill::ops {

/// List the op rooms of this build.
std::span<const OpRoom* const> op_table();

/// List what `RILL_OPS` leaves out of this build: lines of `operator room`.
std::string_view ops_left_out();

}  // namespace rill::ops
