#pragma once

#include "core/graph/pulse.h"

namespace rill::ops {

/// Constant frames in front of a stream and behind it.
struct StreamEnds {
  int64_t before = 0;
  Tensor first;  ///< of rank 0, or a frame of extent 1 on the streaming axis
  int64_t after = 0;
  Tensor last;
};

/// Put constant frames around a stream without moving data: those in front take the place of
/// positions that are not valid yet, or become the virtual first frames; those behind overwrite
/// what follows the end. The caller sets `stream->dim`.
Result<OutletId> extend_stream(PulseBuilder& b, OutletId wire, StreamFact* stream,
                               const StreamEnds& ends);

}  // namespace rill::ops
