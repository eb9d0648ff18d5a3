#include "ops/math/pointwise.h"

#include "core/optim/optim.h"
#include "ops/math/test_support.h"
#include "ops/nn/conv.h"

namespace rill::ops::test {
namespace {

struct Fused {
  int programs = 0;
  int elementwise = 0;  ///< operations that were not fused
  size_t longest = 0;
};

Fused fused(const Graph& graph) {
  Fused out;
  const Graph done = fuse(declutter(graph).value()).value();
  for (const Node& node : done.nodes) {
    if (const auto* op = node.op->as<Pointwise>()) {
      ++out.programs;
      out.longest = std::max(out.longest, op->code.size());
    } else if (node.op->name() != "Source" && node.op->name() != "Const") {
      ++out.elementwise;
    }
  }
  return out;
}

/// Expect the same bits with and without fusion.
void expect_same_fused(const Graph& graph, const std::vector<Tensor>& inputs) {
  const Graph simple = declutter(graph).value();
  Graph bound = simple;
  const auto plain = run(simple, inputs, false);
  const auto optimised = run(simple, inputs, true);
  ASSERT_TRUE(plain.ok()) << plain.error().to_string();
  ASSERT_TRUE(optimised.ok()) << optimised.error().to_string();
  for (size_t i = 0; i < plain->size(); ++i) expect_same((*optimised)[i], (*plain)[i]);
}

TEST(Pointwise, FusesAChain) {
  const Graph graph = graph_of({{"x", "3, 5"}}, "y = tanh((x * 2.0 + 1.0) / 3.0);");
  const Fused out = fused(graph);
  EXPECT_EQ(out.programs, 1);
  EXPECT_EQ(out.elementwise, 0);
  EXPECT_EQ(out.longest, 4U);
  expect_same_fused(graph, {random_f32(1, {3, 5})});
}

TEST(Pointwise, FusesATreeWithSharedInputs) {
  const Graph graph = graph_of({{"a", "3, 5"}, {"b", "3, 5"}, {"c", "1, 5"}},
                               "y = (a * sigmoid(b) + c) - a * (b - c);");
  const Fused out = fused(graph);
  EXPECT_EQ(out.programs, 1);
  EXPECT_EQ(out.elementwise, 0);
  expect_same_fused(graph, {random_f32(1, {3, 5}), random_f32(2, {3, 5}), random_f32(3, {1, 5})});
}

TEST(Pointwise, FusesComparisonsThatASelectReads) {
  const Graph graph =
      graph_of({{"x", "4, 4"}}, "c = and(x > -1.0, not(x > 1.0)); y = select(c, exp(x), x * 0.5);");
  const Fused out = fused(graph);
  EXPECT_EQ(out.programs, 1);
  EXPECT_EQ(out.elementwise, 0);
  expect_same_fused(graph, {random_f32(1, {4, 4})});
}

TEST(Pointwise, DoesNotFuseATruthValueWithOtherReaders) {
  const Graph graph =
      graph_of({{"x", "4"}}, "c = x > 0.0; y = select(c, exp(x), x); z = not(c);", "y, z");
  expect_same_fused(graph, {random_f32(1, {4})});
}

TEST(Pointwise, DoesNotFuseAValueThatIsReadTwice) {
  const Graph graph = graph_of({{"x", "4"}}, "a = exp(x); y = a * 2.0; z = a + 1.0;", "y, z");
  const Fused out = fused(graph);
  EXPECT_EQ(out.programs, 0);
  EXPECT_EQ(out.elementwise, 3);
}

TEST(Pointwise, ComputesSmallOperandsOnce) {
  const Graph graph = graph_of({{"x", "4, 8"}, {"b", "1, 8"}}, "y = x + exp(b);");
  EXPECT_EQ(fused(graph).programs, 0);
}

TEST(Pointwise, KeepsTheShapeThatAConstantGives) {
  const Graph graph = graph_of({{"x", "1, 3"}}, "y = exp(x + [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]);");
  EXPECT_EQ(graph.fact(graph.outputs[0]).to_string(), "2,3,F32");
  expect_same_fused(graph, {random_f32(1, {1, 3})});
}

TEST(Pointwise, SplitsLongPrograms) {
  std::string statements = "a0 = x;";
  for (int i = 0; i < 60; ++i) {
    statements += str_cat(" a", i + 1, " = a", i, i % 2 == 0 ? " * 1.01;" : " + 0.25;");
  }
  statements += " y = neg(a60);";
  const Graph graph = graph_of({{"x", "7, 9"}}, statements);
  const Fused out = fused(graph);
  EXPECT_LE(out.longest, 24U);
  EXPECT_LE(out.programs + out.elementwise, 6);
  expect_same_fused(graph, {random_f32(1, {7, 9})});
}

TEST(Pointwise, SplitsProgramsOfManyInputs) {
  std::vector<Input> inputs;
  std::vector<Tensor> values;
  std::string sum;
  for (int i = 0; i < 20; ++i) {
    inputs.push_back({str_cat("x", i), "3, 2"});
    values.push_back(random_f32(static_cast<uint32_t>(i), {3, 2}));
    sum += str_cat(i == 0 ? "" : " + ", "x", i, " * x", (i + 3) % 20);
  }
  const Graph graph = graph_of(inputs, "y = " + sum + ";");
  EXPECT_GE(fused(graph).programs, 2);
  expect_same_fused(graph, values);
}

TEST(Pointwise, KeepsABalancedTreeWithinItsRegisters) {
  std::string level = "x";
  std::vector<std::string> terms;
  for (int i = 0; i < 16; ++i) terms.push_back(str_cat("(x + ", i + 1, ".5)"));
  while (terms.size() > 1) {
    std::vector<std::string> next;
    for (size_t i = 0; i + 1 < terms.size(); i += 2) {
      next.push_back("(" + terms[i] + " * " + terms[i + 1] + ")");
    }
    terms = next;
  }
  const Graph graph = graph_of({{"x", "33"}}, "y = " + terms[0] + ";");
  expect_same_fused(graph, {random_f32(1, {33})});
}

TEST(Pointwise, GivesTheSameInEveryLayout) {
  auto op = draft_op<Pointwise>();
  op->inputs = 2;
  kernels::PointwiseInstr sum;
  sum.op = kernels::PointwiseOp::kAdd;
  sum.a = 0;
  sum.b = 1;
  kernels::PointwiseInstr top;
  top.op = kernels::PointwiseOp::kMax;
  top.a = 2;
  top.imm_at = kernels::PointwiseImm::kB;
  top.imm = 0.25F;
  op->code = {sum, top};
  expect_every_layout(op, {random_f32(1, {2, 3, 4}), random_f32(2, {2, 1, 4})});
  ASSERT_TRUE(op->as_add_clip().has_value());
  EXPECT_EQ(op->as_add_clip()->low, 0.25F);
  EXPECT_EQ(op->as_clip(), std::nullopt);
}

TEST(Pointwise, RefusesProgramsThatReadAhead) {
  Pointwise op;
  op.inputs = 1;
  kernels::PointwiseInstr instr;
  instr.op = kernels::PointwiseOp::kNeg;
  instr.a = 1;
  op.code = {instr};
  const Fact x = Fact::of(DType::kF32, {Dim(2)});
  EXPECT_EQ(op.infer({&x, 1}).status().code(), Code::kShape);
  op.code.clear();
  EXPECT_FALSE(op.infer({&x, 1}).ok());
}

TEST(Pointwise, IsRecognisedAsAClip) {
  Pointwise op;
  op.inputs = 1;
  kernels::PointwiseInstr low;
  low.op = kernels::PointwiseOp::kMax;
  low.imm_at = kernels::PointwiseImm::kB;
  low.imm = -1.0F;
  kernels::PointwiseInstr high = low;
  high.op = kernels::PointwiseOp::kMin;
  high.a = 1;
  high.imm = 6.0F;
  op.code = {low, high};
  ASSERT_TRUE(op.as_clip().has_value());
  EXPECT_EQ(op.as_clip()->low, -1.0F);
  EXPECT_EQ(op.as_clip()->high, 6.0F);
}

TEST(Pointwise, LeavesLimitsToAConvolution) {
  const Graph graph = graph_of({{"x", "1, 2, 9"}},
                               "c = conv(x, [[[1.0], [2.0]]], 0.5, padding = [(0, 0)]);"
                               " y = tanh(max(c, 0.0)) * 0.5;");
  const Graph done = fuse(declutter(graph).value()).value();
  bool limits = false;
  for (const Node& node : done.nodes) {
    if (const auto* op = node.op->as<Conv>()) limits = op->clip.on;
    const auto* program = node.op->as<Pointwise>();
    EXPECT_EQ(program ? program->code.size() : 2U, 2U);
  }
  EXPECT_TRUE(limits);
}

TEST(Pointwise, StreamsAsTheWhole) {
  const Graph graph =
      graph_of({{"x", "3, S"}},
               "y = select(x < 0.0, exp(x) - 1.0, x * sigmoid(x)) * [[0.5], [1.5], [2.5]];");
  expect_streams(graph, 1, {1, 5, 16}, {1, 7, 33}, {0, 0, 0});
}

}  // namespace
}  // namespace rill::ops::test
