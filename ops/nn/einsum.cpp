#include "ops/nn/einsum.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/search.h"
#include "core/graph/course.h"
#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "core/graph/rewrite.h"
#include "core/tensor/visit_number.h"
#include "kernels/limited.h"
#include "kernels/simd/mul_add.h"
#include "ops/array/cast.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"
#include "ops/built.h"
#include "ops/math/binary.h"
#include "ops/nn/einsum_lower.h"
#include "ops/nn/epilogue.h"
#include "ops/nn/quant_product.h"
#include "ops/op_table.h"

namespace rill::ops {

// Axes are named by ASCII letters.
constexpr size_t kLetters = 128;

void EinSum::fields(FieldVisitor& visitor) {
  visitor.field("expr", expr);
  ranged_field(visitor, "operands", 1, kMaxRank, operands);
  visitor.field("has_bias", has_bias);
  axis_field(visitor, "bias_axis", bias_axis);
  visitor.field("has_residual", has_residual);
  clip.fields(visitor);
}

std::string_view EinSum::letters(int i) const {
  const std::string_view text = expr;
  const size_t arrow = text.find("->");
  if (i == operands) return {text.data() + arrow + 2, text.size() - arrow - 2};
  size_t begin = 0;
  for (; i > 0; --i) begin = text.find(',', begin) + 1;
  return {text.data() + begin, std::min(arrow, text.find(',', begin)) - begin};
}

std::string matmul_expr(int rank, bool transpose_a, bool transpose_b) {
  std::string batch;
  for (int i = 0; i + 2 < rank; ++i) batch += static_cast<char>('a' + i);
  return str_cat(batch, transpose_a ? "zx" : "xz", ",", batch, transpose_b ? "yz" : "zy", "->",
                 batch, "xy");
}

OutletId add_einsum(Wiring& w, std::string_view expr, WireList inputs) {
  auto op = draft_op<EinSum>();
  op->expr = expr;
  op->operands = static_cast<int64_t>(inputs.size());
  return w.add(std::move(op), inputs);
}

Status EinSum::check(FactSpan in) const {
  const size_t arrow = expr.find("->");
  const auto commas = std::count(expr.begin(), expr.end(), ',');
  const bool sound = arrow != std::string::npos && operands >= 1 && operands <= kMaxRank &&
                     commas + 1 == operands && expr.find(',', arrow) == std::string::npos &&
                     all_of(expr, [](char c) { return static_cast<unsigned char>(c) < kLetters; });
  if (!sound)
    return fail(Code::kArg, "\"", expr, "\": expected axes of ", counted(operands, "input"));
  return expect_count(in, static_cast<size_t>(operands) + (has_bias ? 1U : 0U) +
                              (has_residual ? 1U : 0U));
}

Dim EinSum::work(FactSpan in, FactSpan) const {
  Dim extents[kLetters];
  for (int i = 0; i < operands; ++i) {
    const std::string_view axes = letters(i);
    for (size_t axis = 0; axis < axes.size(); ++axis) {
      Dim& extent = extents[static_cast<unsigned char>(axes[axis])];
      const Dim& own = in[static_cast<size_t>(i)].shape[axis];
      extent = extent.valid() && extent.is_const() && *extent.to_int() > 1 ? extent : own;
    }
  }
  Dim out = operands;
  for (const Dim& extent : extents) {
    if (!(extent == Dim(0))) out *= extent;
  }
  return out;
}

Result<Facts> EinSum::infer(FactSpan in) const {
  RILL_TRY(check(in));
  // A running step cannot report an error, so types without a kernel are refused here.
  const DType type = in[0].dtype;
  const bool known = visit_number(type, [](auto) {}) || type == DType::kDim || is_quantised(type);
  if (!known) return fail(Code::kDType, "no sum of products of ", dtype_name(type));
  Dim extents[kLetters];
  bool seen[kLetters] = {};
  for (int i = 0; i < operands; ++i) {
    const Fact& fact = in[static_cast<size_t>(i)];
    const std::string_view axes = letters(i);
    RILL_CHECK(static_cast<int>(axes.size()) == fact.rank(), "\"", expr, "\": input ", i, " is ",
               fact, ", expected rank ", axes.size());
    if (fact.dtype != in[0].dtype) {
      return fail(Code::kDType, "inputs ", in[0], " and ", fact, ": expected one type");
    }
    for (int axis = 0; axis < fact.rank(); ++axis) {
      const auto letter = static_cast<unsigned char>(axes[static_cast<size_t>(axis)]);
      const Dim& extent = fact.dim(axis);
      if (!seen[letter]) {
        extents[letter] = extent;
        seen[letter] = true;
        continue;
      }
      const Dim both = broadcast(extents[letter], extent);
      RILL_CHECK(both.valid(), "axis ", static_cast<char>(letter), " of \"", expr, "\" is ",
                 extents[letter], " and ", extent);
      extents[letter] = both;
    }
  }
  Fact out = Fact::of(in[0].dtype, {});
  for (const char c : letters(static_cast<int>(operands))) {
    const auto letter = static_cast<unsigned char>(c);
    RILL_CHECK(seen[letter], "\"", expr, "\": axis ", c, " of the output is in no input");
    out.shape.push_back(extents[letter]);
  }
  if (has_bias) {
    const Fact& bias = in[static_cast<size_t>(operands)];
    RILL_CHECK(bias_axis >= 0 && bias_axis < out.rank() && bias.rank() == 1 &&
                   bias.dim(0) == out.dim(static_cast<int>(bias_axis)) && bias.dtype == out.dtype,
               "bias ", bias, " along axis ", bias_axis, " of ", out);
  }
  if (has_residual) {
    RILL_CHECK(in.back().dtype == out.dtype && in.back().shape == out.shape, "input ", in.back(),
               " to be added to ", out);
  }
  return one_fact(std::move(out));
}

namespace {

/// The reference implementation: for every output, a sum over the summed letters in order of
/// appearance.
struct ReferenceSum {
  int operands = 0;
  std::string_view free;
  char summed[kMaxRank * kMaxRank];
  size_t summed_count = 0;
  int64_t extent[kLetters] = {};
  int64_t stride[kMaxRank][kLetters] = {};
};

ReferenceSum reference_sum(const EinSum& op, std::span<const View> in) {
  ReferenceSum plan;
  plan.operands = static_cast<int>(op.operands);
  plan.free = op.letters(plan.operands);
  for (int i = 0; i < plan.operands; ++i) {
    const std::string_view axes = op.letters(i);
    const View& view = in[static_cast<size_t>(i)];
    for (size_t axis = 0; axis < axes.size(); ++axis) {
      const auto letter = static_cast<unsigned char>(axes[axis]);
      plan.extent[letter] = std::max(plan.extent[letter], view.shape[axis]);
      if (view.shape[axis] == 0) plan.extent[letter] = 0;
      if (view.shape[axis] != 1) plan.stride[i][letter] += view.stride[axis];
      const std::string_view summed(plan.summed, plan.summed_count);
      const bool known = plan.free.find(axes[axis]) != std::string_view::npos ||
                         summed.find(axes[axis]) != std::string_view::npos;
      if (!known) plan.summed[plan.summed_count++] = axes[axis];
    }
  }
  return plan;
}

template <class T>
T product_sum(T a, T b, T c) {
  if constexpr (std::is_floating_point_v<T>) {
    return kernels::fused(a, b, c);
  } else if constexpr (std::is_integral_v<T>) {
    // Overflow wraps around.
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b) +
                          static_cast<uint64_t>(c));
  } else {
    return a * b + c;
  }
}

template <class Stored, class T>
T sum_at(const ReferenceSum& plan, std::span<const View> in, const int64_t* base, size_t letter,
         T sum) {
  if (letter == plan.summed_count) {
    T product = static_cast<T>(in[0].as<Stored>()[base[0]]);
    for (int i = 1; i + 1 < plan.operands; ++i) {
      const auto next = static_cast<T>(in[static_cast<size_t>(i)].as<Stored>()[base[i]]);
      if constexpr (std::is_integral_v<T>) {
        product = product_sum<T>(product, next, 0);
      } else {
        product = product * next;
      }
    }
    if constexpr (std::is_integral_v<T>) {
      if (plan.operands == 1) return product_sum<T>(product, 1, sum);
    } else {
      if (plan.operands == 1) return sum + product;
    }
    const auto last = static_cast<size_t>(plan.operands - 1);
    return product_sum<T>(product, static_cast<T>(in[last].as<Stored>()[base[last]]), sum);
  }
  const auto name = static_cast<unsigned char>(plan.summed[letter]);
  int64_t at[kMaxRank];
  std::copy(base, base + plan.operands, at);
  for (int64_t k = 0; k < plan.extent[name]; ++k) {
    sum = sum_at<Stored, T>(plan, in, at, letter + 1, sum);
    for (int i = 0; i < plan.operands; ++i) at[i] += plan.stride[i][name];
  }
  return sum;
}

template <class Stored, class T>
void eval_as(const EinSum& op, EvalCtx& ctx) {
  const ReferenceSum plan = reference_sum(op, ctx.in);
  const View& y = ctx.out[0];
  std::array<int64_t, kMaxRank> index{};
  for (int64_t n = y.volume(); n > 0; --n) {
    int64_t base[kMaxRank] = {};
    int64_t at_y = 0;
    for (int axis = 0; axis < y.rank; ++axis) {
      const auto a = static_cast<size_t>(axis);
      const auto letter = static_cast<unsigned char>(plan.free[a]);
      at_y += index[a] * y.stride[a];
      for (int i = 0; i < plan.operands; ++i) base[i] += index[a] * plan.stride[i][letter];
    }
    T sum{};
    size_t extra = static_cast<size_t>(op.operands);
    if (op.has_bias) {
      const View& bias = ctx.in[extra++];
      sum = static_cast<T>(
          bias.as<Stored>()[index[static_cast<size_t>(op.bias_axis)] * bias.stride[0]]);
    }
    sum = sum_at<Stored, T>(plan, ctx.in, base, 0, sum);
    if (op.has_residual) {
      const View& r = ctx.in[extra];
      int64_t at_r = 0;
      for (int axis = 0; axis < r.rank; ++axis)
        at_r += index[static_cast<size_t>(axis)] * r.step(axis);
      sum = sum + static_cast<T>(r.as<Stored>()[at_r]);
    }
    if constexpr (std::is_same_v<T, float>) {
      if (op.clip.on) sum = kernels::limited(sum, op.clip.lo, op.clip.hi);
    }
    y.as<Stored>()[at_y] = static_cast<Stored>(sum);
    next_index(&index, y.shape.data(), y.rank);
  }
}

}  // namespace

Status EinSum::eval(EvalCtx& ctx) const {
  const auto eval = [&](auto tag) {
    using Stored = decltype(tag);
    eval_as<Stored, Computed<Stored>>(*this, ctx);
  };
  const DType dtype = ctx.out[0].dtype;
  if (visit_number(dtype, eval)) return {};
  if (dtype == DType::kDim) {
    RILL_NOT_IN_STEPS(eval_as<Dim, Dim>(*this, ctx);)
    return {};
  }
  return fail(Code::kDType, "no sum of products of ", dtype_name(dtype));
}

Status EinSum::lower(Lowering& lowering) const {
  if (can_lower_einsum_f32(*this, lowering)) return lower_einsum_f32(*this, lowering);
  return Op::lower(lowering);
}

Course EinSum::course() const { return {.form = Course::Form::kProducts}; }

std::vector<AxisTrack> EinSum::axes(FactSpan in, FactSpan) const {
  std::vector<AxisTrack> tracks;
  const std::string_view output = letters(static_cast<int>(operands));
  for (size_t axis = 0; axis < output.size(); ++axis) {
    AxisTrack track;
    for (size_t i = 0; i < in.size(); ++i) {
      int at = -1;
      if (i < static_cast<size_t>(operands)) {
        const size_t found = letters(static_cast<int>(i)).find(output[axis]);
        if (found != std::string_view::npos && !(in[i].dim(static_cast<int>(found)) == Dim(1))) {
          at = static_cast<int>(found);
        }
      } else if (has_residual && i + 1 == in.size()) {
        at = static_cast<int>(axis);
      } else if (static_cast<int64_t>(axis) == bias_axis) {
        at = 0;
      }
      track.in.push_back(at);
    }
    track.out = {static_cast<int>(axis)};
    tracks.push_back(std::move(track));
  }
  return tracks;
}

Status EinSum::pulsify(PulseBuilder& b) const {
  std::array<char, 3> streaming{};
  const std::string_view output = letters(static_cast<int>(operands));
  for (int i = 0; i < operands; ++i) {
    const auto stream = b.stream(i);
    if (!stream) continue;
    const std::array<int, 3> frames = stream->axes();
    for (size_t k = 0; k < frames.size(); ++k) {
      if (frames[k] < 0) continue;
      const char letter = letters(i)[static_cast<size_t>(frames[k])];
      if (output.find(letter) == std::string_view::npos) {
        return b.refuse("Keep the streaming axis, or write (a * b).sum(time), known at the end",
                        "it sums over the streaming axis ", frames[k], " of input ", i,
                        ", which needs the whole stream");
      }
      if (streaming[k] != 0 && streaming[k] != letter) {
        return b.refuse("Limit attention to a window of frames",
                        "every frame of one input meets every frame of another");
      }
      streaming[k] = letter;
    }
  }
  return Op::pulsify(b);
}

Status EinSum::fuse(Rewrite& rewrite) const {
  if (operands != 2) return {};
  if (rewrite.out().dtype != DType::kI32) {
    RILL_TRY(fuse_as_f32(*this, rewrite));
    if (rewrite.replacement() || rewrite.out().dtype != DType::kF32) return {};
  }
  return fuse_by_modules(*this, rewrite);
}

Status EinSum::absorb(const Node& producer, Rewrite& consumer, int input) const {
  if (!consumer.fusing() || operands != 2 || producer.outputs[0].dtype != DType::kF32) return {};
  EinSum fused = *this;
  std::vector<OutletId> inputs = consumer.mapped_inputs(producer);
  if (const auto limits = clip_with(clip, consumer, input)) {
    fused.clip = *limits;
    return consumer.replace_by(make_op<EinSum>(fused), inputs);
  }
  if (has_residual || clip.on) return {};
  if (!has_bias) {
    if (auto bias = column_bias(*this, producer, consumer, input)) {
      fused.has_bias = true;
      fused.bias_axis = bias->first;
      inputs.push_back(consumer.konst(producer.name + "_bias", std::move(bias->second)));
      return consumer.replace_by(make_op<EinSum>(fused), inputs);
    }
  }
  if (const auto other = sum_with(consumer, input, producer.outputs[0])) {
    fused.has_residual = true;
    inputs.push_back(*other);
    return consumer.replace_by(make_op<EinSum>(fused), inputs);
  }
  return {};
}

OpTraits EinSum::traits() const {
  const bool sums = !clip.on && !has_residual;
  return {.takes_limits = !clip.on,
          .takes_sum = sums,
          .takes_constant = sums && !has_bias,
          .precision = Precision::kGrows};
}

Cost EinSum::cost(FactSpan in, FactSpan out) const {
  Cost cost;
  cost.fma = volume(out[0].shape);
  const std::string_view output = letters(static_cast<int>(operands));
  std::string counted;
  for (int i = 0; i < operands; ++i) {
    const std::string_view axes = letters(i);
    for (size_t axis = 0; axis < axes.size(); ++axis) {
      if (output.find(axes[axis]) != std::string_view::npos) continue;
      if (counted.find(axes[axis]) != std::string::npos) continue;
      counted += axes[axis];
      cost.fma *= in[static_cast<size_t>(i)].dim(static_cast<int>(axis));
    }
    cost.bytes += volume(in[static_cast<size_t>(i)].shape) * Dim(dtype_size(in[0].dtype));
  }
  cost.bytes += volume(out[0].shape) * Dim(dtype_size(out[0].dtype));
  return cost;
}

Status EinSum::save(SaveCtx& ctx) const {
  std::string list;
  for (int i = 0; i < operands; ++i) {
    RILL_ASSIGN(const std::string input, ctx.in(i));
    list += (i == 0 ? "" : ", ") + input;
  }
  const int rank = static_cast<int>(letters(0).size());
  for (int form = 0; form < 4 && operands == 2; ++form) {
    const bool ta = (form & 1) != 0;
    const bool tb = (form & 2) != 0;
    if (rank < 2 || expr != matmul_expr(rank, ta, tb)) continue;
    ctx.assign(str_cat("matmul(", list, ", transposeA = ", ta, ", transposeB = ", tb, ")"));
    return {};
  }
  ctx.need_registry("tract_core");
  ctx.assign(str_cat("tract_core_einsum([", list, "], expr = \"", expr, "\", acc = \"",
                     dtype_lower_name(ctx.graph().fact(ctx.node().inputs[0]).dtype),
                     "\", output = \"\")"));
  return {};
}

namespace {

/// Add a product of wires, of type `to`. It is computed in that type, or in f32 if `wide` is set:
/// then sums are rounded once, at the end, and wider factors keep their precision.
Result<Value> add_product(LoadCtx& ctx, std::shared_ptr<EinSum> op, std::vector<OutletId> wires,
                          DType to, bool wide) {
  for (OutletId& wire : wires) {
    RILL_ASSIGN(wire, cast_to(ctx, wire, wide ? DType::kF32 : to));
  }
  RILL_ASSIGN(OutletId out, ctx.add1(std::move(op), wires, wide ? "wide" : ""));
  RILL_ASSIGN(out, cast_to(ctx, out, to));
  return as_value(out);
}

Result<Value> load_matmul(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId a, ctx.wire("A"));
  RILL_ASSIGN(const OutletId b, ctx.wire("B"));
  RILL_ASSIGN(const bool ta, ctx.boolean("transposeA"));
  RILL_ASSIGN(const bool tb, ctx.boolean("transposeB"));
  const int rank = ctx.fact(a).rank();
  RILL_CHECK(rank == ctx.fact(b).rank(), "inputs ", ctx.fact(a), " and ", ctx.fact(b),
             ": expected equal ranks");
  RILL_CHECK(rank >= 2, "inputs ", ctx.fact(a), ": expected at least 2 axes");
  const std::string expr = matmul_expr(rank, ta, tb);
  if (is_quantised(ctx.fact(a).dtype) || is_quantised(ctx.fact(b).dtype)) {
    if constexpr (built("integer_sums")) {
      return load_quant_product(ctx, expr, a, b);
    } else {
      return left_out("products of quantised numbers", "integer_sums");
    }
  }
  auto op = draft_op<EinSum>();
  op->expr = expr;
  // A block-quantised operand takes the type of the other one. With f16, compute in f32: blocks
  // hold more precise numbers.
  const bool left = blocks_of(ctx.fact(a)) != nullptr, right = blocks_of(ctx.fact(b)) != nullptr;
  const DType to = ctx.fact(left ? b : a).dtype;
  return add_product(ctx, std::move(op), {a, b}, to, (left || right) && to == DType::kF16);
}

Result<Value> load_einsum(LoadCtx& ctx) {
  RILL_ASSIGN(std::vector<OutletId> inputs, ctx.wires("inputs"));
  RILL_ASSIGN(std::string expr, ctx.text("expr"));
  RILL_ASSIGN(const std::string acc, ctx.text("acc"));
  std::erase_if(expr, [](char c) { return c == ' '; });
  if (inputs.empty() || inputs.size() > kMaxRank) {
    return fail(Code::kUnsupported, counted(inputs.size(), "input"), ": expected 1 to ", kMaxRank);
  }
  const size_t arrow = expr.find("->");
  const std::string sides = expr.substr(0, arrow);
  if (static_cast<size_t>(std::count(sides.begin(), sides.end(), ',')) + 1 != inputs.size()) {
    return fail(Code::kArg, "\"", expr, "\": expected letters for ",
                counted(inputs.size(), "input"));
  }
  for (const char c : expr) {
    const bool allowed =
        std::isalpha(static_cast<unsigned char>(c)) || c == ',' || c == '-' || c == '>';
    if (!allowed) return fail(Code::kArg, "\"", expr, "\": expected letters, commas and ->");
  }
  auto op = draft_op<EinSum>();
  op->operands = static_cast<int64_t>(inputs.size());
  if (arrow == std::string::npos) {
    std::string once;
    for (char c = 'A'; c <= 'z'; ++c) {
      if (std::isalpha(static_cast<unsigned char>(c)) &&
          std::count(expr.begin(), expr.end(), c) == 1)
        once += c;
    }
    expr += "->" + once;
  }
  op->expr = std::move(expr);
  const auto dtype = dtype_from_name(acc);
  if (!dtype) return fail(Code::kDType, "acc \"", acc, "\": no such type");
  const bool wide = *dtype == DType::kF16 && any_of(inputs, [&](OutletId input) {
    return ctx.fact(input).dtype == DType::kF32;
  });
  return add_product(ctx, std::move(op), std::move(inputs), *dtype, wide);
}

const NnefOp kOps[] = {
    {"tract_nnef",
     "fragment matmul(A: tensor<scalar>, B: tensor<scalar>, transposeA: logical = false, "
     "transposeB: logical = false) -> (C: tensor<scalar>);",
     load_matmul},
    {"tract_core",
     "fragment tract_core_einsum(inputs: tensor<scalar>[], expr: string, acc: string, "
     "output: string = '') -> (result: tensor<scalar>);",
     load_einsum},
};

constexpr OpClass kClasses[] = {op_class<EinSum>("EinSum")};

}  // namespace

extern const OpModule einsum_module;
const OpModule einsum_module = {"einsum", kOps, kClasses};

}  // namespace rill::ops
