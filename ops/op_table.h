#pragma once

#include <span>

#include "core/graph/nnef.h"

namespace rill::ops {

/// List the op rooms of this build.
std::span<const OpRoom* const> op_table();

}  // namespace rill::ops
