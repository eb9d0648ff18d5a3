// Key/value caches: as inputs and outputs of the model, and kept between the runs of a session.

#include <cmath>

#include "core/exec/plan.h"
#include "core/exec/session.h"
#include "core/optim/optim.h"
#include "ops/math/test_support.h"

namespace rill::ops::test {
namespace {

TEST(KvCache, BecomesAnInputAndAnOutput) {
  const Graph g = graph_of({{"x", "1, S, 4"}},
                           "c = tract_transformers_dyn_kv_cache(x, name = 'past', axis = 1,"
                           " datum_type = 'f32', past_sequence_shape = [1, P, 4],"
                           " input_sequence_shape = [1, S, 4]); y = c * 2.0;");
  ASSERT_EQ(g.inputs.size(), 2U);
  ASSERT_EQ(g.outputs.size(), 2U);
  EXPECT_EQ(g.input_name(1), "past");
  EXPECT_EQ(g.fact(g.inputs[1]).to_string(), "1,P,4,F32");
  EXPECT_EQ(g.output_names[0], "y");
  EXPECT_EQ(g.output_names[1], "past_concat");
  EXPECT_EQ(g.fact(g.outputs[1]).to_string(), "1,P+S,4,F32");
  const Tensor x = random_f32(1, {1, 2, 4});
  const Tensor past = random_f32(2, {1, 3, 4});
  const auto out = run(g, {x, past});
  ASSERT_TRUE(out.ok()) << out.error().to_string();
  const Tensor& all = (*out)[1];
  ASSERT_EQ(all.shape(), (std::vector<int64_t>{1, 5, 4}));
  EXPECT_TRUE(std::equal(past.data<float>(), past.data<float>() + 12, all.data<float>()));
  EXPECT_TRUE(std::equal(x.data<float>(), x.data<float>() + 8, all.data<float>() + 12));
}

TEST(KvCache, ErrorsNameTheMismatch) {
  const std::vector<Input> x = {{"x", "1, 2, 4"}};
  expect_load_error(x,
                    "y = tract_transformers_dyn_kv_cache(x, name = 'p', axis = 1, datum_type ="
                    " 'f16', past_sequence_shape = [1, P, 4], input_sequence_shape = [1, 2, 4]);",
                    Code::kDType, "of a cache of F16");
  expect_load_error(x,
                    "y = tract_transformers_dyn_kv_cache(x, name = 'p', axis = 1, datum_type ="
                    " 'f32', past_sequence_shape = [1, P, 3], input_sequence_shape = [1, 2, 4]);",
                    Code::kShape, "1,P,3");
  expect_load_error(x,
                    "y = tract_transformers_dyn_kv_cache(x, name = 'p', axis = 7, datum_type ="
                    " 'f32', past_sequence_shape = [1, P, 4], input_sequence_shape = [1, 2, 4]);",
                    Code::kShape, "no axis 7");
}

/// Return softmax(q k^T scale) v in double precision, over rows [from, to) of k and v.
std::vector<double> attention(const Tensor& q, const Tensor& k, const Tensor& v, int64_t row,
                              int64_t from, int64_t to, double scale) {
  const int64_t width = q.shape().back();
  std::vector<double> out(static_cast<size_t>(width));
  double total = 0;
  for (int64_t i = from; i < to; ++i) {
    double score = 0;
    for (int64_t d = 0; d < width; ++d) {
      score += static_cast<double>(q.data<float>()[row * width + d]) *
               static_cast<double>(k.data<float>()[i * width + d]);
    }
    const double weight = std::exp(score * scale);
    total += weight;
    for (int64_t d = 0; d < width; ++d) {
      out[static_cast<size_t>(d)] += weight * static_cast<double>(v.data<float>()[i * width + d]);
    }
  }
  for (double& value : out) value /= total;
  return out;
}

TEST(WindowAttention, SeesTheLastPositionsOfAllRuns) {
  const Graph g = graph_of({{"q", "1, 1, 2, 3"}, {"k", "1, 1, 2, 3"}, {"v", "1, 1, 2, 3"}},
                           "y = tract_transformers_window_kv_sdpa(q, k, v, axis = 2, window = 5,"
                           " scale = 0.75);");
  const auto plan = prepare(declutter(g).value());
  ASSERT_TRUE(plan.ok()) << plan.error().to_string();
  const auto session = Session::make(*plan);
  ASSERT_TRUE(session.ok());
  constexpr int64_t kRuns = 6;
  const Tensor k = random_f32(4, {kRuns * 2, 3});
  const Tensor v = random_f32(5, {kRuns * 2, 3});
  for (int64_t run_index = 0; run_index < kRuns; ++run_index) {
    const Tensor q = random_f32(static_cast<uint32_t>(10 + run_index), {2, 3});
    std::copy_n(q.data<float>(), 6, (*session)->input(0).as<float>());
    std::copy_n(k.data<float>() + run_index * 6, 6, (*session)->input(1).as<float>());
    std::copy_n(v.data<float>() + run_index * 6, 6, (*session)->input(2).as<float>());
    (*session)->step();
    const int64_t seen = 2 * (run_index + 1);
    for (int64_t row = 0; row < 2; ++row) {
      const auto want = attention(q, k, v, row, std::max<int64_t>(0, seen - 5), seen, 0.75);
      for (int64_t d = 0; d < 3; ++d) {
        // A few roundings of f32 at values below 2.
        EXPECT_NEAR((*session)->output(0).as<float>()[row * 3 + d], want[static_cast<size_t>(d)],
                    2e-6)
            << "run " << run_index;
      }
    }
  }
}

TEST(QuantizedKvSdpa, SeesTheGivenPast) {
  const Graph g = graph_of({{"q", "1, 1, 2, 3"}, {"k", "1, 1, 2, 3"}, {"v", "1, 1, 2, 3"}},
                           "y = tract_transformers_quantized_kv_sdpa(q, k, v, axis = 2);");
  ASSERT_EQ(g.inputs.size(), 5U);
  EXPECT_EQ(g.input_name(3), "y_keys");
  const Tensor q = random_f32(1, {1, 1, 2, 3});
  const Tensor k = random_f32(2, {1, 1, 6, 3});
  const Tensor v = random_f32(3, {1, 1, 6, 3});
  const auto rows = [](const Tensor& all, int64_t from, int64_t count) {
    return f32({1, 1, count, 3},
               {all.data<float>() + from * 3, all.data<float>() + (from + count) * 3});
  };
  const auto out = run(g, {q, rows(k, 4, 2), rows(v, 4, 2), rows(k, 0, 4), rows(v, 0, 4)});
  ASSERT_TRUE(out.ok()) << out.error().to_string();
  for (int64_t row = 0; row < 2; ++row) {
    const auto want = attention(q, k, v, row, 0, 6, 1 / std::sqrt(3.0));
    for (int64_t d = 0; d < 3; ++d) {
      EXPECT_NEAR((*out)[0].data<float>()[row * 3 + d], want[static_cast<size_t>(d)], 2e-6);
    }
  }
}

}  // namespace
}  // namespace rill::ops::test
