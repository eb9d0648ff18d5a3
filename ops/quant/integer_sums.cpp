// Sums of products of quantised numbers whose zero points and scales are arguments. The reader
// makes the differences, the sums, the multiplication by the scales and the rounding.
// Source: tract, `tract_core_einsum_q`, `tract_core_qmatmul`, `tract_core_qconv`.

#include "ops/array/cast.h"
#include "ops/array/common.h"
#include "ops/math/binary.h"
#include "ops/math/pointwise.h"
#include "ops/math/wiring.h"
#include "ops/nn/conv.h"
#include "ops/nn/einsum.h"
#include "ops/nn/quant_product.h"
#include "ops/nn/window.h"
#include "ops/quant/byte_product.h"
#include "ops/quant/byte_table.h"
#include "ops/quant/whole_cast.h"

namespace rill::ops {
namespace {

/// Parse a type of a file: "i8", or "QI8(Z:3 S:0.5)", whose parameters are separate arguments.
Result<DType> stored_type(std::string_view text) {
  const auto found = dtype_from_name(text.substr(0, text.find('(')));
  if (found && (is_int(*found) || is_quantised(*found))) return *found;
  return fail(Code::kDType, "output type \"", text, "\": expected integers");
}

QuantScales read_scales(Wiring& w) {
  constexpr const char* kZeros[] = {"a0", "b0", "c0"};
  constexpr const char* kScales[] = {"a_scale", "b_scale", "c_scale"};
  QuantScales scales;
  for (int i = 0; i < 3; ++i) {
    scales.zero[i] = w.arg(kZeros[i]);
    scales.scale[i] = w.arg(kScales[i]);
  }
  return scales;
}

Result<Value> load_einsum_q(LoadCtx& ctx) {
  RILL_ASSIGN(std::string expr, ctx.text("expr"));
  std::erase(expr, ' ');
  RILL_ASSIGN(const std::string output, ctx.text("output"));
  RILL_ASSIGN(const DType type, stored_type(output));
  RILL_ASSIGN(const std::vector<OutletId> inputs, plain_wires(ctx, "inputs"));
  RILL_CHECK(inputs.size() == 2, counted(inputs.size(), "input"), ": expected 2");
  Wiring w(ctx);
  const QuantScales scales = read_scales(w);
  const OutletId bias = w.arg("bias");
  return quantised_einsum(w, expr, inputs[0], inputs[1], bias, scales, type);
}

/// Return the expression for six axis indices: of m and k in A, k and n in B, m and n in C. The
/// other axes are batches, in order.
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
  return w.done(add_einsum(w, expr, {a, w.cast(b, type)}));
}

Result<Value> load_qmatmul(LoadCtx& ctx) {
  Wiring w(ctx);
  const OutletId a = w.arg("A");
  const OutletId b = w.arg("B");
  const OutletId bias = w.arg("bias");
  const QuantScales scales = read_scales(w);
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

/// Read a quantized convolution. Its parameters `a` belong to the filter, `b` to the input.
Result<Value> load_qconv(LoadCtx& ctx) {
  Wiring w(ctx);
  const OutletId x = w.arg("input");
  const OutletId filter = w.arg("filter");
  OutletId bias = w.cast(w.arg("bias"), DType::kI32);
  const QuantScales scales = read_scales(w);
  if (!w.ok()) return w.take_status();
  const Fact in = w.fact(x);
  RILL_ASSIGN(const auto shape, w.fact(filter).concrete_shape());
  RILL_CHECK(shape.size() >= 3 && in.rank() == static_cast<int>(shape.size()), "input ", in,
             ", filter ", w.fact(filter), ": expected one rank of at least 3");
  RILL_TRY(expect_constant_padding(ctx));
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
  // Padding represents 0, as it does after subtracting the zero point. Sums in f64 are exact, and
  // tract can load such a convolution.
  const auto real = [&](OutletId wire, OutletId zero) {
    return w.cast(less_zero_point(w, wire, zero), DType::kF64);
  };
  const OutletId sums =
      w.add(make_op<Conv>(conv), {real(x, scales.zero[1]), real(filter, scales.zero[0])});
  std::vector<Dim> per_channel(static_cast<size_t>(in.rank()), Dim(1));
  per_channel[1] = volume(w.fact(bias).shape);
  bias = w.reshape(bias, per_channel);
  const OutletId biased = w.plus(sums, w.cast(bias, DType::kF64));
  return as_quantised(w, rescaled_sums(w, biased, scales, type), scales, type);
}

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

constexpr FuseRule kRules[] = {
    {&Cast::kKind, fuse_byte_product},
    {&Cast::kKind, fuse_byte_table},
    {&Cast::kKind, fuse_whole_cast},
    {&Cast::kKind, fuse_nearest_floats},
    {&EinSum::kKind, fuse_byte_sums},
    {&EinSum::kKind, fuse_whole_sums},
    {&Binary::kKind, fuse_byte_bias},
};

}  // namespace

extern const OpModule integer_sums_module;
const OpModule integer_sums_module = {"integer_sums", kOps, {}, kRules};

}  // namespace rill::ops
