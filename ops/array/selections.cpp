// Operators whose number of output entries depends on input values. Shapes must be known before a
// run. So these operators are folded for constant inputs, and otherwise refused when a plan is
// made.

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/search.h"
#include "core/base/sorted.h"
#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"

namespace rill::ops {
namespace {

Status refuse_at_run_time(const Dim& count) {
  return fail(Code::kUnsupported, "the values of its input decide the number of output entries, ",
              count)
      .hint(
          "Every shape must be known before a run: give the input as a constant, or cut the graph "
          "before this operator");
}

bool is_true(const View& x, int64_t at) {
  if (x.dtype == DType::kBool) return x.as<const uint8_t>()[at] != 0;
  bool truth = false;
  visit_number(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    truth = !(upcast(x.as<const T>()[at]) == Wide<T>(0));
  });
  return truth;
}

/// List the positions of nonzero elements in row-major order, one column per element.
/// Shapes: [D0..Dn] -> [n + 1, `count`]. Types: bool and numbers -> i64. Errors: kDType;
/// kUnsupported at prepare if the input is not constant.
/// Stream: refused.
/// Source: ONNX, `NonZero`; tract, `tract_onnx_non_zero`.
class NonZero final : public OpBase<NonZero> {
 public:
  Dim count;
  std::string_view name() const override { return "NonZero"; }
  void fields(FieldVisitor& visitor) override { visitor.field("count", count); }
  Result<Facts> infer(FactSpan in) const override {
    RILL_TRY(expect_inputs(in, 1));
    if (in[0].dtype != DType::kBool && !is_number(in[0].dtype)) {
      return fail(Code::kDType, "input ", in[0], ": expected bool or numbers");
    }
    Dim columns = count;
    if (in[0].konst) {
      const View x = in[0].konst->view();
      int64_t found = 0;
      for_each_element<1>({x},
                          [&](const std::array<int64_t, 1>& at) { found += is_true(x, at[0]); });
      columns = Dim(found);
    }
    return one_fact(Fact::of(DType::kI64, {Dim(in[0].rank()), columns}));
  }
  Status eval(EvalCtx& ctx) const override {
    const View& x = ctx.in[0];
    const View& y = ctx.out[0];
    int64_t column = 0;
    std::array<int64_t, kMaxRank> index{};
    for_each_element<1>({x}, [&](const std::array<int64_t, 1>& at) {
      if (is_true(x, at[0]) && column < y.extent(1)) {
        for (int axis = 0; axis < x.rank; ++axis) {
          const int64_t to = axis * y.step(0) + column * y.step(1);
          y.as<int64_t>()[to] = index[static_cast<size_t>(axis)];
        }
        ++column;
      }
      next_index(&index, x.shape.data(), x.rank);
    });
    return {};
  }
  Status lower(Lowering&) const override { return refuse_at_run_time(count); }
  Status save(SaveCtx& ctx) const override {
    RILL_ASSIGN(const std::string x, ctx.in(0));
    ctx.need_registry("tract_onnx");
    const auto symbol = count.as_symbol();
    const std::string named = symbol ? str_cat(", count_symbol = \"", *symbol, "\"") : "";
    ctx.assign(str_cat("tract_onnx_non_zero(", x, named, ")"));
    return {};
  }
};

/// Choose boxes in descending order of their scores, and skip boxes that overlap a chosen one.
/// `center`: a box is [x, y, width, height], x and y being its centre; else two corners [y, x, y,
/// x].
/// Shapes: boxes [N, B, 4], scores [N, C, B] -> [`count`, 3]: batch, class and box per entry.
/// Types: f16, f32 -> i64. Errors: kShape, kDType; kUnsupported at prepare if an input is not
/// constant.
/// Stream: refused.
/// Source: ONNX, `NonMaxSuppression`; tract, `tract_onnx_non_max_suppression`.
class NonMaxSuppression final : public OpBase<NonMaxSuppression> {
 public:
  Dim count;
  int64_t most = 0;  ///< the maximum number of boxes per class; 0: no limit
  float overlap = 0.0F;
  bool has_threshold = false;
  float threshold = 0.0F;
  bool center = false;

  std::string_view name() const override { return "NonMaxSuppression"; }
  void fields(FieldVisitor& visitor) override {
    visitor.field("count", count);
    visitor.field("most", most);
    visitor.field("overlap", overlap);
    visitor.field("has_threshold", has_threshold);
    visitor.field("threshold", threshold);
    visitor.field("center", center);
  }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering&) const override { return refuse_at_run_time(count); }
  Status save(SaveCtx& ctx) const override;

 private:
  using Chosen = std::vector<std::array<int64_t, 3>>;
  Chosen chosen(const View& boxes, const View& scores) const;
  bool overlaps(const View& boxes, int64_t batch, int64_t a, int64_t b) const;
};

float float_at(const View& view, int64_t at) {
  return view.dtype == DType::kF16 ? static_cast<float>(view.as<const Half>()[at])
                                   : view.as<const float>()[at];
}

struct Box {
  float low[2];
  float high[2];
  float area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
};

bool NonMaxSuppression::overlaps(const View& boxes, int64_t batch, int64_t a, int64_t b) const {
  const auto box_at = [&](int64_t row) {
    float v[4];
    for (int64_t i = 0; i < 4; ++i) {
      v[i] = float_at(boxes, batch * boxes.step(0) + row * boxes.step(1) + i * boxes.step(2));
    }
    Box box;
    for (int i = 0; i < 2; ++i) {
      box.low[i] = center ? v[i] - v[i + 2] / 2.0F : std::fmin(v[i], v[i + 2]);
      box.high[i] = center ? v[i] + v[i + 2] / 2.0F : std::fmax(v[i], v[i + 2]);
    }
    return box;
  };
  const Box p = box_at(a);
  const Box q = box_at(b);
  float common = 1.0F;
  for (int i = 0; i < 2; ++i) {
    const float side = std::fmin(p.high[i], q.high[i]) - std::fmax(p.low[i], q.low[i]);
    if (!(side > 0.0F)) return false;
    common *= side;
  }
  const float all = p.area() + q.area() - common;
  if (p.area() < 0.0F || q.area() < 0.0F || all < 0.0F) return false;
  return common / all > overlap;
}

NonMaxSuppression::Chosen NonMaxSuppression::chosen(const View& boxes, const View& scores) const {
  Chosen out;
  for (int64_t n = 0; n < scores.extent(0); ++n) {
    for (int64_t c = 0; c < scores.extent(1); ++c) {
      std::vector<std::pair<float, int64_t>> candidates;
      for (int64_t i = 0; i < scores.extent(2); ++i) {
        const int64_t at = n * scores.step(0) + c * scores.step(1) + i * scores.step(2);
        const float score = float_at(scores, at);
        if (std::isnan(score) || (has_threshold && !(score > threshold))) continue;
        candidates.emplace_back(score, i);
      }
      sort_list(candidates, [](const auto& a, const auto& b) { return a.first > b.first; });
      const size_t first = out.size();
      for (const auto& candidate : candidates) {
        if (most > 0 && static_cast<int64_t>(out.size() - first) >= most) break;
        const int64_t box = candidate.second;
        const bool hidden =
            std::any_of(out.begin() + static_cast<ptrdiff_t>(first), out.end(),
                        [&](const auto& kept) { return overlaps(boxes, n, box, kept[2]); });
        if (!hidden) out.push_back({n, c, box});
      }
    }
  }
  return out;
}

Result<Facts> NonMaxSuppression::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 2));
  for (const Fact& fact : in) {
    RILL_CHECK(fact.rank() == 3, "input ", fact, ": expected rank 3");
    if (fact.dtype != DType::kF32 && fact.dtype != DType::kF16) {
      return fail(Code::kDType, "input ", fact, ": expected f32 or f16");
    }
  }
  RILL_CHECK(in[0].dim(2) == Dim(4) && in[0].dim(0) == in[1].dim(0) && in[0].dim(1) == in[1].dim(2),
             "boxes ", in[0], ", scores ", in[1], ": expected [N, B, 4] and [N, C, B]");
  RILL_CHECK(most >= 0, "max_output_boxes_per_class ", most);
  Dim rows = count;
  if (in[0].konst && in[1].konst) {
    rows = Dim(static_cast<int64_t>(chosen(in[0].konst->view(), in[1].konst->view()).size()));
  }
  return one_fact(Fact::of(DType::kI64, {rows, Dim(3)}));
}

RILL_NOT_IN_STEPS_BEGIN
Status NonMaxSuppression::eval(EvalCtx& ctx) const {
  const View& y = ctx.out[0];
  const Chosen rows = chosen(ctx.in[0], ctx.in[1]);
  for (int64_t i = 0; i < y.extent(0); ++i) {
    for (int64_t k = 0; k < 3; ++k) {
      y.as<int64_t>()[i * y.step(0) + k * y.step(1)] =
          rows[static_cast<size_t>(i)][static_cast<size_t>(k)];
    }
  }
  return {};
}
RILL_NOT_IN_STEPS_END

Status NonMaxSuppression::save(SaveCtx& ctx) const {
  RILL_ASSIGN(const std::string boxes, ctx.in(0));
  RILL_ASSIGN(const std::string scores, ctx.in(1));
  ctx.need_registry("tract_core");
  ctx.need_registry("tract_onnx");
  const std::string least =
      has_threshold ? str_cat(", score_threshold = ", nnef_text(threshold)) : std::string();
  ctx.assign(str_cat("tract_onnx_non_max_suppression(", boxes, ", ", scores,
                     ", max_output_boxes_per_class = tract_core_cast(", most,
                     ", to = \"i64\"), iou_threshold = ", nnef_text(overlap), least,
                     ", center_point_box = ", center ? 1 : 0, ")"));
  return {};
}

/// Return a symbol for the number of entries: the symbol that an argument names, or a new one.
Result<Dim> count_symbol(LoadCtx& ctx, std::string_view argument, std::string_view stem) {
  SymbolScope& scope = ctx.graph().scope;
  std::string symbol = scope.fresh(stem);
  if (!argument.empty() && ctx.given(argument)) {
    RILL_ASSIGN(symbol, ctx.text(argument));
    const bool word = !symbol.empty() && all_of(symbol, [](char c) {
      return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
    });
    if (!word) return fail(Code::kArg, argument, " \"", symbol, "\": expected a name");
  }
  scope.declare(symbol);
  return Dim::symbol(symbol);
}

Result<Value> load_non_zero(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  auto op = draft_op<NonZero>();
  RILL_ASSIGN(op->count, count_symbol(ctx, "count_symbol", "nonzero"));
  return ctx.add_value(std::move(op), {x});
}

Result<Value> load_suppression(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId boxes, plain_wire(ctx, "boxes"));
  RILL_ASSIGN(const OutletId scores, plain_wire(ctx, "scores"));
  auto op = draft_op<NonMaxSuppression>();
  RILL_ASSIGN(op->most, ctx.integer("max_output_boxes_per_class"));
  RILL_ASSIGN(op->overlap, ctx.number("iou_threshold"));
  RILL_ASSIGN(const Value least, ctx.value("score_threshold"));
  op->has_threshold = least.get<bool>() == nullptr;
  if (op->has_threshold) {
    RILL_ASSIGN(op->threshold, ctx.number("score_threshold"));
  }
  RILL_ASSIGN(const int64_t form, ctx.integer("center_point_box"));
  RILL_CHECK(form == 0 || form == 1, "center_point_box ", form, ": expected 0 or 1");
  op->center = form == 1;
  RILL_ASSIGN(op->count, count_symbol(ctx, "", "boxes"));
  return ctx.add_value(std::move(op), {boxes, scores});
}

constexpr NnefOp kOps[] = {
    {"tract_onnx",
     "fragment tract_onnx_non_zero(input: tensor<?>, count_symbol: string = '')"
     " -> (output: tensor<integer>);",
     load_non_zero},
    {"tract_onnx",
     "fragment tract_onnx_non_max_suppression(boxes: tensor<scalar>, scores: tensor<scalar>,"
     " max_output_boxes_per_class: integer = 0, iou_threshold: scalar = 0.0,"
     " score_threshold: scalar = false, center_point_box: integer = 0)"
     " -> (output: tensor<integer>);",
     load_suppression},
};

}  // namespace

extern const OpModule selections_module;
const OpModule selections_module = {"selections", kOps};

}  // namespace rill::ops
