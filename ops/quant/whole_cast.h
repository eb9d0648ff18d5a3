#pragma once

#include "core/graph/rewrite.h"

namespace rill::ops {

/// Mark a cast to bytes of what was rounded and limited to them: nothing is left to round then.
Status fuse_whole_cast(Rewrite& rewrite);

}  // namespace rill::ops
