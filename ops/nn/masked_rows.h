#pragma once

#include "core/graph/rewrite.h"

namespace rill::ops {

/// Take the softmax of the last axis together with the scale of its scores and the mask that is
/// added to them: softmax(scores * scale + mask). Other softmaxes stay unchanged.
Status fuse_masked_rows(Rewrite& rewrite);

}  // namespace rill::ops
