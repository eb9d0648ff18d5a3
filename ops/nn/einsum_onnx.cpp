// Reads ONNX's products of matrices.

#include <algorithm>
#include <cmath>

#include "core/graph/onnx.h"
#include "ops/array/axis_ops.h"
#include "ops/math/numpy.h"
#include "ops/nn/einsum.h"
#include "ops/nn/onnx_activation.h"

namespace rill::ops {
namespace {

Result<OutletId> product(OnnxCtx& ctx, std::string expr, OutletId a, OutletId b,
                         std::string_view suffix) {
  auto op = draft_op<EinSum>();
  op->expr = std::move(expr);
  return ctx.add1(std::move(op), {a, b}, suffix);
}

/// Return the scales of a quantised matrix: one per column, or one for all. Nothing if they vary
/// along another axis.
std::optional<OutletId> column_scale(Formula& f, const OnnxCtx::Quantised& matrix,
                                     bool transposed) {
  const std::vector<Dim>& shape = f.fact(matrix.scale).shape;
  if (volume(shape) == Dim(1)) return f.reshape(matrix.scale, {});
  const Dim columns = f.dim(matrix.steps, transposed ? 0 : 1);
  const bool rows_of_one = transposed && shape.size() == 2 && shape[1] == Dim(1);
  if (volume(shape) != columns || (transposed ? !rows_of_one : shape.back() != columns)) {
    return std::nullopt;
  }
  return f.reshape(matrix.scale, {columns});
}

Result<OutletId> multiply(OnnxCtx& ctx, OutletId a, OutletId b, bool transpose_a,
                          bool transpose_b);

/// Read a matmul of quantised numbers by a quantised constant as an exact int8 matmul, times both
/// scales: this rounds less often, and has an int8 kernel. Nothing for other matmuls.
Result<std::optional<OutletId>> by_steps(OnnxCtx& ctx, OutletId a, OutletId b, bool transpose_a,
                                         bool transpose_b) {
  constexpr int64_t kMostTerms = 32768;  // their sum fits in 32 bits: each is at most 255 * 255
  const OnnxCtx::Quantised* left = ctx.quantised(a);
  const OnnxCtx::Quantised* right = ctx.quantised(b);
  if (!left || !right || !is_byte(ctx.fact(left->stored).dtype) ||
      !is_byte(ctx.fact(right->stored).dtype) ||
      ctx.fact(a).dtype != DType::kF32 || ctx.fact(b).dtype != DType::kF32) {
    return {std::nullopt};
  }
  const Fact& matrix = ctx.fact(right->steps);
  const auto terms = matrix.rank() == 2 ? matrix.dim(transpose_b ? 1 : 0).to_int() : std::nullopt;
  if (!matrix.konst || ctx.fact(left->steps).konst || !terms || *terms > kMostTerms ||
      volume(ctx.fact(left->scale).shape) != Dim(1)) {
    return {std::nullopt};
  }
  Formula f(ctx);
  const auto columns = column_scale(f, *right, transpose_b);
  if (!columns) return {std::nullopt};
  const OutletId scale = f.times(f.reshape(left->scale, {}), *columns);
  RILL_ASSIGN(const OutletId sums, multiply(ctx, left->steps, right->steps, transpose_a,
                                            transpose_b));
  const OutletId out = f.times(f.cast(sums, DType::kF32), f.cast(scale, DType::kF32));
  if (!f.ok()) return f.take_status();
  return {out};
}

/// Multiply matrices, after swapping the last two axes of an operand if requested.
Result<OutletId> multiply(OnnxCtx& ctx, OutletId a, OutletId b, bool transpose_a,
                          bool transpose_b) {
  RILL_ASSIGN(const std::optional<OutletId> exact, by_steps(ctx, a, b, transpose_a, transpose_b));
  if (exact) return *exact;
  // A vector becomes a row on the left, and a column on the right; the added axis is removed.
  const bool row = ctx.fact(a).rank() == 1;
  const bool column = ctx.fact(b).rank() == 1;
  RILL_CHECK(ctx.fact(a).rank() > 0 && ctx.fact(b).rank() > 0, "a product with a scalar");
  const Fact& left = ctx.fact(a);
  const Fact& right = ctx.fact(b);
  RILL_TRY(ctx.expect_equal(left.dim(left.rank() - (transpose_a && !row ? 2 : 1)),
                            right.dim(right.rank() - (transpose_b || column ? 1 : 2))));
  if (column) {
    RILL_ASSIGN(b, ctx.add1(make_op<AddAxis>(1), {b}, "column"));
  }
  RILL_ASSIGN(const std::vector<OutletId> wires, numpy_operands(ctx, {a, b}));
  const int rank = std::max(ctx.fact(wires[0]).rank(), 2);
  RILL_ASSIGN(a, with_rank(ctx, wires[0], rank));
  RILL_ASSIGN(OutletId out, product(ctx, matmul_expr(rank, transpose_a, transpose_b), a,
                                    wires[1], ""));
  if (column) {
    RILL_ASSIGN(out, ctx.add1(make_op<RmAxis>(rank - 1), {out}, "vector"));
  }
  if (row) {
    const int64_t axis = rank - 2;
    RILL_ASSIGN(out, ctx.add1(make_op<RmAxis>(axis), {out}, "vector"));
  }
  return out;
}

Result<Value> matmul(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId a, ctx.wire("A"));
  RILL_ASSIGN(const OutletId b, ctx.wire("B"));
  return as_value(multiply(ctx, a, b, false, false));
}

/// Multiply by a factor, if it is not 1.
Result<OutletId> scaled(OnnxCtx& ctx, OutletId x, std::string_view name) {
  RILL_ASSIGN(const float factor, ctx.number(name));
  if (factor == 1.0F) return x;
  RILL_ASSIGN(Tensor typed, cast(Tensor::scalar(factor), ctx.fact(x).dtype));
  RILL_ASSIGN(const OutletId by, ctx.konst(std::move(typed), name));
  return numpy_binary(ctx, BinaryKind::kMul, x, by, str_cat(name, "_product"));
}

Result<Value> fused_matmul(OnnxCtx& ctx) {
  for (const std::string_view name : {"transBatchA", "transBatchB"}) {
    if (!ctx.has(name)) continue;
    RILL_ASSIGN(const bool is_transposed, ctx.boolean(name));
    if (is_transposed) return fail(Code::kUnsupported, name, " is 1: expected 0");
  }
  RILL_ASSIGN(bool a, ctx.boolean("transA"));
  RILL_ASSIGN(bool b, ctx.boolean("transB"));
  // A vector has no second axis to swap.
  RILL_ASSIGN(const OutletId left, ctx.wire("A"));
  RILL_ASSIGN(const OutletId right, ctx.wire("B"));
  a &= ctx.fact(left).rank() > 1;
  b &= ctx.fact(right).rank() > 1;
  RILL_ASSIGN(OutletId out, multiply(ctx, left, right, a, b));
  RILL_ASSIGN(out, scaled(ctx, out, "alpha"));
  return as_value(out);
}

Result<Value> gemm(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId a, ctx.wire("A"));
  RILL_ASSIGN(const OutletId b, ctx.wire("B"));
  RILL_CHECK(ctx.fact(a).rank() == 2 && ctx.fact(b).rank() == 2, "operands ", ctx.fact(a), " and ",
             ctx.fact(b), ": expected matrices");
  RILL_ASSIGN(const bool transpose_a, ctx.boolean("transA"));
  RILL_ASSIGN(const bool transpose_b, ctx.boolean("transB"));
  RILL_ASSIGN(const float alpha, ctx.number("alpha"));
  RILL_ASSIGN(const float beta, ctx.number("beta"));
  RILL_ASSIGN(OutletId out, multiply(ctx, a, b, transpose_a, transpose_b));
  const DType type = ctx.fact(out).dtype;
  // With fractional factors, integers are computed as reals, and truncated at the end.
  const bool as_reals = is_int(type) && (alpha != std::trunc(alpha) || beta != std::trunc(beta));
  const auto operand = [&](OutletId wire) {
    return as_reals ? cast_to(ctx, wire, DType::kF64) : Result<OutletId>(wire);
  };
  RILL_ASSIGN(out, operand(out));
  RILL_ASSIGN(out, scaled(ctx, out, "alpha"));
  if (ctx.given("C")) {
    RILL_ASSIGN(OutletId c, ctx.wire("C"));
    const Fact& sum = ctx.fact(out);
    const Fact& added = ctx.fact(c);
    for (int axis = 1; axis <= std::min(added.rank(), 2); ++axis) {
      const Dim& extent = added.dim(added.rank() - axis);
      if (!extent.is_const() || extent == Dim(1)) continue;
      RILL_TRY(ctx.expect_equal(sum.dim(sum.rank() - axis), extent));
    }
    RILL_ASSIGN(c, operand(c));
    RILL_ASSIGN(c, scaled(ctx, c, "beta"));
    RILL_ASSIGN(out, numpy_binary(ctx, BinaryKind::kAdd, out, c, "sum"));
  }
  return as_value(as_reals ? cast_to(ctx, out, type) : Result<OutletId>(out));
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Append the implied result of an equation without an arrow: the axes of ellipses, then the
/// letters that occur once, in alphabetical order.
std::string implied(std::string equation, std::string_view ellipsis) {
  std::string result(ellipsis);
  for (int code = 'A'; code <= 'z'; ++code) {
    const char letter = static_cast<char>(code);
    const bool once = std::count(equation.begin(), equation.end(), letter) == 1;
    if (once && is_letter(letter) && ellipsis.find(letter) == std::string_view::npos) {
      result += letter;
    }
  }
  return std::move(equation) + "->" + result;
}

/// Return the number of axes that the ellipsis of a term stands for.
int beyond(std::string_view term, int rank) {
  return rank - static_cast<int>(std::count_if(term.begin(), term.end(), is_letter));
}

/// Replace each ellipsis by unused letters, one per axis of its operand, aligned at the last axis.
Result<std::string> spelled_out(std::string_view equation, const Facts& operands) {
  std::string unused;
  for (char letter = 'Z'; letter >= 'A'; --letter) {
    if (equation.find(letter) == std::string_view::npos) unused += letter;
  }
  std::string out;
  std::string most;
  size_t term = 0;
  const size_t arrow = equation.find("->");
  for (size_t i = 0; i < equation.size();) {
    if (equation.substr(i, 3) != "...") {
      if (equation[i] == ',') ++term;
      if (equation[i] != ' ') out += equation[i];
      ++i;
      continue;
    }
    i += 3;
    if (i > arrow) {
      out += most;
      continue;
    }
    RILL_CHECK(term < operands.size(), "\"", equation, "\" for ",
               counted(operands.size(), "operand"));
    const size_t begin = term == 0 ? 0 : equation.rfind(',', i) + 1;
    const size_t end = std::min(equation.find(',', i), arrow);
    const int count = beyond(equation.substr(begin, end - begin), operands[term].rank());
    RILL_CHECK(count >= 0 && count <= static_cast<int>(unused.size()), "\"", equation,
               "\" for an operand ", operands[term]);
    const std::string letters(unused.rend() - count, unused.rend());
    if (letters.size() > most.size()) most = letters;
    out += letters;
  }
  if (arrow != std::string_view::npos || most.empty()) return out;
  return implied(out, most);
}

Result<Value> einsum(OnnxCtx& ctx) {
  RILL_ASSIGN(const std::vector<OutletId> inputs, ctx.wires("Inputs"));
  RILL_ASSIGN(std::string equation, ctx.text("equation"));
  RILL_CHECK(!inputs.empty(), "expected one input or more");
  RILL_ASSIGN(equation, spelled_out(equation, ctx.graph().facts_of(inputs)));
  const size_t arrow = equation.find("->");
  const std::string result = arrow == std::string::npos ? "" : equation.substr(arrow + 2);
  for (const char letter : result) {
    RILL_CHECK(std::count(result.begin(), result.end(), letter) == 1, "equation \"", equation,
               "\": expected each letter of the result once");
  }
  const DType type = ctx.fact(inputs[0]).dtype;
  const OnnxCtx::Argument arguments[] = {{"inputs", Value::of_wires(inputs)},
                                         {"expr", Value(std::move(equation))},
                                         {"acc", Value(std::string(dtype_lower_name(type)))}};
  return ctx.call("tract_core_einsum", arguments);
}

Result<Value> fused_gemm(OnnxCtx& ctx) {
  RILL_ASSIGN(const Value sum, gemm(ctx));
  RILL_ASSIGN(const std::string name, ctx.text("activation"));
  RILL_ASSIGN(const float alpha, ctx.number("activation_alpha"));
  RILL_ASSIGN(const float beta, ctx.number("activation_beta"));
  std::vector<float> parameters;
  if (ctx.given("activation_alpha")) parameters.push_back(alpha);
  if (ctx.given("activation_beta")) parameters.push_back(beta);
  Formula f(ctx);
  RILL_ASSIGN(const OutletId out, activated(f, *sum.get<OutletId>(), name, parameters));
  return f.value(out);
}

const OnnxOp kOps[] = {
    // The name in early versions of onnxruntime.
    {"com.microsoft", 1,
     "fragment TransposeMatMul(A: tensor<?>, B: tensor<?>, alpha: scalar = 1.0, "
     "transA: logical = false, transB: logical = false) -> (Y: tensor<?>);",
     fused_matmul, Rounding::kOnce},
    {"com.microsoft", 1,
     "fragment FusedMatMul(A: tensor<?>, B: tensor<?>, alpha: scalar = 1.0, "
     "transA: logical = false, transB: logical = false, transBatchA: logical = false, "
     "transBatchB: logical = false) -> (Y: tensor<?>);",
     fused_matmul, Rounding::kOnce},
    {"com.microsoft", 1,
     "fragment FusedGemm(A: tensor<?>, B: tensor<?>, C: tensor<?> = false, "
     "activation: string = '', activation_alpha: scalar = 0.0, activation_beta: scalar = 0.0, "
     "alpha: scalar = 1.0, beta: scalar = 1.0, transA: logical = false, "
     "transB: logical = false) -> (Y: tensor<?>);",
     fused_gemm, Rounding::kOnce},
    {"", 12, "fragment Einsum(Inputs: tensor<?>[], equation: string) -> (Output: tensor<?>);",
     einsum, Rounding::kOnce},
    {"", 1, "fragment MatMul(A: tensor<?>, B: tensor<?>) -> (Y: tensor<?>);", matmul},
    // Before opset 7 an attribute says whether C is broadcast; its shape shows it too.
    {"", 6,
     "fragment Gemm(A: tensor<?>, B: tensor<?>, C: tensor<?>, alpha: scalar = 1.0, "
     "beta: scalar = 1.0, broadcast: logical = false, transA: logical = false, "
     "transB: logical = false) -> (Y: tensor<?>);",
     gemm, Rounding::kOnce},
    {"", 7,
     "fragment Gemm(A: tensor<?>, B: tensor<?>, C: tensor<?> = false, alpha: scalar = 1.0, "
     "beta: scalar = 1.0, transA: logical = false, transB: logical = false) -> (Y: tensor<?>);",
     gemm, Rounding::kOnce},
};

}  // namespace

extern const OnnxModule einsum_onnx;
const OnnxModule einsum_onnx = {"einsum", kOps};

}  // namespace rill::ops
