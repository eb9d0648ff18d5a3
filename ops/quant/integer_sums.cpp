// Sums of products of quantised numbers whose zero points and scales are arguments: read as the
// differences, the sums, the product with the scales and the rounding that they consist of.
// y = clamp(round_half_even((sum (a - a0) (b - b0) + bias) * a_scale * b_scale / c_scale) + c0)
// Source: tract, `tract_core_einsum_q`, `tract_core_qmatmul`, `tract_core_qconv`; B. Jacob et al.,
// Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference,
// 2018, section 2.2.

#include "ops/quant/integer_sums.h"

#include <algorithm>

#include "ops/array/axis_ops.h"
#include "ops/array/common.h"
#include "ops/math/wiring.h"
#include "ops/nn/conv.h"
#include "ops/nn/einsum.h"
#include "ops/nn/window.h"

namespace rill::ops {
namespace {

/// A type as files spell it: "i8", or "QI8(Z:3 S:0.5)", whose parameters are given apart.
Result<DType> stored_type(std::string_view text) {
  const auto found = dtype_from_name(text.substr(0, text.find('(')));
  if (found && (is_int(*found) || is_quantised(*found))) return *found;
  return fail(Code::kDType, "output type \"", text, "\": expected integers");
}

/// What a call says of its three tensors.
struct Scales {
  OutletId zero[3];
  OutletId scale[3];
};

/// The wire with unit axes so that each of its letters lies where `target` has it.
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

OutletId shifted(Wiring& w, OutletId x, OutletId zero) {
  return w.minus(w.cast(x, DType::kI32), w.cast(zero, DType::kI32));
}

/// Bring sums to the output, in f64, which holds every i32 and every product with a scale. What is
/// to have 8 bits is rounded in f32, since tract rounds no f64.
OutletId rescaled(Wiring& w, OutletId sums, const Scales& scales, DType type) {
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

/// Give integers the quantised type that is asked for, whose parameters must be constants.
Result<Value> as_type(Wiring& w, OutletId out, const Scales& scales, DType type) {
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

Scales read_scales(Wiring& w) {
  constexpr const char* kZeros[] = {"a0", "b0", "c0"};
  constexpr const char* kScales[] = {"a_scale", "b_scale", "c_scale"};
  Scales scales;
  for (int i = 0; i < 3; ++i) {
    scales.zero[i] = w.arg(kZeros[i]);
    scales.scale[i] = w.arg(kScales[i]);
  }
  return scales;
}

/// The parts between the commas in front of the arrow; empty ones for what is left out.
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

Result<Value> quantised_einsum(Wiring& w, std::string_view expr, OutletId a, OutletId b,
                               OutletId bias, Scales scales, DType type) {
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
  const OutletId sums = w.einsum(str_cat(axes[0], ",", axes[1], "->", out),
                                 {shifted(w, a, scales.zero[0]), shifted(w, b, scales.zero[1])});
  const OutletId biased = w.plus(sums, aligned(w, w.cast(bias, DType::kI32), axes[2], out));
  Scales placed = scales;
  placed.zero[2] = zero;
  return as_type(w, rescaled(w, biased, placed, type), scales, type);
}

Result<Value> load_einsum_q(LoadCtx& ctx) {
  RILL_ASSIGN(std::string expr, ctx.text("expr"));
  std::erase(expr, ' ');
  RILL_ASSIGN(const std::string output, ctx.text("output"));
  RILL_ASSIGN(const DType type, stored_type(output));
  RILL_ASSIGN(const std::vector<OutletId> inputs, plain_wires(ctx, "inputs"));
  RILL_CHECK(inputs.size() == 2, inputs.size(), " inputs: expected 2");
  Wiring w(ctx);
  const Scales scales = read_scales(w);
  const OutletId bias = w.arg("bias");
  return quantised_einsum(w, expr, inputs[0], inputs[1], bias, scales, type);
}

/// The expression for six indices, of m and k in A, k and n in B, m and n in C: the other axes are
/// batches, in order.
Result<std::string> legacy_expr(LoadCtx& ctx, int rank) {
  RILL_ASSIGN(const std::vector<int64_t> axes, ctx.integers("axes"));
  RILL_CHECK(axes.size() == 6 && rank >= 2 && rank <= kMaxRank, "axes ", axes, " for rank ", rank,
             ": expected 6 of them");
  const auto letters = [&](int64_t first, char first_letter, int64_t second,
                           char second_letter) -> Result<std::string> {
    const bool inside = first >= 0 && first < rank && second >= 0 && second < rank;
    RILL_CHECK(inside && first != second, "axes ", axes, " in rank ", rank);
    std::string out;
    char batch = 'a';
    for (int64_t i = 0; i < rank; ++i) {
      out += i == first ? first_letter : i == second ? second_letter : batch++;
    }
    return out;
  };
  RILL_ASSIGN(const std::string a, letters(axes[0], 'm', axes[1], 'k'));
  RILL_ASSIGN(const std::string b, letters(axes[2], 'k', axes[3], 'n'));
  RILL_ASSIGN(const std::string c, letters(axes[4], 'm', axes[5], 'n'));
  return str_cat(a, ",", b, "->", c);
}

Result<Value> load_matmul(LoadCtx& ctx) {
  Wiring w(ctx);
  const OutletId a = w.arg("A");
  const OutletId b = w.arg("B");
  if (!w.ok()) return w.take_status();
  RILL_CHECK(w.rank(a) == w.rank(b), "inputs ", w.fact(a), " and ", w.fact(b),
             ": expected equal ranks");
  RILL_ASSIGN(const std::string expr, legacy_expr(ctx, w.rank(a)));
  const DType type = w.dtype(a);
  return w.done(w.einsum(expr, {a, w.cast(b, type)}));
}

Result<Value> load_qmatmul(LoadCtx& ctx) {
  Wiring w(ctx);
  const OutletId a = w.arg("A");
  const OutletId b = w.arg("B");
  const OutletId bias = w.arg("bias");
  const Scales scales = read_scales(w);
  if (!w.ok()) return w.take_status();
  const int rank = w.rank(a);
  RILL_CHECK(rank == w.rank(b), "inputs ", w.fact(a), " and ", w.fact(b), ": expected equal ranks");
  RILL_ASSIGN(std::string expr, legacy_expr(ctx, rank));
  const std::string out = expr.substr(expr.find("->") + 2);
  RILL_CHECK(w.rank(bias) == 0 || w.rank(bias) == rank, "bias ", w.fact(bias),
             ": expected a number, or rank ", rank);
  if (w.rank(bias) == rank) expr.insert(expr.find("->"), "," + out);
  DType type = DType::kI32;
  if (const auto quant = ctx.quant()) {
    type = quant->dtype;
  } else {
    RILL_ASSIGN(const std::string output, ctx.text("output_type"));
    RILL_ASSIGN(type, stored_type(output));
  }
  return quantised_einsum(w, expr, a, b, bias, scales, type);
}

Result<int64_t> groups_of(LoadCtx& ctx, const Fact& x) {
  // Declared as `group`; tract reads `groups`.
  int64_t groups = 0;
  if (ctx.given("groups")) {
    RILL_ASSIGN(groups, ctx.integer("groups"));
  } else if (ctx.given("group")) {
    RILL_ASSIGN(groups, ctx.integer("group"));
  }
  if (groups != 0) return groups;
  return x.dim(1).as_int();
}

/// Read a quantised convolution. Of its parameters `a` are those of the filter, `b` of the input.
Result<Value> load_qconv(LoadCtx& ctx) {
  Wiring w(ctx);
  const OutletId x = w.arg("input");
  const OutletId filter = w.arg("filter");
  OutletId bias = w.cast(w.arg("bias"), DType::kI32);
  const Scales scales = read_scales(w);
  if (!w.ok()) return w.take_status();
  const Fact in = w.fact(x);
  RILL_ASSIGN(const auto shape, w.fact(filter).concrete_shape());
  RILL_CHECK(shape.size() >= 3 && in.rank() == static_cast<int>(shape.size()), "input ", in,
             ", filter ", w.fact(filter), ": expected one rank of at least 3");
  RILL_TRY(expect_constant_border(ctx));
  RILL_ASSIGN(const std::string output, ctx.text("output_dt"));
  DType type = in.dtype == DType::kU8 || in.dtype == DType::kQU8 ? DType::kQU8 : DType::kQI8;
  if (const auto quant = ctx.quant(); quant && output.empty()) {
    type = quant->dtype;
  } else if (!output.empty()) {
    RILL_ASSIGN(type, stored_type(output));
  }
  Conv conv;
  conv.has_bias = false;
  RILL_ASSIGN(conv.window, load_window(ctx, {shape.begin() + 2, shape.end()}, 0));
  RILL_ASSIGN(conv.groups, groups_of(ctx, in));
  // What is padded stands for 0, as it does once the zero point is taken away. Sums in f64 are
  // exact, and tract reads them.
  const auto real = [&](OutletId wire, OutletId zero) {
    return w.cast(shifted(w, wire, zero), DType::kF64);
  };
  const OutletId sums =
      w.add(std::make_shared<Conv>(conv), {real(x, scales.zero[1]), real(filter, scales.zero[0])});
  std::vector<Dim> per_channel(static_cast<size_t>(in.rank()), Dim(1));
  per_channel[1] = volume(w.fact(bias).shape);
  bias = w.reshape(bias, per_channel);
  const OutletId biased = w.plus(sums, w.cast(bias, DType::kF64));
  return as_type(w, rescaled(w, biased, scales, type), scales, type);
}

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
        w.einsum(expr, {shifted(w, a, zero_point(w, qa)), shifted(w, b, zero_point(w, qb))});
    return w.done(w.cast(sums, DType::kQI32, QParams{0, qa.scale * qb.scale}));
  }
  Scales scales;
  const QParams each[] = {qa, qb, wanted->q};
  for (int i = 0; i < 3; ++i) {
    scales.zero[i] = zero_point(w, each[i]);
    scales.scale[i] = w.number(each[i].scale);
  }
  const OutletId none = zero_point(w, plain);
  return quantised_einsum(w, expr, a, b, none, scales, wanted->dtype);
}

namespace {

constexpr NnefOp kOps[] = {
    {"tract_core",
     "fragment tract_core_matmul(A: tensor<scalar>, B: tensor<scalar>, axes: integer[])"
     " -> (output: tensor<scalar>);",
     load_matmul},
    {"tract_core",
     "fragment tract_core_einsum_q(inputs: tensor<scalar>[], expr: string, acc: string,"
     " output: string = '', bias: tensor<scalar> = 0, a0: tensor<integer> = 0,"
     " a_scale: tensor<scalar> = 1.0, b0: tensor<integer> = 0, b_scale: tensor<scalar> = 1.0,"
     " c0: tensor<integer> = 0, c_scale: tensor<scalar> = 1.0) -> (result: tensor<scalar>);",
     load_einsum_q},
    {"tract_core",
     "fragment tract_core_qmatmul(A: tensor<scalar>, B: tensor<scalar>, bias: tensor<scalar> = 0,"
     " axes: integer[], a0: tensor<integer> = 0, a_scale: tensor<scalar> = 1.0,"
     " b0: tensor<integer> = 0, b_scale: tensor<scalar> = 1.0, c0: tensor<integer> = 0,"
     " c_scale: tensor<scalar> = 1.0, output_type: string = '') -> (output: tensor<scalar>);",
     load_qmatmul},
    {"tract_core",
     "fragment tract_core_qconv(input: tensor<scalar>, filter: tensor<scalar>,"
     " bias: tensor<scalar> = 0, group: integer = 0, dilation: integer[] = [],"
     " stride: integer[] = [], padding: integer[] = [], border: string = 'constant',"
     " a0: tensor<integer> = 0, a_scale: tensor<scalar> = 1.0, b0: tensor<integer> = 0,"
     " b_scale: tensor<scalar> = 1.0, c0: tensor<integer> = 0, c_scale: tensor<scalar> = 1.0,"
     " output_dt: string = '') -> (output: tensor<scalar>);",
     load_qconv},
};

}  // namespace

extern const OpRoom integer_sums_room;
const OpRoom integer_sums_room = {"integer_sums", kOps};

}  // namespace rill::ops
