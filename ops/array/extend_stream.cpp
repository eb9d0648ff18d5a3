#include "ops/array/extend_stream.h"

#include <cstring>

#include "core/tensor/uniform.h"
#include "ops/array/common.h"
#include "ops/array/concat.h"

namespace rill::ops {
namespace {

/// Return whether the virtual first frames have the given value.
bool same_pad_value(const TensorPtr& pad_value, const Tensor& value) {
  if (!pad_value) return has_zero_bits_only(value);
  if (pad_value->same_bits(value)) return true;
  const auto own = std::make_shared<const Tensor>(value);
  return is_uniform(pad_value) && is_uniform(own) &&
         first_element(*pad_value).same_bits(first_element(value));
}

/// Return `count` frames with the given value, and with the other extents of `neighbour`; nothing
/// if an extent is symbolic.
Result<std::optional<Tensor>> repeated(const Fact& neighbour, int axis, int64_t count,
                                       const Tensor& value) {
  std::vector<int64_t> shape;
  for (int i = 0; i < neighbour.rank(); ++i) {
    const auto extent = i == axis ? std::optional(count) : neighbour.dim(i).to_int();
    if (!extent) return std::optional<Tensor>();
    shape.push_back(*extent);
  }
  RILL_ASSIGN(Tensor out, Tensor::zeros(neighbour.dtype, shape, neighbour.q));
  View from = value.view();
  from.rank = out.rank();
  for (int i = value.rank(); i < from.rank; ++i) from.shape[static_cast<size_t>(i)] = 1;
  copy_view(stretched(from, out.view()), out.view());
  return std::optional(std::move(out));
}

/// Pad the prefix of a stream with constant frames before it, and materialise the result. Nothing
/// if there is no prefix.
Result<std::optional<OutletId>> extend_prefix(PulseBuilder& b, OutletId wire, StreamFact* stream,
                                              const StreamEnds& ends) {
  std::optional<OutletId> none;
  for (int i = 0; i < b.inputs(); ++i) {
    if (!b.stream(i) || !(b.wire(i) == wire)) continue;
    RILL_ASSIGN(const auto prefix, b.prefix_of(i));
    if (!prefix) return none;
    // If the stream may end within the prefix, the padding after it would replace some prefix
    // frames.
    if (ends.after > 0 && !b.scope().proves_non_negative(prefix->stream.dim)) return none;
    OutletId frames = prefix->frames;
    if (ends.before > 0) {
      RILL_ASSIGN(auto first, repeated(b.fact(frames), stream->axis, ends.before, ends.first));
      if (!first) return none;
      RILL_ASSIGN(const OutletId padding, b.konst("padding", *std::move(first)));
      RILL_ASSIGN(frames, b.add1("known", make_op<Concat>(stream->axis), {padding, frames}));
    }
    OutletId rest = prefix->rest;
    *stream = prefix->stream;
    if (ends.after > 0) {
      RILL_ASSIGN(rest, b.mask(rest, stream, false, true, ends.last));
    }
    RILL_ASSIGN(rest, b.prefix(rest, stream, frames, ends.before + prefix->count, {}));
    return std::optional(rest);
  }
  return none;
}

}  // namespace

Result<OutletId> extend_stream(PulseBuilder& b, OutletId wire, StreamFact* stream,
                               const StreamEnds& ends) {
  const bool unlike = ends.before > 0 && stream->has_prefix() &&
                      !same_pad_value(stream->pad_value, ends.first) &&
                      b.unread() < ends.before - stream->delay;
  if (unlike || (!stream->has_prefix() && ends.before + ends.after > 0)) {
    RILL_ASSIGN(const auto out, extend_prefix(b, wire, stream, ends));
    if (out) return *out;
  }
  if (unlike) {
    RILL_ASSIGN(wire, b.materialise(wire, stream));
  }
  // The end mask may delay the stream, so mask the prefix after it.
  if (ends.after > 0) {
    RILL_ASSIGN(wire, b.mask(wire, stream, false, true, ends.last));
  }
  if (ends.before > 0 && stream->delay > 0) {
    RILL_ASSIGN(wire, b.mask(wire, stream, true, false, ends.first));
  }
  if (ends.before > 0) {
    stream->delay -= ends.before;
    if (stream->has_prefix()) {
      stream->pad_value =
          has_zero_bits_only(ends.first) ? nullptr : std::make_shared<const Tensor>(ends.first);
    }
  }
  return wire;
}

}  // namespace rill::ops
