// The functions that operators declare, compared with the values that the operators compute.

#include "core/graph/course.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "core/positions/element.h"
#include "ops/array/axis_ops.h"
#include "ops/array/broadcast.h"
#include "ops/array/cast.h"
#include "ops/array/concat.h"
#include "ops/array/gather.h"
#include "ops/array/reshape.h"
#include "ops/array/slice.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/math/select.h"
#include "ops/math/unary.h"
#include "ops/nn/softmax.h"

namespace rill {
namespace {

using Form = Course::Form;
using Function = Course::Function;
using ops::BinaryKind;
using ops::UnaryKind;

/// Evaluates an operator on single elements.
class Single {
 public:
  Single(OpPtr op, const std::vector<DType>& in) : op_(std::move(op)) {
    for (const DType dtype : in) in_.push_back(Fact::of(dtype, {1}));
    auto out = op_->infer(in_);
    EXPECT_TRUE(out.ok());
    if (out.ok()) out_ = std::move(out).value();
  }
  std::optional<double> at(const std::vector<double>& x) const {
    return number_of(PositionOp(*op_, in_, out_), x);
  }

 private:
  OpPtr op_;
  Facts in_;
  Facts out_;
};

/// Return numbers on both sides of 0 and 1, from small to large.
std::vector<double> numbers() {
  std::vector<double> out;
  for (double x = -12; x <= 12; x += 0.125) out.push_back(x);
  return out;
}

/// Return whether some values rise and others fall by more than rounding errors.
bool changes_direction(const std::vector<double>& values) {
  bool rises = false;
  bool falls = false;
  for (size_t i = 1; i < values.size(); ++i) {
    const double least = 1e-6 * std::max(std::abs(values[i]), std::abs(values[i - 1]));
    rises |= values[i] > values[i - 1] + least;
    falls |= values[i] < values[i - 1] - least;
  }
  return rises && falls;
}

TEST(Course, UnaryFunctionsThatAreDeclaredMonotoneAreMonotone) {
  int declared = 0;
  for (int k = 0; k <= static_cast<int>(UnaryKind::kRoundEven); ++k) {
    const ops::Unary op(static_cast<UnaryKind>(k), 0.1F);
    const Course course = op.course();
    if (!course.monotone_from) continue;
    ++declared;
    const Single single(make_op(op), {DType::kF32});
    std::vector<double> right;
    std::vector<double> left;
    for (const double x : numbers()) {
      const auto y = single.at({x});
      if (course.is_monotone(x, x + 1)) {
        if (y) right.push_back(*y);
        // Logarithms have a pole at the end of their range.
        EXPECT_TRUE(y || x == *course.monotone_from || x < 0) << op.name() << " at " << x;
      }
      if (course.mirrored && x <= 0 && y) left.push_back(*y);
    }
    if (course.mirrored) {
      right.clear();
      for (const double x : numbers()) {
        if (x >= 0) right.push_back(single.at({x}).value_or(NAN));
      }
    }
    EXPECT_GT(right.size(), 2U) << op.name();
    EXPECT_FALSE(changes_direction(right)) << op.name();
    EXPECT_FALSE(changes_direction(left)) << op.name();
  }
  EXPECT_EQ(declared, 22);
}

TEST(Course, FunctionsWithoutADeclaredRangeAreNeverMonotone) {
  const Course sine = ops::Unary(UnaryKind::kSin).course();
  EXPECT_FALSE(sine.is_monotone(0, 1));
  const Course reciprocal = ops::Unary(UnaryKind::kRecip).course();
  EXPECT_FALSE(reciprocal.is_monotone(0, 1));
  EXPECT_TRUE(reciprocal.is_monotone(0.5, 1));
  const Course square = ops::Unary(UnaryKind::kSquare).course();
  EXPECT_TRUE(square.is_monotone(-2, 0));
  EXPECT_FALSE(square.is_monotone(-2, 1));
  EXPECT_FALSE(ops::Cast(DType::kBool).course().is_monotone(-1, 1));
  EXPECT_TRUE(ops::Cast(DType::kI64).course().is_monotone(-1, 1));
}

TEST(Course, BinaryFunctionsMatchTheirNames) {
  const auto truth = [](bool holds) { return holds ? 1.0 : 0.0; };
  const std::vector<std::pair<BinaryKind, std::function<double(double, double)>>> all = {
      {BinaryKind::kAdd, [](double a, double b) { return a + b; }},
      {BinaryKind::kSub, [](double a, double b) { return a - b; }},
      {BinaryKind::kMul, [](double a, double b) { return a * b; }},
      {BinaryKind::kDiv, [](double a, double b) { return std::trunc(a / b); }},
      {BinaryKind::kFloorDiv, [](double a, double b) { return std::floor(a / b); }},
      {BinaryKind::kMin, [](double a, double b) { return std::min(a, b); }},
      {BinaryKind::kMax, [](double a, double b) { return std::max(a, b); }},
      {BinaryKind::kEq, [&](double a, double b) { return truth(a == b); }},
      {BinaryKind::kNe, [&](double a, double b) { return truth(a != b); }},
      {BinaryKind::kLt, [&](double a, double b) { return truth(a < b); }},
      {BinaryKind::kLe, [&](double a, double b) { return truth(a <= b); }},
      {BinaryKind::kGt, [&](double a, double b) { return truth(a > b); }},
      {BinaryKind::kGe, [&](double a, double b) { return truth(a >= b); }},
  };
  const std::array<double, 5> operands = {-7, -2, 1, 3, 7};
  std::vector<Function> seen;
  for (const auto& [kind, function] : all) {
    const ops::Binary op(kind);
    seen.push_back(op.course().function);
    const Single single(make_op(op), {DType::kI64, DType::kI64});
    for (const double a : operands) {
      for (const double b : operands) EXPECT_EQ(single.at({a, b}), function(a, b)) << op.name();
    }
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
  EXPECT_EQ(std::count(seen.begin(), seen.end(), Function::kOther), 0);
}

TEST(Course, NarrowIntegersThatWrapAreUnknown) {
  const Single sum(make_op<ops::Binary>(BinaryKind::kAdd), {DType::kI8, DType::kI8});
  EXPECT_EQ(sum.at({100, 27}), 127);
  EXPECT_EQ(sum.at({100, 28}), std::nullopt);
  const Single quotient(make_op<ops::Binary>(BinaryKind::kDiv), {DType::kI64, DType::kI64});
  EXPECT_EQ(quotient.at({1, 0}), std::nullopt);
  const Single cut(make_op<ops::Cast>(DType::kI8), {DType::kI64});
  EXPECT_EQ(cut.at({-128}), -128);
  EXPECT_EQ(cut.at({128}), std::nullopt);
}

TEST(Course, OperatorsThatOnlyMoveElementsDeclareIt) {
  const std::vector<OpPtr> moves = {
      make_op<ops::AddAxis>(0), make_op<ops::RmAxis>(0),
      make_op<ops::Transpose>(std::vector<int64_t>{1, 0}),
      make_op<ops::Reshape>(0, 1, std::vector<Dim>{Dim(1)}),
      make_op<ops::Broadcast>(std::vector<Dim>{Dim(2)})};
  for (const OpPtr& op : moves) EXPECT_TRUE(op->course().is(Form::kMoved)) << op->name();
  const auto tile = make_op<ops::Tile>(std::vector<Dim>{Dim(2)});
  EXPECT_TRUE(tile->course().is(Form::kRepeated));
}

TEST(Course, FormsAlongAxesNameThem) {
  const ops::Slice slice(2, Dim(3), Dim::symbol("S"));
  EXPECT_EQ(slice.course().axis(), 2);
  EXPECT_EQ(*slice.course().begin, Dim(3));
  EXPECT_EQ(*slice.course().end, Dim::symbol("S"));
  EXPECT_EQ(ops::Concat(1).course().axis(), 1);
  EXPECT_EQ(ops::GatherElements(1).course().axis(), 1);
  EXPECT_EQ(ops::Reduce(ops::ReduceKind::kSum, {1}).course().summed_axis(), 1);
  EXPECT_EQ(ops::Reduce(ops::ReduceKind::kSum, {0, 1}).course().summed_axis(), std::nullopt);
  EXPECT_EQ(ops::Reduce(ops::ReduceKind::kMax, {1}).course().summed_axis(), std::nullopt);
  EXPECT_TRUE(ops::Softmax({1}, true).course().logarithm);
  EXPECT_FALSE(ops::Softmax({1}, false).course().logarithm);
  EXPECT_TRUE(ops::Select().course().is(Function::kChoice));
  EXPECT_TRUE(ops::Binary(BinaryKind::kPow).course().is(Function::kPow));
}

}  // namespace
}  // namespace rill
