// y = clamp(round_half_even((sum (a - a0) (b - b0) + bias) * a_scale * b_scale / c_scale) + c0)
// Source: tract, `tract_core_einsum_q`; B. Jacob et al., Quantization and Training of Neural
// Networks for Efficient Integer-Arithmetic-Only Inference, 2018, section 2.2.

#include "ops/nn/quant_product.h"

#include <algorithm>
#include <string>
#include <vector>

#include "ops/nn/einsum.h"

namespace rill::ops {
namespace {

/// Return the wire with its axes, named by `letters`, at their positions in `target`; the other
/// axes are unit axes.
OutletId aligned(Wiring& w, OutletId wire, std::string_view letters, std::string_view target) {
  if (!w.ok()) return {};
  if (w.rank(wire) != static_cast<int>(letters.size())) {
    w.fail_with(fail(Code::kShape, "parameter ", w.fact(wire), " for axes \"", letters, "\""));
    return {};
  }
  std::vector<Dim> shape;
  size_t next = 0;
  for (const char letter : target) {
    const bool own = next < letters.size() && letters[next] == letter;
    shape.push_back(own ? w.fact(wire).dim(static_cast<int>(next)) : Dim(1));
    if (own) ++next;
  }
  if (next != letters.size()) {
    w.fail_with(fail(Code::kUnsupported, "axes \"", letters, "\" of a parameter in \"", target,
                     "\": expected the same order"));
    return {};
  }
  return w.reshape(wire, std::move(shape));
}

/// Return the parts between the commas before the arrow; empty ones for omitted operands.
std::vector<std::string> operands_of(std::string_view expr, size_t count) {
  std::vector<std::string> parts(1);
  for (const char c : expr.substr(0, expr.find("->"))) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  parts.resize(std::max(count, parts.size()));
  return parts;
}

}  // namespace

OutletId less_zero_point(Wiring& w, OutletId x, OutletId zero) {
  return w.minus(w.cast(x, DType::kI32), w.cast(zero, DType::kI32));
}

OutletId rescaled_sums(Wiring& w, OutletId sums, const QuantScales& scales, DType type) {
  const OutletId factor =
      w.binary(BinaryKind::kDiv,
               w.times(w.cast(scales.scale[0], DType::kF64), w.cast(scales.scale[1], DType::kF64)),
               w.cast(scales.scale[2], DType::kF64));
  const OutletId real = w.times(w.cast(sums, DType::kF64), factor);
  const DType within = dtype_size(type) == 1 ? DType::kF32 : DType::kF64;
  const OutletId rounded = w.unary(UnaryKind::kRoundEven, w.cast(real, within));
  const OutletId placed = w.plus(rounded, w.cast(scales.zero[2], within));
  switch (type) {
    case DType::kQI8:
      return w.cast(placed, DType::kI8);
    case DType::kQU8:
      return w.cast(placed, DType::kU8);
    case DType::kQI32:
      return w.cast(placed, DType::kI32);
    default:
      return w.cast(placed, type);
  }
}

Result<Value> as_quantised(Wiring& w, OutletId out, const QuantScales& scales, DType type) {
  if (!w.ok()) return w.take_status();
  if (!is_quantised(type)) return w.done(out);
  const TensorPtr zero = w.fact(scales.zero[2]).konst;
  const TensorPtr scale = w.fact(scales.scale[2]).konst;
  if (!zero || !scale || zero->volume() != 1 || scale->volume() != 1) {
    return fail(Code::kUnsupported, "c0 and c_scale of a quantised output: expected two constants");
  }
  RILL_ASSIGN(const int64_t zero_point, element_as_int(*zero, 0));
  RILL_ASSIGN(const double factor, element_as_double(*scale, 0));
  const QParams q{static_cast<int32_t>(zero_point), static_cast<float>(factor)};
  return w.done(w.cast(out, type, q));
}

Result<Value> quantised_einsum(Wiring& w, std::string_view expr, OutletId a, OutletId b,
                               OutletId bias, QuantScales scales, DType type) {
  constexpr size_t kOperands = 9;
  const size_t arrow = expr.find("->");
  if (arrow == std::string_view::npos) return fail(Code::kArg, "\"", expr, "\": expected an arrow");
  const std::string_view out = expr.substr(arrow + 2);
  const std::vector<std::string> axes = operands_of(expr, kOperands);
  if (axes.size() != kOperands) {
    return fail(Code::kArg, "\"", expr, "\": expected 2 to ", kOperands, " operands");
  }
  scales.zero[0] = aligned(w, scales.zero[0], axes[3], axes[0]);
  scales.zero[1] = aligned(w, scales.zero[1], axes[5], axes[1]);
  for (int i = 0; i < 3; ++i) {
    scales.scale[i] = aligned(w, scales.scale[i], axes[static_cast<size_t>(4 + 2 * i)], out);
  }
  const OutletId zero = aligned(w, scales.zero[2], axes[7], out);
  const OutletId sums = add_einsum(
      w, str_cat(axes[0], ",", axes[1], "->", out),
      {less_zero_point(w, a, scales.zero[0]), less_zero_point(w, b, scales.zero[1])});
  const OutletId biased = w.plus(sums, aligned(w, w.cast(bias, DType::kI32), axes[2], out));
  QuantScales placed = scales;
  placed.zero[2] = zero;
  return as_quantised(w, rescaled_sums(w, biased, placed, type), scales, type);
}

namespace {

OutletId zero_point(Wiring& w, QParams q) {
  return w.cast(w.konst(Tensor::scalar(int64_t{q.zero_point})), DType::kI32);
}

}  // namespace

Result<Value> load_quant_product(LoadCtx& ctx, std::string_view expr, OutletId a, OutletId b) {
  Wiring w(ctx);
  const QParams plain{0, 1.0F};
  const QParams qa = is_quantised(w.dtype(a)) ? w.fact(a).q : plain;
  const QParams qb = is_quantised(w.dtype(b)) ? w.fact(b).q : plain;
  const auto wanted = ctx.quant();
  if (!wanted) {
    const OutletId sums =
        add_einsum(w, expr,
                   {less_zero_point(w, a, zero_point(w, qa)),
                    less_zero_point(w, b, zero_point(w, qb))});
    return w.done(w.cast(sums, DType::kQI32, QParams{0, qa.scale * qb.scale}));
  }
  QuantScales scales;
  const QParams each[] = {qa, qb, wanted->q};
  for (int i = 0; i < 3; ++i) {
    scales.zero[i] = zero_point(w, each[i]);
    scales.scale[i] = w.number(each[i].scale);
  }
  const OutletId none = zero_point(w, plain);
  return quantised_einsum(w, expr, a, b, none, scales, wanted->dtype);
}

}  // namespace rill::ops
