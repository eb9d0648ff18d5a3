#pragma once

#include <vector>

#include "core/graph/onnx.h"
#include "ops/nn/window.h"

namespace rill::ops {

/// Whether `auto_pad` defines the padding, or has another meaning for the operator.
enum class WindowPads : uint8_t { kAutomatic, kAsWritten };

/// Read the window of a convolution or pool: `strides`, `dilations` where declared, `pads` and,
/// where declared, `auto_pad`, for input [N, C, spatial...].
/// Errors: kShape for counts that do not fit; kUnsupported for SAME_LOWER whose padding depends on
/// an open extent; kArg for an unknown `auto_pad`.
Result<Window> onnx_window(OnnxCtx& ctx, std::vector<int64_t> kernel, const Fact& input,
                           WindowPads pads = WindowPads::kAutomatic);

/// As above. Where the padding of SAME_LOWER depends on an open extent, put frames of `border`, an
/// element of the type of x, around x instead.
Result<Window> onnx_padded_window(OnnxCtx& ctx, std::vector<int64_t> kernel, const Tensor& border,
                                  OutletId* x);

/// Assert that the second axis of an input, of symbolic extent, has the channels of a filter, a
/// number that the file states nowhere else. Errors: kShape.
Status take_channels(OnnxCtx& ctx, OutletId input, const Dim& channels);

/// Pad the end so that the last window that begins inside, or in the padding in front, is whole.
void onnx_round_up(const Fact& input, Window* window);

/// A list per spatial axis as operators of NNEF take it, with two entries in front for batch and
/// channels; and the padding of a window.
Value onnx_list(const std::vector<int64_t>& spatial);
Value onnx_padding(const Window& window);

}  // namespace rill::ops
