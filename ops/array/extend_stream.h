#pragma once

#include "core/graph/pulse.h"

namespace rill::ops {

/// Constant frames before and after a stream.
struct StreamEnds {
  int64_t before = 0;
  Tensor first;  ///< of rank 0, or a frame of extent 1 on the streaming axis
  int64_t after = 0;
  Tensor last;
};

/// Pad a stream with constant frames without moving data. Frames before the stream replace invalid
/// positions, or become virtual first frames. Frames after it overwrite the positions past its end.
/// The caller sets `stream->dim`.
Result<OutletId> extend_stream(PulseBuilder& b, OutletId wire, StreamFact* stream,
                               const StreamEnds& ends);

}  // namespace rill::ops
