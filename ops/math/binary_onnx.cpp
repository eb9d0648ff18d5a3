// Reads ONNX's operators on two tensors.

#include <algorithm>
#include <optional>

#include "core/graph/onnx.h"
#include "ops/array/common.h"
#include "ops/array/symbolic.h"
#include "ops/math/formula.h"
#include "ops/math/numpy.h"

namespace rill::ops {
namespace {

/// Refuse arithmetic on bools, which the standard does not define.
Status expect_numbers(OnnxCtx& ctx, BinaryKind kind, OutletId a, OutletId b) {
  const bool bools =
      ctx.fact(a).dtype == DType::kBool && ctx.fact(b).dtype == DType::kBool;
  if (!is_arithmetic(kind) || !bools) return {};
  return fail(Code::kDType, "operands ", ctx.fact(a), " and ", ctx.fact(b), ": expected numbers")
      .hint("Export it with And or Or, or cast the operands to the type that is meant");
}

template <BinaryKind kKind>
Result<Value> binary(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId a, ctx.wire("A"));
  RILL_ASSIGN(const OutletId b, ctx.wire("B"));
  RILL_TRY(expect_numbers(ctx, kKind, a, b));
  return as_value(numpy_binary(ctx, kKind, a, b));
}

/// Return whether all elements of a constant are sizes >= `least` for all values of the symbols.
bool is_at_least(OnnxCtx& ctx, const Fact& fact, int64_t least) {
  if (!fact.konst) return false;
  for (int64_t i = 0; i < fact.konst->volume(); ++i) {
    const auto size = element_as_dim(*fact.konst, i);
    if (!size.ok() || !ctx.graph().scope.proves_ge(*size, Dim(least))) return false;
  }
  return true;
}

/// Return the size in a constant of one element; nothing for other wires.
std::optional<Dim> only_size(const Fact& fact) {
  if (!fact.konst || fact.konst->volume() != 1) return std::nullopt;
  auto size = element_as_dim(*fact.konst, 0);
  return size.ok() ? std::optional<Dim>(std::move(size).value()) : std::nullopt;
}

/// Simplify a size, or a multiple of it, divided by its number of windows of k frames: S / (S / 8)
/// becomes 8. This asserts that the size consists of whole windows. Nothing for other quotients.
std::optional<Dim> by_windows(OnnxCtx& ctx, const Fact& a, const Fact& b) {
  const auto whole = only_size(a);
  const auto count = only_size(b);
  const DimSum* sum = count ? count->sum() : nullptr;
  const bool alone = sum && sum->constant == 0 && sum->terms.size() == 1 &&
                     sum->terms[0].coefficient == 1 && sum->terms[0].factors.size() == 1;
  if (!whole || !alone || sum->terms[0].factors[0]->kind != DimAtom::Kind::kDiv) {
    return std::nullopt;
  }
  const DimAtom& windows = *sum->terms[0].factors[0];
  const auto times = exact_div(*whole, windows.args[0]);
  const std::string claim = str_cat(windows.args[0], " == ", Dim(windows.divisor) * *count);
  if (!times || !ctx.graph().scope.assert_text(claim).ok()) return std::nullopt;
  return *times * Dim(windows.divisor);
}

/// Divide and round toward zero, as ONNX does for integers. Quotients of sizes round down. If a
/// size may be negative, divide each sign separately.
OutletId quotient(OnnxCtx& ctx, Formula& f, OutletId a, OutletId b) {
  if (!f.ok() || f.fact(a).dtype != DType::kDim) return f.over(a, b);
  if (const auto frames = by_windows(ctx, f.fact(a), f.fact(b))) {
    OutletId out = f.number(*frames, a);
    const int rank = std::max(f.rank(a), f.rank(b));
    while (f.ok() && f.rank(out) < rank) out = f.with_axis(out, 0);
    return out;
  }
  const bool positive = is_at_least(ctx, f.fact(b), 1);
  if (positive && is_at_least(ctx, f.fact(a), 0)) return f.over(a, b);
  const auto minus = [&](OutletId x) { return f.minus(f.number(0.0, x), x); };
  const OutletId written = b;
  if (!positive) b = minus(b);
  if (!positive && f.ok() && !is_at_least(ctx, f.fact(b), 1)) {
    const TensorPtr& known = f.fact(written).konst;
    std::string by = "an unknown value";
    std::string claim = "S >= 16";
    if (known && known->volume() == 1) {
      const auto size = element_as_dim(*known, 0);
      if (size.ok()) by = str_cat(*size);
      if (size.ok()) claim = assertion_for(*size - Dim(1));
    }
    f.fail_with(fail(Code::kUnsupported, "a size is divided by ", by,
                     ", whose sign is open: expected a number")
                    .hint(str_cat("Assert it, as in --assert '", claim, "', or set its symbols")));
    return b;
  }
  const auto part = [&](OutletId x) {
    return f.over(f.binary(BinaryKind::kMax, x, f.number(0.0, x)), b);
  };
  const OutletId above = part(a);
  const OutletId below = part(minus(a));
  return positive ? f.minus(above, below) : f.minus(below, above);
}

/// Convert the operands of a division of an integer by a size to one type. A constant integer
/// becomes a size; for a computed integer, the size takes its type.
Status unify_with_size(OnnxCtx& ctx, OutletId* a, OutletId* b) {
  const Fact& dividend = ctx.graph().fact(*a);
  const DType type = dividend.dtype;
  if (!is_int(type) || ctx.graph().fact(*b).dtype != DType::kDim) return {};
  if (dividend.konst) {
    RILL_ASSIGN(*a, cast_to(ctx, *a, DType::kDim));
  } else {
    RILL_ASSIGN(*b, cast_to(ctx, *b, type));
  }
  return {};
}

Result<Value> divide(OnnxCtx& ctx) {
  RILL_ASSIGN(OutletId a, ctx.wire("A"));
  RILL_ASSIGN(OutletId b, ctx.wire("B"));
  const bool by_size = ctx.graph().fact(b).dtype == DType::kDim;
  if (ctx.graph().fact(a).dtype != DType::kDim && !by_size) return binary<BinaryKind::kDiv>(ctx);
  RILL_TRY(unify_with_size(ctx, &a, &b));
  Formula f(ctx);
  return f.value(quotient(ctx, f, a, b));
}

/// Compute Max or Min of one tensor or more.
template <BinaryKind kKind>
Result<Value> variadic(OnnxCtx& ctx) {
  RILL_ASSIGN(const std::vector<OutletId> list, ctx.wires("inputs"));
  RILL_CHECK(!list.empty(), "expected one input or more");
  OutletId out = list[0];
  for (size_t i = 1; i < list.size(); ++i) {
    RILL_TRY(expect_numbers(ctx, kKind, out, list[i]));
    RILL_ASSIGN(out, numpy_binary(ctx, kKind, out, list[i], i + 1 < list.size() ? "part" : ""));
  }
  return as_value(out);
}

Result<Value> mean(OnnxCtx& ctx) {
  RILL_ASSIGN(const std::vector<OutletId> list, ctx.wires("inputs"));
  RILL_CHECK(!list.empty(), "expected one input or more");
  Formula f(ctx);
  OutletId sum = list[0];
  for (size_t i = 1; i < list.size(); ++i) sum = f.plus(sum, list[i]);
  return f.value(f.over(sum, f.number(static_cast<double>(list.size()), sum)));
}

/// Return the remainder of a size divided by a positive number. Nothing for other operands, or if
/// the dividend may be negative and the remainder must keep its sign.
std::optional<Dim> remainder_of_size(Formula& f, OnnxCtx& ctx, OutletId a, OutletId b,
                                     bool of_dividend) {
  const TensorPtr& size = f.fact(a).konst;
  const TensorPtr& by = f.fact(b).konst;
  if (!size || !by || size->volume() != 1 || by->volume() != 1) return std::nullopt;
  const auto number = element_as_dim(*size, 0);
  const auto divisor = element_as_dim(*by, 0);
  const auto y = divisor.ok() ? divisor->to_int() : std::nullopt;
  if (!number.ok() || !y || *y < 1) return std::nullopt;
  if (of_dividend && !ctx.graph().scope.proves_ge(*number, Dim(0))) return std::nullopt;
  return *number - floor_div(*number, *y) * Dim(*y);
}

/// Return the remainder with the sign of the divisor, or of the dividend if `fmod` is set.
Result<Value> modulo(OnnxCtx& ctx) {
  Formula f(ctx);
  OutletId a = f.arg("A");
  OutletId b = f.arg("B");
  if (!f.ok()) return f.take_status();
  RILL_TRY(unify_with_size(ctx, &a, &b));
  RILL_ASSIGN(const bool of_dividend, ctx.boolean("fmod"));
  const DType type = f.fact(a).dtype;
  if (is_float(type)) {
    return f.value(f.binary(of_dividend ? BinaryKind::kFmod : BinaryKind::kRemainder, a, b));
  }
  if (type == DType::kDim) {
    if (const auto rest = remainder_of_size(f, ctx, a, b, of_dividend)) {
      OutletId wire = f.number(*rest, a);
      const int rank = std::max(f.rank(a), f.rank(b));
      while (f.ok() && f.rank(wire) < rank) wire = f.with_axis(wire, 0);
      return f.value(wire);
    }
  } else if (!is_int(type)) {
    return fail(Code::kDType, "operands of ", dtype_name(type), ": expected numbers");
  }
  if (of_dividend) return f.value(f.minus(a, f.times(quotient(ctx, f, a, b), b)));
  const OutletId rest = f.minus(a, f.times(f.over(a, b), b));
  const OutletId zero = f.number(0.0, rest);
  const OutletId differ = f.binary(BinaryKind::kXor, f.binary(BinaryKind::kLt, rest, zero),
                                   f.binary(BinaryKind::kLt, b, zero));
  const OutletId open = f.binary(BinaryKind::kNe, rest, zero);
  const OutletId moved = f.binary(BinaryKind::kAnd, differ, open);
  return f.value(f.select(moved, f.plus(rest, b), rest));
}

Result<Value> shift(OnnxCtx& ctx) {
  RILL_ASSIGN(const std::string direction, ctx.text("direction"));
  RILL_CHECK(direction == "LEFT" || direction == "RIGHT", "attribute \"direction\" is ",
             direction, ": expected LEFT or RIGHT");
  Formula f(ctx);
  const BinaryKind kind = direction == "LEFT" ? BinaryKind::kShl : BinaryKind::kShr;
  return f.value(f.binary(kind, f.arg("X"), f.arg("Y")));
}

Result<Value> prelu(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("X");
  OutletId slope = f.arg("slope");
  // Before opset 7, a slope with several numbers has one number per channel.
  if (ctx.opset() < 7 && f.rank(slope) == 1 && !(f.dim(slope, 0) == Dim(1))) {
    for (int axis = 2; axis < f.rank(x); ++axis) slope = f.with_axis(slope, 1);
  }
  const OutletId below = f.binary(BinaryKind::kLt, x, f.number(0.0, x));
  return f.value(f.select(below, f.times(slope, x), x));
}

/// Before opset 7, if the attribute `broadcast` is set, the axes of the second operand align with
/// those of the first from `axis`.
template <BinaryKind kKind>
Result<Value> aligned(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId a = f.arg("A");
  OutletId b = f.arg("B");
  if (!f.ok()) return f.take_status();
  RILL_TRY(expect_numbers(ctx, kKind, a, b));
  RILL_ASSIGN(const bool repeat, ctx.boolean("broadcast"));
  if (ctx.given("axis") && repeat) {
    RILL_ASSIGN(int64_t axis, ctx.integer("axis"));
    if (axis < 0) axis += f.rank(a);
    RILL_CHECK(axis >= 0 && axis + f.rank(b) <= f.rank(a), "operands of ", f.fact(a), " and ",
               f.fact(b), " from axis ", axis);
    for (int64_t rank = axis + f.rank(b); f.ok() && rank < f.rank(a); ++rank) {
      b = f.with_axis(b, f.rank(b));
    }
  }
  return f.value(f.binary(kKind, a, b));
}

#define RILL_ONNX_ALIGNED(name, kind)                                                           \
  {                                                                                             \
    "", 1, "fragment " name "(A: tensor<?>, B: tensor<?>, axis: integer = 0, "                  \
        "broadcast: logical = false, consumed_inputs: integer[] = []) -> (C: tensor<?>);",      \
        aligned<kind>                                                                           \
  }

#define RILL_ONNX_BINARY(since, name, kind) \
  { "", since, "fragment " name "(A: tensor<?>, B: tensor<?>) -> (C: tensor<?>);", binary<kind> }

const OnnxOp kOps[] = {
    RILL_ONNX_BINARY(7, "Add", BinaryKind::kAdd),
    RILL_ONNX_BINARY(7, "Sub", BinaryKind::kSub),
    RILL_ONNX_BINARY(7, "Mul", BinaryKind::kMul),
    {"", 7, "fragment Div(A: tensor<?>, B: tensor<?>) -> (C: tensor<?>);", divide},
    RILL_ONNX_BINARY(7, "Equal", BinaryKind::kEq),
    RILL_ONNX_BINARY(7, "Less", BinaryKind::kLt),
    RILL_ONNX_BINARY(12, "LessOrEqual", BinaryKind::kLe),
    RILL_ONNX_BINARY(7, "Greater", BinaryKind::kGt),
    RILL_ONNX_BINARY(12, "GreaterOrEqual", BinaryKind::kGe),
    RILL_ONNX_BINARY(7, "And", BinaryKind::kAnd),
    RILL_ONNX_BINARY(7, "Or", BinaryKind::kOr),
    RILL_ONNX_BINARY(7, "Xor", BinaryKind::kXor),
    RILL_ONNX_ALIGNED("Add", BinaryKind::kAdd),
    RILL_ONNX_ALIGNED("Sub", BinaryKind::kSub),
    RILL_ONNX_ALIGNED("Mul", BinaryKind::kMul),
    RILL_ONNX_ALIGNED("Div", BinaryKind::kDiv),
    RILL_ONNX_ALIGNED("Pow", BinaryKind::kPow),
    RILL_ONNX_ALIGNED("Equal", BinaryKind::kEq),
    RILL_ONNX_ALIGNED("Less", BinaryKind::kLt),
    RILL_ONNX_ALIGNED("Greater", BinaryKind::kGt),
    RILL_ONNX_ALIGNED("And", BinaryKind::kAnd),
    RILL_ONNX_ALIGNED("Or", BinaryKind::kOr),
    RILL_ONNX_ALIGNED("Xor", BinaryKind::kXor),
    RILL_ONNX_BINARY(18, "BitwiseAnd", BinaryKind::kBitAnd),
    RILL_ONNX_BINARY(18, "BitwiseOr", BinaryKind::kBitOr),
    RILL_ONNX_BINARY(18, "BitwiseXor", BinaryKind::kBitXor),
    {"", 11, "fragment BitShift(X: tensor<?>, Y: tensor<?>, direction: string) -> (Z: tensor<?>);",
     shift},
    {"", 10, "fragment Mod(A: tensor<?>, B: tensor<?>, fmod: logical = false) -> (C: tensor<?>);",
     modulo},
    {"", 6, "fragment PRelu(X: tensor<?>, slope: tensor<?>) -> (Y: tensor<?>);", prelu},
    {"", 1, "fragment Mean(inputs: tensor<?>[]) -> (mean: tensor<?>);", mean, Rounding::kOnce},
    {"", 6, "fragment Max(inputs: tensor<?>[]) -> (max: tensor<?>);", variadic<BinaryKind::kMax>},
    {"", 6, "fragment Min(inputs: tensor<?>[]) -> (min: tensor<?>);", variadic<BinaryKind::kMin>},
    {"", 6, "fragment Sum(inputs: tensor<?>[]) -> (sum: tensor<?>);", variadic<BinaryKind::kAdd>,
     Rounding::kOnce},
};

}  // namespace

extern const OnnxModule binary_onnx;
const OnnxModule binary_onnx = {"binary", kOps};

}  // namespace rill::ops
