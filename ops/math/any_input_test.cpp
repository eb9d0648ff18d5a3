// For any attributes and inputs, an operator fails before a run, or returns outputs as inferred.

#include <functional>
#include <random>

#include "core/exec/plan.h"
#include "ops/array/axis_ops.h"
#include "ops/array/broadcast.h"
#include "ops/array/cast.h"
#include "ops/array/concat.h"
#include "ops/array/gather.h"
#include "ops/array/pad.h"
#include "ops/array/reshape.h"
#include "ops/array/slice.h"
#include "ops/math/binary.h"
#include "ops/math/cumsum.h"
#include "ops/math/reduce.h"
#include "ops/math/select.h"
#include "ops/math/test_support.h"
#include "ops/math/unary.h"
#include "ops/nn/softmax.h"

namespace rill::ops::test {
namespace {

constexpr DType kTypes[] = {DType::kF32, DType::kF32, DType::kI64,  DType::kBool,  DType::kU8,
                            DType::kF16, DType::kF64, DType::kQU8,  DType::kI8,    DType::kU64,
                            DType::kDim, DType::kI32, DType::kBF16, DType::kString};

class Random {
 public:
  explicit Random(uint32_t seed) : generator_(seed) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(generator_() % static_cast<uint64_t>(n)); }
  /// Return mostly numbers that may be valid, and sometimes extreme ones.
  int64_t number() {
    const int64_t extremes[] = {INT64_MIN, INT64_MAX, -1, -3, 1 << 20, INT64_MAX - 1};
    return below(12) == 0 ? extremes[below(6)] : below(4);
  }
  std::vector<int64_t> numbers(int64_t most) {
    std::vector<int64_t> out(static_cast<size_t>(below(most + 1)));
    for (int64_t& n : out) n = number();
    return out;
  }
  std::vector<Dim> dims(int64_t most) {
    std::vector<Dim> out;
    for (const int64_t n : numbers(most)) out.emplace_back(n);
    return out;
  }
  Tensor tensor(DType dtype, int64_t rank) {
    std::vector<int64_t> shape;
    for (int64_t i = 0; i < rank; ++i) shape.push_back(below(6) == 0 ? 0 : 1 + below(3) / 2 * 2);
    const QParams q = is_quantised(dtype) ? QParams{3, 0.5F} : QParams{};
    Tensor out = std::move(Tensor::zeros(dtype, shape, q)).value();
    for (int64_t i = 0; i < out.volume(); ++i) fill(&out, i);
    return out;
  }

 private:
  void fill(Tensor* tensor, int64_t i) {
    if (tensor->dtype() == DType::kString) {
      tensor->mutable_data<std::string>()[i] = str_cat(below(3));
    } else if (tensor->dtype() == DType::kDim) {
      tensor->mutable_data<Dim>()[i] = below(3) == 0 ? Dim::symbol("S") : Dim(number());
    } else {
      auto* bytes = tensor->mutable_data<uint8_t>();
      const int64_t size = dtype_size(tensor->dtype());
      for (int64_t k = 0; k < size; ++k) {
        bytes[i * size + k] = static_cast<uint8_t>(below(3) == 0 ? below(256) : 0);
      }
      if (tensor->dtype() == DType::kBool) bytes[i] &= 1;
    }
  }
  std::mt19937_64 generator_;
};

OpPtr any_op(Random& random) {
  const auto word = [&] {
    const char* modes[] = {"constant", "replicated", "reflect", "other"};
    return std::string(modes[random.below(4)]);
  };
  const std::function<OpPtr()> makers[] = {
      [&] { return make_op<AddAxis>(random.number()); },
      [&] { return make_op<RmAxis>(random.number()); },
      [&] { return make_op<Transpose>(random.numbers(3)); },
      [&] { return make_op<Reshape>(random.number(), random.number(), random.dims(3)); },
      [&] { return make_op<Slice>(random.number(), Dim(random.number()), Dim(random.number())); },
      [&] { return make_op<Downsample>(random.number(), random.number(), random.number()); },
      [&] { return make_op<Concat>(random.number()); },
      [&] {
        Pads pads(static_cast<size_t>(random.below(4)));
        for (auto& pair : pads) pair = {random.number(), random.number()};
        return make_op<Pad>(pads, word(), std::make_shared<const Tensor>(Tensor::scalar(1.0F)));
      },
      [&] { return make_op<Broadcast>(random.dims(4)); },
      [&] { return make_op<Tile>(random.dims(3)); },
      [&] { return make_op<Cast>(kTypes[random.below(14)], QParams{1, 0.25F}); },
      [&] { return make_op<Gather>(random.number()); },
      [&] { return make_op<GatherElements>(random.number()); },
      [&] { return make_op<GatherNd>(random.number()); },
      [&] { return make_op<Binary>(static_cast<BinaryKind>(random.below(21))); },
      [&] { return make_op<Binary>(static_cast<BinaryKind>(random.below(21))); },
      [&] { return make_op<Unary>(static_cast<UnaryKind>(random.below(36)), 1.0F); },
      [&] { return make_op<Select>(); },
      [&] {
        return make_op<Reduce>(static_cast<ReduceKind>(random.below(8)), random.numbers(2),
                               random.below(2) == 0);
      },
      [&] {
        auto op = draft_op<CumSum>(random.number());
        op->reverse = random.below(2) == 0;
        op->exclusive = random.below(2) == 0;
        return op;
      },
      [&] { return make_op<Softmax>(random.numbers(2), random.below(2) == 0); },
  };
  return makers[random.below(21)]();
}

/// Return whether a graph with only this operator can be prepared.
bool has_plan(const OpPtr& op, const Facts& facts) {
  Graph graph;
  std::vector<OutletId> inputs;
  for (const Fact& fact : facts) {
    const OutletId input = graph.add_source("x", fact.without_value());
    graph.inputs.push_back(input);
    inputs.push_back(input);
  }
  const auto outputs = graph.add("y", op, inputs);
  if (!outputs.ok()) return false;
  for (const OutletId output : *outputs) graph.add_output("y", output);
  return prepare(graph).ok();
}

TEST(AnyInput, GivesAnErrorOrTheOutputsThatWereInferred) {
  Random random(20240612);
  int evaluated = 0;
  for (int n = 0; n < 60000; ++n) {
    const OpPtr op = any_op(random);
    std::vector<TensorPtr> inputs;
    Facts facts;
    const int64_t count = 1 + random.below(6) / 2;
    const int64_t rank = random.below(4);
    const DType dtype = kTypes[random.below(14)];
    for (int64_t i = 0; i < count; ++i) {
      const bool other = random.below(4) == 0;
      const bool condition = op->as<Select>() && i == 0;
      const DType own = condition ? DType::kBool : other ? kTypes[random.below(14)] : dtype;
      inputs.push_back(std::make_shared<const Tensor>(
          random.tensor(own, random.below(8) == 0 ? random.below(4) : rank)));
      facts.push_back(Fact::of_tensor(inputs.back()));
      if (random.below(2) == 0) facts.back() = facts.back().without_value();
    }
    const auto out = op->infer(facts);
    if (!out.ok()) continue;
    bool small = true;
    for (const Fact& fact : *out) {
      Dim size = 1;
      for (const Dim& extent : fact.shape) size *= max(extent, Dim(1));
      small &= size.is_const() && *size.to_int() <= 100000;
    }
    if (!small) continue;
    const auto results = evaluate(*op, inputs, *out);
    // Inference may miss only the values of symbols.
    bool dims = false;
    for (const Fact& fact : facts) dims |= fact.dtype == DType::kDim;
    bool shaped = true;
    for (const Fact& fact : *out) {
      for (const Dim& extent : fact.shape) shaped &= extent.is_const() && *extent.to_int() >= 0;
    }
    EXPECT_TRUE(results.ok() || dims || !shaped || !has_plan(op, facts))
        << op->name() << " " << op->attributes() << " of " << facts[0].to_string() << ": "
        << results.error().to_string();
    evaluated += results.ok() ? 1 : 0;
  }
  EXPECT_GT(evaluated, 4000);
}

}  // namespace
}  // namespace rill::ops::test
