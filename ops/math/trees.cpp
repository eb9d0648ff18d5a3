#include <algorithm>
#include <cmath>

#include "core/base/bits.h"
#include "core/graph/nnef.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"
#include "ops/math/binary.h"

namespace rill::ops {
namespace {

constexpr int64_t kColumns = 5;  ///< per node: feature, true row, false row, value, test

/// Let trees vote: each tree leads a row of features to a leaf, which votes for classes.
/// `aggregate` (SUM, AVERAGE, MAX or MIN) combines the votes for a class to its score.
/// `trees`: the row of each root in `nodes`.
/// `nodes`: feature, row if true, row if false, the bits of an f32, and the test (1 ==, 2 !=, 3 <,
/// 4 >, 5 <=, 6 >=; + 256 if NaN is true). A leaf has its first vote, the end of its votes, 0, 0,
/// 0.
/// `votes`: class, the bits of an f32.
/// Shapes: [N, F] -> [N, `classes`]. Types: f32. Errors: kShape, kDType, kArg for rows, features or
/// classes out of range.
/// Stream: pointwise on the rows.
/// Source: ONNX-ML, `TreeEnsembleClassifier`; tract, `tract_onnx_ml_tree_ensemble_classifier`.
class TreeEnsemble final : public OpBase<TreeEnsemble> {
 public:
  TensorPtr trees;
  TensorPtr nodes;
  TensorPtr votes;
  int64_t features = 1;  ///< number of features that the trees read
  int64_t classes = 1;
  std::string aggregate = "SUM";

  std::string_view name() const override { return "TreeEnsembleClassifier"; }
  void fields(FieldVisitor& visitor) override {
    visitor.field("trees", trees);
    visitor.field("nodes", nodes);
    visitor.field("votes", votes);
    ranged_field(visitor, "features", 0, int64_t{1} << 32, features);
    ranged_field(visitor, "classes", 1, int64_t{1} << 31, classes);
    visitor.field("aggregate", aggregate);
  }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  /// Bound the work: a walk down a tree takes at most one step per node, then adds the votes of a
  /// leaf.
  Dim work(FactSpan in, FactSpan) const override {
    const Dim each = Dim(nodes->extent(0)) + Dim(votes->extent(0));
    const Dim times = aggregate == "AVERAGE" ? Dim(classes) + Dim(1) : Dim(1);
    return in[0].dim(0) * (Dim(trees->volume()) * each * times + Dim(classes));
  }
  std::vector<AxisTrack> axes(FactSpan, FactSpan) const override { return {{{0}, {0}}}; }
  Tolerance tolerance() const override { return Tolerance::kRounding; }
  Status save(SaveCtx& ctx) const override;

 private:
  Status check() const;
  const uint32_t* node(int64_t row) const { return nodes->data<uint32_t>() + row * kColumns; }
  static uint32_t test_of(const uint32_t* row) { return row[4] & 0xFFU; }
  static bool is_leaf(const uint32_t* row) { return test_of(row) < 1 || test_of(row) > 6; }
  const uint32_t* leaf_of(uint32_t root, const View& x, int64_t row) const;
};

Status TreeEnsemble::check() const {
  for (const TensorPtr& table : {trees, nodes, votes}) {
    if (table && table->dtype() == DType::kU32) continue;
    return fail(Code::kDType, "trees, nodes and leaves: expected u32, found ",
                table ? dtype_name(table->dtype()) : "none");
  }
  RILL_CHECK(trees->rank() == 1 && nodes->rank() == 2 && nodes->extent(1) == kColumns &&
                 votes->rank() == 2 && votes->extent(1) == 2,
             "trees of shape ", trees->shape(), ", nodes ", nodes->shape(), ", leaves ",
             votes->shape(), ": expected [n], [m, 5] and [l, 2]");
  RILL_CHECK(classes >= 1 && classes <= (int64_t{1} << 31) && features >= 0, classes, " classes, ",
             features, " features");
  const int64_t rows = nodes->extent(0);
  for (const uint32_t root : trees->values<uint32_t>()) {
    if (root >= rows) return fail(Code::kArg, "no node ", root, " of ", rows);
  }
  for (int64_t i = 0; i < rows; ++i) {
    const uint32_t* row = node(i);
    const bool sound = is_leaf(row) ? row[0] <= row[1] && row[1] <= votes->extent(0)
                                    : row[0] < features && row[1] < rows && row[2] < rows;
    if (!sound)
      return fail(Code::kArg, "node ", i, " names a row or a feature that does not exist");
  }
  for (int64_t i = 0; i < votes->extent(0); ++i) {
    const uint32_t own = votes->data<uint32_t>()[2 * i];
    if (own >= classes) return fail(Code::kArg, "no class ", own, " of ", classes);
  }
  if (aggregate == "SUM" || aggregate == "AVERAGE" || aggregate == "MAX" || aggregate == "MIN") {
    return {};
  }
  return fail(Code::kArg, "aggregate_fn \"", aggregate, "\": expected SUM, AVERAGE, MAX or MIN");
}

Result<Facts> TreeEnsemble::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 1));
  RILL_TRY(check());
  RILL_CHECK(in[0].rank() == 2, "input ", in[0], ": expected [rows, features]");
  if (in[0].dtype != DType::kF32) return fail(Code::kDType, "input ", in[0], ": expected f32");
  const auto width = in[0].dim(1).to_int();
  RILL_CHECK(!width || *width >= features, "input ", in[0], ": the trees read ", features,
             " features");
  return one_fact(Fact::of(DType::kF32, {in[0].dim(0), Dim(classes)}));
}

bool passes(uint32_t test, float x, float value) {
  switch (test) {
    case 1:
      return x == value;
    case 2:
      return x != value;
    case 3:
      return x < value;
    case 4:
      return x > value;
    case 5:
      return x <= value;
    default:
      return x >= value;
  }
}

/// Nodes that form a cycle end after one step per node, at no leaf.
const uint32_t* TreeEnsemble::leaf_of(uint32_t root, const View& x, int64_t row) const {
  const uint32_t* at = node(root);
  for (int64_t steps = nodes->extent(0); !is_leaf(at) && steps > 0; --steps) {
    const float feature = x.as<const float>()[row * x.step(0) + at[0] * x.step(1)];
    const bool truth = std::isnan(feature)
                           ? (at[4] & 0x100U) != 0
                           : passes(test_of(at), feature, bit_cast<float>(at[3]));
    at = node(truth ? at[1] : at[2]);
  }
  return at;
}

Status TreeEnsemble::eval(EvalCtx& ctx) const {
  const View& x = ctx.in[0];
  const View& y = ctx.out[0];
  for (int64_t n = 0; n < y.extent(0); ++n) {
    const auto score = [&](int64_t c) -> float& {
      return y.as<float>()[n * y.step(0) + c * y.step(1)];
    };
    const auto for_votes = [&](const auto& body) {
      for (const uint32_t root : trees->values<uint32_t>()) {
        const uint32_t* leaf = leaf_of(root, x, n);
        for (int64_t i = leaf[0]; is_leaf(leaf) && i < leaf[1]; ++i) {
          const uint32_t* vote = votes->data<uint32_t>() + 2 * i;
          body(static_cast<int64_t>(vote[0]), bit_cast<float>(vote[1]));
        }
      }
    };
    for (int64_t c = 0; c < classes; ++c) score(c) = 0.0F;
    for_votes([&](int64_t c, float weight) {
      if (aggregate == "MAX") {
        score(c) = std::fmax(score(c), weight);
      } else if (aggregate == "MIN") {
        score(c) = std::fmin(score(c), weight);
      } else {
        score(c) += weight;
      }
    });
    for (int64_t c = 0; aggregate == "AVERAGE" && c < classes; ++c) {
      int64_t count = 0;
      for_votes([&](int64_t own, float) { count += own == c ? 1 : 0; });
      if (count > 1) score(c) /= static_cast<float>(count);
    }
  }
  return {};
}

Status TreeEnsemble::save(SaveCtx& ctx) const {
  RILL_ASSIGN(const std::string x, ctx.in(0));
  RILL_ASSIGN(const std::string roots, ctx.variable("trees", trees));
  RILL_ASSIGN(const std::string rows, ctx.variable("nodes", nodes));
  RILL_ASSIGN(const std::string leaves, ctx.variable("leaves", votes));
  ctx.need_registry("tract_onnx");
  ctx.assign(str_cat("tract_onnx_ml_tree_ensemble_classifier(", x, ", ", roots, ", ", rows, ", ",
                     leaves, ", max_used_feature = ", features - 1, ", n_classes = ", classes,
                     ", aggregate_fn = \"", aggregate, "\")"));
  return {};
}

Result<TensorPtr> table(LoadCtx& ctx, const char* name) {
  RILL_ASSIGN(const OutletId wire, plain_wire(ctx, name));
  TensorPtr value = ctx.fact(wire).konst;
  if (!value) return fail(Code::kUnsupported, "argument \"", name, "\" is not a constant");
  if (!is_int(value->dtype())) return value;
  RILL_ASSIGN(Tensor typed, cast(*value, DType::kU32));
  value = std::make_shared<const Tensor>(std::move(typed));
  return value;
}

Result<Value> load(LoadCtx& ctx) {
  RILL_ASSIGN(OutletId x, plain_wire(ctx, "input"));
  RILL_ASSIGN(x, cast_to(ctx, x, DType::kF32));
  auto op = draft_op<TreeEnsemble>();
  RILL_ASSIGN(op->trees, table(ctx, "trees"));
  RILL_ASSIGN(op->nodes, table(ctx, "nodes"));
  RILL_ASSIGN(op->votes, table(ctx, "leaves"));
  RILL_ASSIGN(const int64_t last, ctx.integer("max_used_feature"));
  RILL_CHECK(last >= 0 && last < (int64_t{1} << 32), "max_used_feature ", last);
  op->features = last + 1;
  RILL_ASSIGN(op->classes, ctx.integer("n_classes"));
  RILL_ASSIGN(op->aggregate, ctx.text("aggregate_fn"));
  return ctx.add_value(std::move(op), {x});
}

constexpr NnefOp kOps[] = {
    {"tract_onnx",
     "fragment tract_onnx_ml_tree_ensemble_classifier(input: tensor<scalar>,"
     " trees: tensor<integer>, nodes: tensor<integer>, leaves: tensor<integer>,"
     " max_used_feature: integer, n_classes: integer, aggregate_fn: string)"
     " -> (output: tensor<scalar>);",
     load},
};

constexpr OpClass kClasses[] = {op_class<TreeEnsemble>("TreeEnsemble")};

}  // namespace

extern const OpModule trees_module;
const OpModule trees_module = {"trees", kOps, kClasses};

}  // namespace rill::ops
