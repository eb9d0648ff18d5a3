#pragma once

#include "core/graph/graph.h"

namespace rill::transforms {

/// Quantise the weights of matrix products to Q4_0: constant matrices, unit axes in front of them
/// or not, whose summed axis holds whole blocks of 32. What is summed over the other axis is
/// transposed. Bodies of loops stay as they are.
/// A block has one scale, its element farthest from 0 divided by -8 and rounded to f16, and 4 bits
/// for each element: floor(x / scale + 8.5), at most 15.
/// Source: tract, transform `block_quant`; GGML, `quantize_row_q4_0_ref`.
Result<Graph> with_block_quantised_weights(const Graph& graph);

}  // namespace rill::transforms
