#pragma once

#include <string>
#include <vector>

#include "core/graph/nnef.h"

namespace rill::ops {

/// The padding before and after one axis. Amounts may be symbolic; negative ones cut.
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
/// then pad the axis first and cut afterwards.
bool cuts_take_added(const SymbolScope& scope, const Dim& extent, const Amounts& cuts,
                     const Amounts& added);

/// Pad axes by amounts that may depend on sizes, as `Pad` does with numbers. `mode` is one of
/// `Pad`; `border` is an element of the type of x.
/// Stream: as `Pad` if the amounts before are numbers and those after are bounded.
/// Errors: kUnsupported for other modes than "constant" where an amount has no bound; those of
/// `Pad`.
Result<OutletId> pad_open(LoadCtx& ctx, OutletId x, const std::vector<OpenPads>& pads,
                          const std::string& mode, const Tensor& border);

}  // namespace rill::ops
