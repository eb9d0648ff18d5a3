// Softmax of masked scores. The reader makes the multiplication, the mask and the softmax.
// Source: tract, `tract_transformers_scaled_masked_softmax`.

#include <cmath>

#include "ops/array/common.h"
#include "ops/math/wiring.h"
#include "ops/nn/softmax.h"

namespace rill::ops {
namespace {

Result<Value> load(LoadCtx& ctx) {
  RILL_ASSIGN(const float scale, ctx.number("scale"));
  RILL_ASSIGN(const bool zero_masked, ctx.boolean("post_softmax_mask"));
  RILL_CHECK(scale != 0.0F, "scale 0: expected another number");
  Wiring w(ctx);
  const OutletId x = w.arg("input");
  OutletId mask = w.arg("mask");
  if (!w.ok()) return w.take_status();
  const DType type = w.dtype(x);
  const int rank = w.rank(x);
  RILL_CHECK(rank >= 1, "input ", w.fact(x), ": expected at least one axis");
  if (!is_float(type)) return fail(Code::kDType, "input ", w.fact(x), ": expected floats");
  const bool boolean = w.dtype(mask) == DType::kBool;
  if (!boolean && w.dtype(mask) != type) {
    return fail(Code::kDType, "mask ", w.fact(mask), ": expected bool, or the type of the input");
  }
  if (zero_masked && !boolean) {
    return fail(Code::kDType, "post_softmax_mask with mask ", w.fact(mask), ": expected bool");
  }
  RILL_CHECK(w.rank(mask) <= rank, "mask ", w.fact(mask), " for input ", w.fact(x));
  mask = w.leading_axes(mask, rank);
  OutletId scores = w.times(x, w.cast(w.number(scale), type));
  if (boolean) {
    scores = w.select(mask, scores, w.cast(w.number(-INFINITY), type));
  } else {
    scores = w.plus(scores, mask);
  }
  const std::vector<int64_t> last{rank - 1};
  const OutletId weights = w.add(make_op<Softmax>(last, false), {scores});
  if (!zero_masked) return w.done(weights);
  return w.done(w.select(mask, weights, w.cast(w.number(0.0F), type)));
}

constexpr NnefOp kOps[] = {
    {"tract_transformers",
     "fragment tract_transformers_scaled_masked_softmax(input: tensor<scalar>, mask: tensor<?>,"
     " scale: scalar, post_softmax_mask: logical = false) -> (output: tensor<scalar>);",
     load},
};

}  // namespace

extern const OpModule masked_softmax_module;
const OpModule masked_softmax_module = {"masked_softmax", kOps};

}  // namespace rill::ops
