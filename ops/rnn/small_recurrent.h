#pragma once

#include "core/exec/lowering.h"
#include "ops/rnn/recurrent.h"
#include "ops/rnn/recurrent_step.h"

namespace rill::ops {

/// Pack the weights of a layer that projects its input itself.
void pack_small_layer(Lowering& lowering, const Recurrent& op, RecurrentLayer* layer);

/// Emit the step of a layer that projects its input itself.
void emit_small_layer(Lowering& lowering, RecurrentCell cell, const RecurrentLayer& layer,
                      Given<Touched> reads, Given<Touched> writes);

}  // namespace rill::ops
