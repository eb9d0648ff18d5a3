#include "core/exec/shared_weights.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "core/exec/session.h"
#include "core/optim/optim.h"
#include "tests/property/streaming.h"

namespace rill {
namespace {

constexpr int64_t kRows = 96;
constexpr int64_t kColumns = 64;

float weight(int64_t row, int64_t column, int64_t seed) {
  return static_cast<float>((row * 7 + column * 13 + seed) % 31 - 15);
}

/// A matmul of x [1, S, 96] with weights of 24 KiB.
Graph product(int64_t seed) {
  std::string text = "  y = matmul(x, [[";
  for (int64_t row = 0; row < kRows; ++row) {
    text += row == 0 ? "[" : ", [";
    for (int64_t column = 0; column < kColumns; ++column) {
      text += str_cat(column == 0 ? "" : ", ", weight(row, column, seed));
    }
    text += "]";
  }
  auto graph = test::load_text(test::document(str_cat("1, S, ", kRows), text + "]]);\n"));
  EXPECT_TRUE(graph.ok()) << graph.error().to_string();
  return declutter(*graph).value();
}

std::shared_ptr<const Plan> planned(const Graph& graph, int64_t frames, SharedWeights* weights) {
  const auto plan = prepare_sharing(weights, graph.with_symbol("S", Dim(frames)).value());
  EXPECT_TRUE(plan.ok()) << plan.error().to_string();
  return plan.ok() ? *plan : nullptr;
}

/// Return the addresses of the large constants of a plan.
std::set<const void*> places(const Plan& plan) {
  std::set<const void*> out;
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.kind == BufferKind::kConst && buffer.bytes > 16 << 10) out.insert(buffer.data.get());
  }
  return out;
}

void expect_products(const std::shared_ptr<const Plan>& plan, int64_t frames, int64_t seed) {
  const auto session = std::move(Session::make(plan)).value();
  const View in = session->input(0);
  for (int64_t i = 0; i < in.volume(); ++i) in.as<float>()[i] = static_cast<float>(i % 11 - 5);
  session->step();
  const View out = session->output(0);
  for (int64_t frame = 0; frame < frames; ++frame) {
    for (int64_t column = 0; column < kColumns; ++column) {
      double sum = 0;
      for (int64_t row = 0; row < kRows; ++row) {
        sum += static_cast<double>((frame * kRows + row) % 11 - 5) * weight(row, column, seed);
      }
      ASSERT_EQ(out.as<float>()[frame * kColumns + column], sum) << frame << " " << column;
    }
  }
}

TEST(SharedWeights, PlansOfSeveralLengthsStoreThemOnce) {
  const Graph graph = product(1);
  SharedWeights weights;
  std::vector<std::shared_ptr<const Plan>> plans;
  for (const int64_t frames : {1, 4, 40}) plans.push_back(planned(graph, frames, &weights));
  ASSERT_EQ(places(*plans[0]).size(), 1U);
  EXPECT_EQ(places(*plans[1]), places(*plans[0]));
  EXPECT_EQ(places(*plans[2]), places(*plans[0]));
  EXPECT_NE(places(*planned(graph, 4, nullptr)), places(*plans[0]));
  // The memory lives as long as any of the plans.
  plans.erase(plans.begin());
  expect_products(plans[0], 4, 1);
  expect_products(plans[1], 40, 1);
}

TEST(SharedWeights, DifferentWeightsStaySeparate) {
  SharedWeights weights;
  const auto first = planned(product(1), 4, &weights);
  const auto other = planned(product(2), 4, &weights);
  EXPECT_NE(places(*first), places(*other));
  expect_products(first, 4, 1);
  expect_products(other, 4, 2);
}

TEST(SharedWeights, WeightsOfFreedPlansAreForgotten) {
  SharedWeights weights;
  for (int64_t seed = 1; seed <= 3; ++seed) {
    expect_products(planned(product(seed), 2, &weights), 2, seed);
  }
  const int64_t byte = 0;
  EXPECT_EQ(weights.find(&byte, 0), nullptr);
}

}  // namespace
}  // namespace rill
