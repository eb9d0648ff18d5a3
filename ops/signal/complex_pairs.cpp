// Complex numbers are pairs (re, im) on the last axis, so these conversions move nothing.
// Source: tract, `tract_core_complex_to_inner_dim` and `tract_core_inner_dim_to_complex`.

#include "core/graph/nnef.h"
#include "ops/array/common.h"

namespace rill::ops {
namespace {

Result<Value> load(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  const Fact& fact = ctx.fact(x);
  RILL_CHECK(fact.rank() >= 1 && fact.shape.back() == Dim(2), "input ", fact,
             ": expected pairs (re, im) on the last axis");
  if (!is_float(fact.dtype)) return fail(Code::kDType, "input ", fact, ": expected floats");
  return as_value(x);
}

constexpr NnefOp kOps[] = {
    {"tract_core",
     "fragment tract_core_complex_to_inner_dim(input: tensor<scalar>) -> (output: tensor<scalar>);",
     load},
    {"tract_core",
     "fragment tract_core_inner_dim_to_complex(input: tensor<scalar>) -> (output: tensor<scalar>);",
     load},
};

}  // namespace

extern const OpModule complex_pairs_module;
const OpModule complex_pairs_module = {"complex_pairs", kOps};

}  // namespace rill::ops
