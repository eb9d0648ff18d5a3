#pragma once

#include <optional>

#include "core/graph/nnef.h"
#include "core/graph/rewrite.h"
#include "ops/math/wiring.h"
#include "ops/nn/conv.h"

namespace rill::ops {

/// Add a quantised convolution while loading; its output has the type of graph.quant, or without
/// one, contains the sums.
Result<OutletId> load_quant_conv(LoadCtx& ctx, Window window, int64_t groups, OutletId x,
                                 OutletId w);

/// A convolution of bytes minus their zero points. A zero point is one number; no wire means 0.
struct ByteConv {
  Window window;
  int64_t groups = 1;
  OutletId x, x_zero;
  OutletId w, w_zero;
  OutletId bias;  ///< I32 [outputs], in units of the sums, or no wire
};

/// Return the largest magnitude in a bias of I32: 0 without a bias, nothing if it is not constant.
std::optional<int64_t> largest_start(const Wiring& wiring, OutletId bias);

/// Add an int8 convolution with exact I32 sums. Nothing if filters, bias or zero points are not
/// constant, if the zero points of a tensor differ, or if a sum may need more than 32 bits.
Result<std::optional<OutletId>> add_byte_conv(Wiring& wiring, const ByteConv& conv);

/// Add a convolution that a file writes in f64 by `add_byte_conv`, and return its sums in f64.
/// Nothing for other convolutions.
Result<std::optional<OutletId>> load_byte_conv(LoadCtx& ctx, const Window& window, int64_t groups,
                                               OutletId x, OutletId w);

/// Replace the current node, a cast to I32 or F32, and the f64 convolution that it reads by an int8
/// convolution, if this convolves bytes minus a zero point; the zero point may be computed. After
/// an f32 convolution of such bytes, mark a cast to I32 as one of integers that f32 represents.
Status take_as_bytes(const Conv& conv, const Node& producer, Rewrite& rewrite);

}  // namespace rill::ops
