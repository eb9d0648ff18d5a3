// The gated unit of GPT-OSS, read as its minimum, clamp, sigmoid and multiplications.
// Source: tract, `tract_core_clamped_swiglu`.

#include <cmath>

#include "ops/array/common.h"
#include "ops/math/swiglu.h"

namespace rill::ops {

OutletId clamped_swiglu(Wiring& w, OutletId gate, OutletId up, float alpha, float limit) {
  const OutletId most = w.number(limit);
  const OutletId g = w.binary(BinaryKind::kMin, w.cast(gate, DType::kF32), most);
  const OutletId bounded = w.binary(BinaryKind::kMin, w.cast(up, DType::kF32), most);
  const OutletId u = w.binary(BinaryKind::kMax, bounded, w.number(-limit));
  const OutletId open = w.unary(UnaryKind::kSigmoid, w.times(g, w.number(alpha)));
  return w.times(w.plus(u, w.number(1.0F)), w.times(g, open));
}

namespace {

Result<Value> load(LoadCtx& ctx) {
  RILL_ASSIGN(const float alpha, ctx.number("alpha"));
  RILL_ASSIGN(const float limit, ctx.number("limit"));
  RILL_CHECK(std::isfinite(alpha) && std::isfinite(limit) && limit > 0.0F, "alpha ", alpha,
             ", limit ", limit, ": expected finite numbers, the limit above 0");
  Wiring w(ctx);
  const OutletId gate = w.arg("gate");
  const OutletId up = w.arg("up");
  if (!w.ok()) return w.take_status();
  RILL_CHECK(w.fact(gate).shape == w.fact(up).shape, "gate ", w.fact(gate), ", up ", w.fact(up),
             ": expected one shape");
  if (!is_float(w.dtype(gate)) || !is_float(w.dtype(up))) {
    return fail(Code::kDType, "gate ", w.fact(gate), ", up ", w.fact(up), ": expected floats");
  }
  return w.done(clamped_swiglu(w, gate, up, alpha, limit));
}

constexpr NnefOp kOps[] = {
    {"tract_core",
     "fragment tract_core_clamped_swiglu(gate: tensor<scalar>, up: tensor<scalar>, alpha: scalar,"
     " limit: scalar) -> (output: tensor<scalar>);",
     load},
};

}  // namespace

extern const OpModule swiglu_module;
const OpModule swiglu_module = {"swiglu", kOps};

}  // namespace rill::ops
