#pragma once

#include <string_view>

#include "core/graph/nnef.h"

namespace rill::ops {

/// Add a product of quantised numbers while loading; its output has the type that graph.quant asks
/// for, or holds the sums as QI32.
Result<Value> load_quant_product(LoadCtx& ctx, std::string_view expr, OutletId a, OutletId b);

}  // namespace rill::ops
