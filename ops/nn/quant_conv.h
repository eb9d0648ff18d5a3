#pragma once

#include "core/graph/nnef.h"
#include "ops/nn/window.h"

namespace rill::ops {

/// Add a quantised convolution while loading; its output has the type that graph.quant asks for,
/// or holds the sums.
Result<OutletId> load_quant_conv(LoadCtx& ctx, Window window, int64_t groups, OutletId x,
                                 OutletId w);

}  // namespace rill::ops
