#include "ops/array/extend_stream.h"

#include <cstring>

#include "core/tensor/uniform.h"
#include "ops/array/common.h"

namespace rill::ops {
namespace {

/// Tell whether the virtual first frames are of the given value.
bool same_fill(const TensorPtr& fill, const Tensor& value) {
  if (!fill) return has_zero_bits_only(value);
  if (fill->same_bits(value)) return true;
  const auto own = std::make_shared<const Tensor>(value);
  return is_uniform(fill) && is_uniform(own) &&
         first_element(*fill).same_bits(first_element(value));
}

}  // namespace

Result<OutletId> extend_stream(PulseBuilder& b, OutletId wire, StreamFact* stream,
                               const StreamEnds& ends) {
  if (ends.before > 0 && stream->has_prefix() && !same_fill(stream->fill, ends.first)) {
    RILL_ASSIGN(wire, b.materialise(wire, stream));
  }
  // The end mask may hold the stream back: what then stands in front is masked after it.
  if (ends.after > 0) {
    RILL_ASSIGN(wire, b.mask(wire, stream, false, true, ends.last));
  }
  if (ends.before > 0 && stream->delay > 0) {
    RILL_ASSIGN(wire, b.mask(wire, stream, true, false, ends.first));
  }
  if (ends.before > 0) {
    stream->delay -= ends.before;
    if (stream->has_prefix()) {
      stream->fill =
          has_zero_bits_only(ends.first) ? nullptr : std::make_shared<const Tensor>(ends.first);
    }
  }
  return wire;
}

}  // namespace rill::ops
