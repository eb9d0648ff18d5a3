// A NaN reaches the outputs that depend on it, and no other, as in PyTorch: through every operator
// that clamps or computes an extreme, alone and fused, on every tier.

#include <cmath>
#include <functional>
#include <limits>

#include "kernels/cpu.h"
#include "ops/math/test_support.h"

namespace rill::ops::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The channel and frame of an element of [1, channels, frames].
struct Place {
  int64_t channel, frame;
};

/// Return whether an output depends on an input.
using Reach = std::function<bool(Place out, Place in)>;

struct Case {
  std::string name;
  std::string statements;
  Reach reaches;
};

/// Weights of a convolution along frames, three taps each, none of them 0.
std::string weights(int64_t outputs, int64_t inputs) {
  std::string text = "[";
  for (int64_t o = 0; o < outputs; ++o) {
    text += o == 0 ? "[" : ", [";
    for (int64_t i = 0; i < inputs; ++i) {
      text += str_cat(i == 0 ? "[" : ", [", 0.25 * static_cast<double>(o % 3 + 1), ", -0.5, ",
                      i % 2 == 0 ? 0.75 : -0.25, "]");
    }
    text += "]";
  }
  return text + "]";
}

std::vector<Case> cases(int64_t channels) {
  const Reach same = [](Place out, Place in) {
    return out.channel == in.channel && out.frame == in.frame;
  };
  const Reach frame = [](Place out, Place in) { return out.frame == in.frame; };
  const Reach channel = [](Place out, Place in) { return out.channel == in.channel; };
  const Reach window = [](Place out, Place in) {
    return out.channel == in.channel && std::abs(out.frame - in.frame) <= 1;
  };
  const Reach near = [](Place out, Place in) { return std::abs(out.frame - in.frame) <= 1; };
  std::vector<Case> all;
  for (const char* text :
       {"relu(x)", "max(x, 0.25)", "max(0.25, x)", "max(0.0, x)", "min(x, 0.25)", "min(0.25, x)",
        "clamp(x, -0.5, 0.75)", "min(max(x, -0.5), 0.75)", "max(min(x, 0.75), -0.5)", "max(x, z)",
        "max(z, x)", "min(x, z)", "min(z, x)", "min(max(z, x), x)", "tanh(relu(x)) * 0.5",
        "leaky_relu(x, 0.1)", "select(x < z, z, x)", "abs(clamp(x, z, 0.75))",
        "softplus(x)", "elu(x)", "tract_core_hard_swish(x)", "sqrt(x * x + z * z)"}) {
    all.push_back({text, str_cat("y = ", text, ";"), same});
  }
  for (const char* extreme : {"max_reduce", "min_reduce"}) {
    all.push_back({extreme, str_cat("y = ", extreme, "(x, axes = [1]);"), frame});
    all.push_back({extreme, str_cat("y = ", extreme, "(x, axes = [2]);"), channel});
  }
  all.push_back({"max_pool",
                 "y = max_pool(x, size = [1, 1, 3], border = 'ignore', "
                 "padding = [(0, 0), (0, 0), (1, 1)]);",
                 window});
  const std::string padding = "padding = [(1, 1)]";
  for (const auto& [made, reaches] :
       {std::pair{str_cat("conv(x, ", weights(channels, channels), ", 0.1, ", padding, ")"), near},
        std::pair{str_cat("conv(x, ", weights(channels, 1), ", 0.1, ", padding, ", groups = ",
                          channels, ")"),
                  window}}) {
    for (const char* limit : {"relu(c)", "clamp(c, -0.25, 0.5)", "min(c, 0.25)", "max(c, -0.25)",
                              "leaky_relu(c, 0.1)", "relu(leaky_relu(c, 0.1))"}) {
      all.push_back({str_cat(reaches(Place{0, 0}, Place{1, 0}) ? "conv, " : "depthwise, ", limit),
                     str_cat("c = ", made, "; y = ", limit, ";"), reaches});
    }
  }
  return all;
}

class Nan : public ::testing::Test {
 protected:
  void TearDown() override { kernels::clear_tier_limit(); }
};

/// Run with a NaN at each position, or at every `step`-th, and compare with a run without one.
void expect_reach(const Case& c, const char* dtype, int64_t channels, int64_t frames,
                  int64_t step) {
  const std::string shape = str_cat("1, ", channels, ", ", frames);
  const Graph graph = graph_of({{"x", shape, dtype}, {"z", shape, dtype}}, c.statements);
  ASSERT_FALSE(graph.nodes.empty());
  std::vector<double> x, z;
  for (int64_t i = 0; i < channels * frames; ++i) {
    x.push_back(static_cast<double>(i * 7 % 11 - 5) / 4);
    z.push_back(static_cast<double>(i * 5 % 7 - 3) / 4);
  }
  const DType type = graph.fact(graph.inputs[0]).dtype;
  const std::vector<int64_t> extents{1, channels, frames};
  const Tensor other = typed(type, extents, z);
  const Tensor clean = run(graph, {typed(type, extents, x), other}).value()[0];
  for (int64_t at = 0; at < channels * frames; at += step) {
    std::vector<double> spoiled = x;
    spoiled[static_cast<size_t>(at)] = kNan;
    const Tensor y = run(graph, {typed(type, extents, spoiled), other}).value()[0];
    ASSERT_EQ(y.shape(), clean.shape());
    const int64_t out_frames = y.extent(2);
    for (int64_t i = 0; i < y.volume(); ++i) {
      const double got = element_as_double(y, i).value();
      if (c.reaches({i / out_frames, i % out_frames}, {at / frames, at % frames})) {
        ASSERT_TRUE(std::isnan(got)) << c.name << " of " << dtype << ": NaN at " << at << " of "
                                     << channels << " x " << frames << ", " << got << " at " << i;
      } else {
        ASSERT_EQ(got, element_as_double(clean, i).value()) << c.name << " at " << i;
      }
    }
  }
}

TEST_F(Nan, ReachesDependentFramesOnly) {
  for (const kernels::Tier tier : kernels::kAllTiers) {
    if (!kernels::supports(kernels::detected_tier(), tier)) continue;
    kernels::set_tier_limit(tier);
    SCOPED_TRACE(kernels::tier_name(tier));
    for (const Case& c : cases(3)) {
      expect_reach(c, "f32", 3, 13, 1);
      const bool has_weights = c.statements.find("conv") != std::string::npos;
      if (!has_weights) expect_reach(c, "f16", 3, 13, 6);
    }
    for (const Case& c : cases(37)) expect_reach(c, "f32", 37, 5, 11);
  }
}

// PyTorch 2.15: argmax and argmin give the first NaN, max pools the last one of a window.
TEST_F(Nan, IsWhereTheExtremeIs) {
  const Tensor x = f32({1, 1, 6}, {1, NAN, 3, NAN, 5, 7});
  for (const char* kind : {"argmax", "argmin"}) {
    const Graph graph =
        graph_of({{"x", "1, 1, 6"}}, str_cat("y = ", kind, "_reduce(x, axes = [2]);"));
    expect_same(run(graph, {x}).value()[0], i64({1, 1, 1}, {1}));
    const Graph last = graph_of(
        {{"x", "1, 1, 6"}}, str_cat("y = tract_core_", kind, "_reduce_last(x, axes = [2]);"));
    expect_same(run(last, {x}).value()[0], i64({1, 1, 1}, {3}));
  }
  const Graph pool = graph_of({{"x", "1, 1, 6"}},
                              "(y, at) = max_pool_with_index(x, size = [1, 1, 5], border = "
                              "'ignore', padding = [(0, 0), (0, 0), (0, 0)]);",
                              "y, at");
  const std::vector<Tensor> found = run(pool, {x}).value();
  expect_same(found[0], f32({1, 1, 2}, {NAN, NAN}));
  expect_same(found[1], i64({1, 1, 2}, {3, 3}));
}

TEST_F(Nan, StreamsAsInTheWholeRun) {
  for (const char* made : {"max_reduce(q, axes = [1])", "argmin_reduce(q, axes = [1])",
                           "max_pool(q, size = [1, 1, 3], border = 'ignore', "
                           "padding = [(0, 0), (0, 0), (1, 1)])",
                           "clamp(q, -0.25, 0.5)"}) {
    // Roots of numbers below 0 are NaN.
    const Graph graph = graph_of({{"x", "1, 3, S"}}, str_cat("q = sqrt(x + 1.5); y = ", made, ";"));
    expect_streams(graph, 2, {1, 3, 4}, {1, 2, 7, 40});
  }
}

}  // namespace
}  // namespace rill::ops::test
