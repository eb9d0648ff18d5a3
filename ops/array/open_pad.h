#pragma once

#include <string>
#include <vector>

#include "core/graph/nnef.h"

namespace rill::ops {

/// The padding of one axis. Amounts may be symbolic; negative amounts cut.
struct OpenPads {
  int axis = 0;
  Dim before;
  Dim after;
};

/// Amounts at both ends of an axis.
struct Amounts {
  Dim before;
  Dim after;
};

/// Cut entries off both ends of an axis; amounts are not negative.
Result<OutletId> cut_ends(LoadCtx& ctx, OutletId x, int axis, const Amounts& cuts);

/// Return whether one end may lose more entries than the axis has while the other end gains some:
/// then the axis must be padded first and cut afterwards.
bool cuts_take_added(const SymbolScope& scope, const Dim& extent, const Amounts& cuts,
                     const Amounts& added);

/// Pad axes by amounts that may be symbolic. `mode`: as in `Pad`. `border`: an element of the type
/// of x.
/// Stream: as for `Pad` if the amounts before are numbers and the amounts after are bounded.
/// Errors: as for `Pad`; kUnsupported if an amount has no bound and the mode is not "constant".
Result<OutletId> pad_open(LoadCtx& ctx, OutletId x, const std::vector<OpenPads>& pads,
                          const std::string& mode, const Tensor& border);

}  // namespace rill::ops
