#pragma once

#include "core/graph/rewrite.h"

namespace rill::ops {

/// Mark a cast to bytes of what was rounded: nothing but the limits of the type is left to do then.
Status fuse_whole_cast(Rewrite& rewrite);

}  // namespace rill::ops
