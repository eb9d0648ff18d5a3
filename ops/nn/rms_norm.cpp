// RMS norms. The reader makes a chain of the squares, the mean, the root and the multiplication;
// see `Precision`.
// Source: tract, `tract_core_rms_norm`, `tract_core_scaled_rms_norm`; B. Zhang and R. Sennrich,
// Root Mean Square Layer Normalization, 2019, equation 4.

#include "ops/array/axis_argument.h"
#include "ops/array/common.h"
#include "ops/math/wiring.h"

namespace rill::ops {
namespace {

/// Return x / sqrt(mean(x^2) + eps).
OutletId normalised(Wiring& w, OutletId x, int64_t axis, float eps) {
  const OutletId mean = w.mean(w.unary(UnaryKind::kSquare, x), {axis});
  return w.times(x, w.unary(UnaryKind::kRsqrt, w.plus(mean, w.number(eps))));
}

/// Return the float type that an argument names; `otherwise` if it is empty.
Result<DType> float_type(LoadCtx& ctx, std::string_view argument, DType otherwise) {
  RILL_ASSIGN(const std::string name, ctx.text(argument));
  if (name.empty()) return otherwise;
  const auto found = dtype_from_name(name);
  if (found && is_float(*found)) return *found;
  return fail(Code::kDType, argument, " \"", name, "\": expected a float type");
}

Status expect_floats(const Fact& x) {
  if (is_float(x.dtype)) return {};
  return fail(Code::kDType, "input ", x, ": expected floats");
}

Result<Value> load(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  RILL_TRY(expect_floats(ctx.fact(x)));
  RILL_ASSIGN(const int64_t axis, axis_argument(ctx, ctx.fact(x).rank()));
  RILL_ASSIGN(const float eps, ctx.number("eps"));
  Wiring w(ctx);
  return w.done(normalised(w, x, axis, eps));
}

Result<Value> load_scaled(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  RILL_TRY(expect_floats(ctx.fact(x)));
  RILL_ASSIGN(const int64_t written, ctx.integer("axis"));
  const int rank = ctx.fact(x).rank();
  RILL_ASSIGN(const int64_t axis, axis_in(written, rank));
  RILL_ASSIGN(const float eps, ctx.number("eps"));
  RILL_ASSIGN(const DType out, float_type(ctx, "out_dt", ctx.fact(x).dtype));
  RILL_ASSIGN(const DType rounded, float_type(ctx, "scale_dt", DType::kF32));
  const Dim features = ctx.fact(x).dim(static_cast<int>(axis));
  Wiring w(ctx);
  OutletId scale = w.cast(w.arg("scale"), DType::kF32);
  if (w.ok() && !(volume(w.fact(scale).shape) == features)) {
    return fail(Code::kShape, "scale ", w.fact(scale), ": expected ", features, " values");
  }
  std::vector<Dim> shape(static_cast<size_t>(rank), Dim(1));
  shape[static_cast<size_t>(axis)] = features;
  scale = w.reshape(scale, shape);
  // The arguments name these casts.
  const OutletId y = normalised(w, w.cast(x, DType::kF32), axis, eps);
  return w.done(w.cast(w.times(w.cast(w.cast(y, rounded), DType::kF32), scale), out));
}

constexpr NnefOp kOps[] = {
    {"tract_core",
     "fragment tract_core_rms_norm(input: tensor<scalar>, axis: integer, eps: scalar = 1e-6)"
     " -> (output: tensor<scalar>);",
     load},
    {"tract_transformers",
     "fragment tract_transformers_rms_norm(input: tensor<scalar>, axis: integer,"
     " eps: scalar = 1e-6) -> (output: tensor<scalar>);",
     load},
    {"tract_core",
     "fragment tract_core_scaled_rms_norm(input: tensor<scalar>, scale: tensor<scalar>,"
     " axis: integer, eps: scalar = 1e-6, out_dt: string = '', scale_dt: string = '')"
     " -> (output: tensor<scalar>);",
     load_scaled},
};

}  // namespace

extern const OpModule rms_norm_module;
const OpModule rms_norm_module = {"rms_norm", kOps};

}  // namespace rill::ops
