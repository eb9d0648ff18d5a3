// Rotary position embedding. The reader makes the multiplications and the half rotation.
// Source: tract, `tract_transformers_apply_rope`; J. Su et al., RoFormer, 2021, section 3.4.2.

#include "ops/array/common.h"
#include "ops/math/wiring.h"

namespace rill::ops {
namespace {

Result<Value> load(LoadCtx& ctx) {
  Wiring w(ctx);
  const OutletId x = w.arg("input");
  const OutletId cos = w.arg("cos");
  const OutletId sin = w.arg("sin");
  if (!w.ok()) return w.take_status();
  const Fact& fact = w.fact(x);
  RILL_CHECK(fact.rank() >= 1, "input ", fact, ": expected at least one axis");
  const auto half = exact_div(fact.shape.back(), Dim(2));
  RILL_CHECK(half, "input ", fact, ": expected an even extent on the last axis");
  const int last = fact.rank() - 1;
  const Dim whole = fact.shape.back();
  const OutletId second = w.unary(UnaryKind::kNeg, w.slice(x, last, *half, whole));
  const OutletId rotated = w.concat({second, w.slice(x, last, Dim(0), *half)}, last);
  return w.done(w.plus(w.times(x, cos), w.times(rotated, sin)));
}

constexpr NnefOp kOps[] = {
    {"tract_transformers",
     "fragment tract_transformers_apply_rope(input: tensor<scalar>, cos: tensor<scalar>,"
     " sin: tensor<scalar>) -> (output: tensor<scalar>);",
     load},
};

}  // namespace

extern const OpModule rope_module;
const OpModule rope_module = {"rope", kOps};

}  // namespace rill::ops
