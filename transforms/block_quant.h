#pragma once

#include "core/graph/graph.h"

namespace rill::transforms {

/// Quantise the weights of matmuls to Q4_0: constant matrices, also with leading unit axes, whose
/// summed axis holds whole blocks of 32. A matrix summed over its other axis is transposed. Loop
/// bodies stay unchanged. A block has one scale, its element of largest magnitude divided by -8 and
/// rounded to f16, and 4 bits for each element: floor(x / scale + 8.5), at most 15.
/// Source: tract, transform `block_quant`; GGML, `quantize_row_q4_0_ref`.
Result<Graph> with_block_quantised_weights(const Graph& graph);

}  // namespace rill::transforms
