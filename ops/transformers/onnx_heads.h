#pragma once

#include "ops/math/formula.h"

namespace rill::ops {

/// Queries, keys and values, [batch, heads, frames, size] each, and the masks of their scores.
struct OnnxHeads {
  OutletId q;
  OutletId k;
  OutletId v;
  OutletId mask;  ///< summand of the scores, or invalid
  OutletId bias;  ///< another one, or invalid
  bool causal = false;
  Dim past;  ///< keys before the first query
};

/// Reshape [batch, frames, heads * size] to [batch, heads, frames, size]. Errors: kShape.
Result<OutletId> split_heads(Formula& f, OutletId x, int64_t heads);

/// Return the term that an integer mask adds to the scores: `mask_filter_value` where it is 0.
/// Shapes: [batch, keys], [batch, queries, keys], or a list of ends per batch: [batch], [2 * batch]
/// with starts after them, or [3 * batch + 2] with the sums of queries and keys after them. Errors:
/// kUnsupported for others.
Result<OutletId> onnx_mask(OnnxCtx& ctx, Formula& f, OutletId mask, const OnnxHeads& heads);

/// Compute scaled scores, softmax and weighted sums, and join the heads again.
/// Errors: kUnsupported for one-way attention where some keys have no query.
Result<OutletId> onnx_attended(OnnxCtx& ctx, Formula& f, OnnxHeads heads);

/// Read an attention whose queries, keys and values are adjacent in one wire: `past`, `mask_index`
/// and the attributes. Return the output and, if requested, the keys and values for the next run.
Result<Value> onnx_attention(OnnxCtx& ctx, Formula& f, OutletId product);

}  // namespace rill::ops
