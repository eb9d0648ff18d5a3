#pragma once

#include <optional>
#include <vector>

#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "core/graph/op.h"
#include "core/graph/pulse.h"

namespace rill::ops {

/// The names of a window's parts in a file, for errors.
struct WindowNames {
  const char* kernel = "kernel";
  const char* stride = "stride";
  const char* dilation = "dilation";
  const char* padding = "padding";
};

/// A window that slides over the spatial axes of [N, C, spatial...]: common to convolutions and
/// pools.
struct Window {
  std::vector<int64_t> kernel;  ///< taps per spatial axis
  std::vector<int64_t> stride;
  std::vector<int64_t> dilation;
  Pads padding;       ///< per spatial axis; unused while `same` holds
  bool same = false;  ///< pad so that the output has ceil(input / stride) frames

  int axes() const { return static_cast<int>(kernel.size()); }
  /// Return the frames that a window spans, from its first tap to its last one inclusive.
  int64_t extent(int axis) const RILL_NONBLOCKING;
  /// Errors: kShape if counts differ, an entry is not below 2^31, or the taps of all axes are more
  /// than 2^40. No sum or product of entries overflows then.
  Status check(int spatial_axes, const WindowNames& names = {}) const;
  Dim output(int axis, const Dim& input) const;
  /// Return the padding for an input extent; `same` puts the larger half at the end.
  std::pair<int64_t, int64_t> pads(int axis, int64_t input) const RILL_NONBLOCKING;
  /// Return padding that gives the windows of `same` for every input extent. Nothing if the part
  /// before depends on the extent. `larger_before`: the larger half comes first.
  std::optional<std::pair<int64_t, int64_t>> pads_of_any(int axis, bool larger_before) const;
  bool padded() const;
  /// Return the number of taps of all axes together; invalid if it overflows.
  Dim taps() const;
  void fields(FieldVisitor& visitor);
};

/// Read stride, dilation and padding as NNEF writes them; `skip` leading entries (batch and
/// channel, of pools) must be neutral and are dropped. An empty padding list means `same`.
Result<Window> load_window(LoadCtx& ctx, std::vector<int64_t> kernel, int skip);

/// Read the window of a pool: its `size`, which is 1 on batch and channel, and the rest as above.
Result<Window> load_pool_window(LoadCtx& ctx);

/// Fail unless the padding is with zeros, or ignored.
Status expect_constant_padding(LoadCtx& ctx);

/// Format as attributes: ", dilation = [..], stride = [..], padding = [..]", each beginning with
/// `skip` neutral entries.
std::string window_text(const Window& window, int skip, std::string_view before_padding = "");

/// Replace `same` by numbers if the input extents, or their remainders modulo the strides, are
/// known.
bool resolve_same(Window* window, const Fact& input, const SymbolScope* scope = nullptr);

/// Copy [N, C, spatial...] of f32 or bytes with channels innermost and borders of `value`. Return
/// the operand itself if its layout is right and the window has no padding.
Operand padded_rows(Lowering& lowering, const Operand& x, const Window& window, float value);
/// As above, with a value that a step computes: one element of the type of `x`.
Operand padded_rows(Lowering& lowering, const Operand& x, const Window& window,
                    const Operand& value);

/// Return the order [N, spatial..., C] for a rank.
std::vector<int> channels_last(int rank);

/// The maximum reach of a stream's windows in frames.
inline constexpr int64_t kMostReach = int64_t{1} << 26;

/// The role of the streaming axis in a windowed op.
struct StreamAxis {
  int spatial = -1;  ///< index among the spatial axes; -1 for the batch axis
};

/// Do the part of a streaming rule that windowed ops share: refuse channels, prepare the input, and
/// return in `pulsed` the window without padding on the streaming axis. `stream` becomes that of
/// the output. `padding_is_frames`: as in `StreamWindow`.
Result<OutletId> pulse_window(PulseBuilder& b, const Window& window, const Tensor& pad_value,
                              bool padding_is_frames, StreamFact* stream, Window* pulsed);

}  // namespace rill::ops
