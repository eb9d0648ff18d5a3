#pragma once

#include "core/graph/rewrite.h"

namespace rill::ops {

/// Fuse a softmax over the last axis with the scale of its scores and the mask added to them:
/// softmax(scores * scale + mask). Other softmaxes stay unchanged.
Status fuse_masked_rows(Rewrite& rewrite);

}  // namespace rill::ops
