// Rounding to powers of two. The reader makes the logarithms, the limits and the power:
//   y = sign(x) 2^q
//   q = round(clamp(log2(|x|), m - (2^bits - 1), m))
//   m = ceil(log2(max))
// Source: NNEF 1.0, `logarithmic_quantize`.

#include <cmath>

#include "ops/array/common.h"
#include "ops/math/wiring.h"

namespace rill::ops {
namespace {

OutletId log2_of(Wiring& w, OutletId x) {
  return w.binary(BinaryKind::kDiv, w.unary(UnaryKind::kLn, x), w.number(std::log(2.0F)));
}

Result<Value> load(LoadCtx& ctx) {
  RILL_ASSIGN(const int64_t bits, ctx.integer("bits"));
  RILL_CHECK(bits >= 1 && bits <= 24, "bits ", bits, ": expected 1 to 24");
  Wiring w(ctx);
  const OutletId x = w.arg("x");
  const OutletId most = w.unary(UnaryKind::kCeil, log2_of(w, w.arg("max")));
  const OutletId least = w.minus(most, w.number(static_cast<float>((int64_t{1} << bits) - 1)));
  const OutletId size = log2_of(w, w.unary(UnaryKind::kAbs, x));
  const OutletId bounded =
      w.binary(BinaryKind::kMax, w.binary(BinaryKind::kMin, size, most), least);
  const OutletId power =
      w.binary(BinaryKind::kPow, w.number(2.0F), w.unary(UnaryKind::kRound, bounded));
  return w.done(w.times(w.unary(UnaryKind::kSign, x), power));
}

constexpr NnefOp kOps[] = {
    {"tract_nnef",
     "fragment logarithmic_quantize(x: tensor<scalar>, max: tensor<scalar>, bits: integer)"
     " -> (y: tensor<scalar>);",
     load},
};

}  // namespace

extern const OpModule logarithmic_module;
const OpModule logarithmic_module = {"logarithmic", kOps};

}  // namespace rill::ops
