// Determines the types and ranks of elementwise operands at load time.

#include <algorithm>
#include <cmath>

#include "core/optim/precision.h"
#include "ops/array/axis_ops.h"
#include "ops/array/cast.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"
#include "ops/math/binary.h"
#include "ops/math/dims.h"

namespace rill::ops {
namespace {

int float_level(DType t) {
  switch (t) {
    case DType::kF16:
    case DType::kBF16:
      return 1;
    case DType::kF32:
      return 2;
    case DType::kF64:
      return 3;
    default:
      return 0;
  }
}

/// Return the smallest type that holds both; nothing if there is none.
std::optional<DType> super_type(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::kString || b == DType::kString) return DType::kString;
  if (a == DType::kDim && is_int(b)) return a;
  if (b == DType::kDim && is_int(a)) return b;
  if (float_level(a) > 0 && float_level(b) > 0) {
    if (float_level(a) == float_level(b)) return DType::kF32;
    return float_level(a) > float_level(b) ? a : b;
  }
  const bool same_sign =
      (is_signed_int(a) && is_signed_int(b)) || (is_unsigned_int(a) && is_unsigned_int(b));
  if (same_sign) return dtype_size(a) > dtype_size(b) ? a : b;
  return std::nullopt;
}

// f64 represents every integer up to here.
constexpr double kMostExact = int64_t{1} << 53;

struct Typed {
  DType dtype;
  QParams q;
};

/// Return whether an integer stays an integer when combined with these floats: they must be whole
/// constants, and the operator must give the same result in both types.
bool keeps_integers(BinaryKind kind, const Fact& floats, bool is_second) {
  if (!floats.konst || kind == BinaryKind::kDiv) return false;
  const double least = kind == BinaryKind::kPow ? 0.0 : -kMostExact;
  if (kind == BinaryKind::kPow && !is_second) return false;
  for (int64_t i = 0; i < floats.konst->volume(); ++i) {
    const auto element = element_as_double(*floats.konst, i);
    if (!element.ok() || !(*element >= least && *element <= kMostExact)) return false;
    if (*element != std::floor(*element)) return false;
  }
  return true;
}

/// Return the type in which PyTorch combines an integer and a float; PyTorch's NNEF exporter omits
/// the types of some operations, such as `arange`.
std::optional<DType> type_in_pytorch(BinaryKind kind, const Fact& a, const Fact& b) {
  const bool a_whole = is_whole(a.dtype);
  const Fact& whole = a_whole ? a : b;
  const Fact& floats = a_whole ? b : a;
  if (!is_float(floats.dtype) || !is_whole(whole.dtype)) return std::nullopt;
  return keeps_integers(kind, floats, a_whole) ? whole.dtype : floats.dtype;
}

Result<Typed> operating_type(LoadCtx& ctx, BinaryKind kind, OutletId wire_a, OutletId wire_b) {
  const Fact& a = ctx.fact(wire_a);
  const Fact& b = ctx.fact(wire_b);
  if (means_pytorch(ctx.graph())) {
    if (const auto type = type_in_pytorch(kind, a, b)) return Typed{*type, {}};
  }
  const auto no_type = [&] {
    return fail(Code::kDType, "no super type for ", dtype_name(a.dtype), " and ",
                dtype_name(b.dtype))
        .hint("Write the number with a decimal point, or cast one of the operands");
  };
  if (a.dtype == b.dtype) return Typed{a.dtype, a.q};
  const bool dims = a.dtype == DType::kDim || b.dtype == DType::kDim;
  const bool strings = a.dtype == DType::kString || b.dtype == DType::kString;
  if (!dims && !strings) {
    const bool a_one = a.konst && a.konst->volume() == 1;
    const bool b_one = b.konst && b.konst->volume() == 1;
    if (a_one != b_one) return a_one ? Typed{b.dtype, b.q} : Typed{a.dtype, a.q};
    if ((a.konst != nullptr) != (b.konst != nullptr)) {
      return a.konst ? Typed{b.dtype, b.q} : Typed{a.dtype, a.q};
    }
  }
  const auto super = super_type(a.dtype, b.dtype);
  const auto is_one = [](const Fact& fact) { return fact.konst && fact.konst->volume() == 1; };
  // Without a common type, if both are single numbers, the first takes the type of the second.
  if (!super && !dims && is_one(a) && is_one(b)) return Typed{b.dtype, b.q};
  if (!super) return no_type();
  return Typed{*super, {}};
}

/// Return whether a constant overflows when it is cast to `type`, f16 or bf16.
bool leaves_range(const Fact& operand, DType type) {
  return operand.konst && is_reduced_float(type) && is_float(operand.dtype) &&
         !is_reduced_float(operand.dtype) && !fits(*operand.konst, type, Fit::kEveryElement);
}

/// Compute an operation with such a constant in f32. The cast moves to the end of a chain of
/// operations.
Result<OutletId> load_binary_in_f32(LoadCtx& ctx, BinaryKind kind, DType type, OutletId a,
                                    OutletId b, std::string_view suffix) {
  RILL_ASSIGN(a, cast_to(ctx, a, DType::kF32));
  RILL_ASSIGN(b, cast_to(ctx, b, DType::kF32));
  RILL_ASSIGN(const OutletId wide, load_binary(ctx, kind, a, b, "in_f32"));
  if (ctx.fact(wide).dtype != DType::kF32) return wide;
  return ctx.add1(cast_at_end(type), {wide}, suffix);
}

}  // namespace

Result<std::vector<OutletId>> align_ranks(LoadCtx& ctx, std::vector<OutletId> wires) {
  int rank = 0;
  for (const OutletId& wire : wires) rank = std::max(rank, ctx.fact(wire).rank());
  for (OutletId& wire : wires) {
    while (ctx.fact(wire).rank() < rank) {
      RILL_ASSIGN(wire, ctx.add1(make_op<AddAxis>(ctx.fact(wire).rank()), {wire}, "aligned"));
    }
  }
  return wires;
}

Result<OutletId> load_binary(LoadCtx& ctx, BinaryKind kind, OutletId a, OutletId b,
                             std::string_view suffix) {
  RILL_ASSIGN(const Typed type, operating_type(ctx, kind, a, b));
  if (leaves_range(ctx.fact(a), type.dtype) || leaves_range(ctx.fact(b), type.dtype)) {
    return load_binary_in_f32(ctx, kind, type.dtype, a, b, suffix);
  }
  if (ctx.fact(a).dtype != type.dtype) {
    RILL_ASSIGN(a, cast_to(ctx, a, type.dtype, type.q));
  }
  if (ctx.fact(b).dtype != type.dtype) {
    RILL_ASSIGN(b, cast_to(ctx, b, type.dtype, type.q));
  }
  RILL_ASSIGN(const std::vector<OutletId> aligned, align_ranks(ctx, {a, b}));
  // For booleans, PyTorch's product is a conjunction, and its sum a disjunction.
  if (type.dtype == DType::kBool && kind == BinaryKind::kMul) kind = BinaryKind::kAnd;
  if (type.dtype == DType::kBool && kind == BinaryKind::kAdd) kind = BinaryKind::kOr;
  QParams q = type.q;
  const auto quant = ctx.quant();
  if (quant && quant->dtype == type.dtype) q = quant->q;
  auto op = draft_op<Binary>(kind, is_quantised(type.dtype) ? q : QParams{});
  const Fact& x = ctx.fact(aligned[0]);
  const Fact& y = ctx.fact(aligned[1]);
  if (type.dtype == DType::kDim && is_comparison(kind) && x.konst && y.konst) {
    // The assertions of the model decide comparisons that the op alone cannot.
    const Fact facts[] = {x, y};
    RILL_ASSIGN(const Facts out, op->infer(facts));
    RILL_ASSIGN(const std::vector<int64_t> shape, out[0].concrete_shape());
    RILL_ASSIGN(Tensor truth, Tensor::zeros(DType::kBool, shape));
    const View view = truth.view();
    const Status decided =
        combine_dim_views(ctx.graph().scope, kind, stretched(x.konst->view(), view),
                          stretched(y.konst->view(), view), view);
    if (decided.ok()) return ctx.konst(std::move(truth), suffix);
  }
  return ctx.add1(std::move(op), aligned, suffix);
}

namespace {

/// Returns tract's names for the nodes of a binary operation, so that names in dumps and files of
/// both engines agree. In order, they are the numbers in the statement, casts, added axes, and the
/// operation. The first has the assigned name; the others are numbered from 0.
class WiredNames {
 public:
  std::string take() { return count_++ == 0 ? "" : str_cat(count_ - 2); }

 private:
  int count_ = 0;
};

}  // namespace

Result<OutletId> load_written_binary(LoadCtx& ctx, BinaryKind kind, OutletId a, OutletId b) {
  // A file that tract or rill wrote already has such names, and keeps them.
  const bool written = ctx.graph().properties.contains("tract_nnef_ser_version");
  if (written) return load_binary(ctx, kind, a, b);
  RILL_ASSIGN(const Typed type, operating_type(ctx, kind, a, b));
  if (leaves_range(ctx.fact(a), type.dtype) || leaves_range(ctx.fact(b), type.dtype)) {
    return load_binary(ctx, kind, a, b);
  }
  WiredNames names;
  OutletId operands[] = {a, b};
  for (const OutletId operand : operands) {
    const Node& node = ctx.graph().node(operand.node);
    const bool number = node.op->as<Const>() && ctx.fact(operand).rank() == 0;
    if (number && node.line == ctx.line()) names.take();
  }
  for (OutletId& operand : operands) {
    const Fact& fact = ctx.fact(operand);
    const bool converts = fact.dtype != type.dtype;
    if (fact.konst && !converts) continue;
    const std::string name = names.take();
    if (!converts) continue;
    RILL_ASSIGN(operand, ctx.add1(make_op<Cast>(type.dtype, type.q), {operand},
                                  name.empty() ? "cast" : name));
  }
  const int rank = std::max(ctx.fact(a).rank(), ctx.fact(b).rank());
  for (OutletId& operand : operands) {
    while (ctx.fact(operand).rank() < rank) {
      auto unit = draft_op<AddAxis>(ctx.fact(operand).rank());
      const std::string name = names.take();
      RILL_ASSIGN(operand, ctx.add1(std::move(unit), {operand}, name.empty() ? "aligned" : name));
    }
  }
  return load_binary(ctx, kind, operands[0], operands[1], names.take());
}

}  // namespace rill::ops
