#pragma once

#include <string>
#include <vector>

#include "core/graph/nnef.h"

namespace rill::ops {

/// Amounts in front of and behind one axis. They may have symbols; below 0 they cut.
struct OpenPads {
  int axis = 0;
  Dim before;
  Dim after;
};

/// Pad axes by amounts that may depend on sizes, as `Pad` does with numbers. `mode` is one of
/// `Pad`; `border` is an element of the type of x.
/// Stream: as `Pad` where the amounts in front are numbers and those behind have a bound.
/// Errors: kUnsupported for other modes than "constant" where an amount has no bound; those of
/// `Pad`.
Result<OutletId> pad_open(LoadCtx& ctx, OutletId x, const std::vector<OpenPads>& pads,
                          const std::string& mode, const Tensor& border);

}  // namespace rill::ops
