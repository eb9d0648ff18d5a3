// Weights made of several softmaxes, and masks that differ between heads. Each softmax needs all
// the keys that it sees, at any place between scores and values: as a term of the weights, a
// factor, a score, or in a condition. Keys that a later mask hides count too.

#include <gtest/gtest.h>

#include <string>

#include "core/base/splitmix.h"
#include "tests/property/pulse_cases.h"
#include "tests/property/seeds.h"
#include "tests/property/streaming.h"

namespace rill::test {
namespace {

constexpr double kTolerance = 2e-6;

/// Weights `w` over the frames of x [1, S, 4], made of scores `a` and `b`. `near` and `wide` are
/// these scores under masks of 6 and of 11 frames.
std::string weighed(const std::string& weights) {
  return document("1, S, 4",
                  "  n = tract_core_range(0, S, 1);\n"
                  "  row = unsqueeze(n, axes = [0, 2]);\n  column = unsqueeze(n, axes = [0, 1]);\n"
                  "  d = row - column;\n  seen = (d >= 0) && (d <= 5);\n"
                  "  one = select(seen, 1.0, 0.0);\n  hidden = 0.0 - 1.0 / 0.0;\n"
                  "  a = matmul(x * 0.7, x, transposeB = true);\n"
                  "  b = matmul(x * 0.4, x * [[[0.3, -0.2, 0.5, 0.9]]], transposeB = true);\n"
                  "  near = select(seen, a, hidden);\n"
                  "  wide = select((d >= -1) && (d <= 9), b, hidden);\n" +
                      weights + "  y = matmul(w, x);\n");
}

std::string soft(const std::string& scores) { return "softmax(" + scores + ", axes = [2])"; }

// A mask after a softmax, or of another softmax, does not remove a key from its sum.
TEST(PulseWeights, EverySoftmaxNeedsTheKeysThatItSees) {
  const std::string not_seen = ", 0.0)";
  for (const std::string& weights : {
           "(" + soft("a") + " - " + soft("b") + ") * one",
           soft("a") + " * " + soft("b") + " * one",
           "select(" + soft("a") + " > 0.05, a" + not_seen + " * one",
           "select(" + soft("a") + " > 0.05, 1.0, 0.0) * one",
           soft(soft("near")),
           soft("select(seen, a + " + soft("b") + ", hidden)"),
           soft("select(seen, a * " + soft("b") + ", hidden)"),
           soft("select(seen, select(" + soft("b") + " > 0.05, a, -1.0), hidden)"),
           soft("near") + " - " + soft("b"),
           soft("b") + " + " + soft("near"),
           "max(" + soft("near") + ", " + soft("b") + ")",
           "log(" + soft("a") + ") * one",
       }) {
    SCOPED_TRACE(weights);
    expect_refused(weighed("  w = " + weights + ";\n"), 4, "y", "Attention");
  }
}

// A term of the weights without a mask is not limited by the mask of another term.
TEST(PulseWeights, EveryTermHasASeparateMask) {
  expect_refused(weighed("  w = " + soft("near") + " - 0.1 * b;\n"), 4, "y", "Attention");
  expect_refused(weighed("  w = 0.1 * b + " + soft("near") + ";\n"), 4, "y", "Attention");
}

// 0.9**d approaches 0 but never reaches it, so the model must bound how far back keys count.
TEST(PulseWeights, ThatFadeNeedAnEnd) {
  const std::string d = "  f = tract_core_cast(d, to = 'f32');\n";
  const auto fading = [&](const std::string& factor) {
    return weighed(d + "  w = b * " + factor + ";\n");
  };
  const std::string before = "select(d >= 0, pow(0.9, f), 0.0)";
  for (const std::string& factor :
       {before, std::string("select(f >= 0.0, exp(f * -0.105), 0.0)"),
        "(" + before + " + " + before + ")"}) {
    SCOPED_TRACE(factor);
    expect_refused(fading(factor), 4, "y", "earlier keys may keep a weight");
    expect_refused(fading(factor), 4, "y", "torch.where((d >= 0) & (d <= 200), w, 0)");
  }
  expect_refused(fading(before), 4, "y", "by node \"w_pow\" (Pow)");
  expect_refused(fading("pow(0.9, abs(f))"), 4, "y", "later keys may keep a weight");
  expect_refused(fading("select(d <= 0, pow(0.9, 0.0 - f), 0.0)"), 4, "y",
                 "torch.where(d.abs() <= 200, w, 0)");
  const auto streams = [&](const std::string& factor, int64_t delay) {
    SCOPED_TRACE(factor);
    expect_streams(fading(factor), {{1, 4}, 1, 1, delay, "S"}, kTolerance);
  };
  streams("select((d >= 0) && (d <= 17), pow(0.9, f), 0.0)", 0);
  streams("select(d <= 17, " + before + ", 0.0)", 0);
  streams(before + " * select(d <= 17, 1.0, 0.0)", 0);
  streams("select((d >= -3) && (d <= 17), pow(0.9, abs(f)), 0.0)", 3);
  // With an asserted maximal length, the stream keeps all keys.
  std::string asserted = fading(before);
  asserted.insert(asserted.find("graph network"), "extension tract_assert S <= 60;\n");
  expect_streams(asserted, {{1, 4}, 1, 1, 0, "S"}, kTolerance);
}

TEST(PulseWeights, TermsOfWeights) {
  const auto streams = [](const std::string& weights, int64_t delay) {
    SCOPED_TRACE(weights);
    expect_streams(weighed("  w = " + weights + ";\n"), {{1, 4}, 1, 1, delay, "S"}, kTolerance);
  };
  // Differential attention.
  streams(soft("near") + " - 0.4 * " + soft("select(seen, b, hidden)"), 0);
  streams(soft("near") + " - 0.4 * " + soft("wide"), 1);
  streams("0.3 * " + soft("near") + " + (0.2 * " + soft("wide") + " - " +
              soft("select((d >= -2) && (d <= 0), a, hidden)") + ")",
          2);
  streams(soft("near") + " - 0.1 * b * one", 0);
  streams("(" + soft("near") + " - " + soft("wide") + ") * one", 1);
}

/// Two heads of x [1, S, 4]: `mask` makes `m` [1, 2, S, S] from `scores`; `weigh` makes `w` from
/// `p`.
std::string heads(const std::string& mask, const std::string& weigh) {
  return document(
      "1, S, 4",
      "  n = tract_core_range(0, S, 1);\n"
      "  row = unsqueeze(n, axes = [0, 1, 3]);\n  column = unsqueeze(n, axes = [0, 1, 2]);\n"
      "  d = row - column;\n  hidden = 0.0 - 1.0 / 0.0;\n"
      "  h = transpose(reshape(x, shape = [1, S, 2, 2]), axes = [0, 2, 1, 3]);\n"
      "  scores = matmul(h * 0.7, h, transposeB = true);\n" +
          mask + "  p = softmax(m, axes = [3]);\n" + weigh +
          "  o = matmul(w, h);\n"
          "  y = reshape(transpose(o, axes = [0, 2, 1, 3]), shape = [1, S, 4]);\n");
}

// Weights mixed across heads, as in talking heads, need the keys of all heads.
TEST(PulseWeights, WeightsMixedAcrossHeads) {
  const std::string mask = "  m = select((d >= 0) && (d <= 5), scores, hidden);\n";
  const std::string mixed =
      "  w = transpose(matmul(transpose(p, axes = [0, 2, 3, 1]), "
      "[[[[0.3, -0.7], [0.6, 0.2]]]]), axes = [0, 3, 1, 2]);\n";
  expect_streams(heads(mask, mixed), {{1, 4}, 1, 1, 0, "S"}, kTolerance);
  const std::string mean =
      "  w = tile(0.5 * sum_reduce(p, axes = [1]), repeats = [1, 2, 1, 1]);\n";
  expect_streams(heads(mask, mean), {{1, 4}, 1, 1, 0, "S"}, kTolerance);
  // In a softmax across heads, minus infinity in all heads gives NaN, and NaN * 0 is NaN.
  expect_refused(heads(mask, "  w = softmax(m, axes = [1]) * select((d >= 0) && (d <= 5), 1.0, "
                             "0.0);\n"),
                 4, "o", "Attention");
  const std::string open = "  m = scores;\n";
  expect_refused(heads(open, mixed), 4, "o", "Attention");
}

// A convolution of extent 1 mixes heads, all of them or by groups. Its bias would give weight to
// hidden keys.
TEST(PulseWeights, WeightsMixedByConvolutions) {
  const auto conv = [](const std::string& x, const std::string& filter, const std::string& bias,
                       int groups) {
    return str_cat("conv(", x, ", ", filter, ", ", bias,
                   ", border = 'constant', padding = [(0, 0), (0, 0)], stride = [1, 1], "
                   "dilation = [1, 1], groups = ",
                   groups, ")");
  };
  const std::string both = "[[[[0.3]], [[-0.7]]], [[[0.6]], [[0.2]]]]";
  const std::string own = "[[[[0.3]]], [[[-0.7]]]]";
  const std::string band = "  m = select((d >= 0) && (d <= 5), scores, hidden);\n";
  const auto mixed = [&](const std::string& filter, const std::string& bias, int groups) {
    return heads(band, "  w = " + conv("p", filter, bias, groups) + ";\n");
  };
  expect_streams(mixed(both, "0.0", 1), {{1, 4}, 1, 1, 0, "S"}, kTolerance);
  expect_streams(mixed(own, "0.0", 2), {{1, 4}, 1, 1, 0, "S"}, kTolerance);
  expect_refused(mixed(both, "[[0.5, 0.25]]", 1), 4, "o", "Attention");
  const std::string before = "  b = " + conv("scores", own, "[[0.5, 0.25]]", 2) +
                             ";\n  m = select((d >= 0) && (d <= 5), b, hidden);\n";
  expect_streams(heads(before, "  w = p;\n"), {{1, 4}, 1, 1, 0, "S"}, kTolerance);
}

TEST(PulseWeights, MasksOfHeads) {
  const auto streams = [](const std::string& mask, int64_t delay) {
    SCOPED_TRACE(mask);
    expect_streams(heads(mask, "  w = p;\n"), {{1, 4}, 1, 1, delay, "S"}, kTolerance);
  };
  // Constants per head.
  const std::string left = "[[[[3]], [[7]]]]";
  const std::string right = "[[[[2]], [[0]]]]";
  streams("  m = select((d >= 0) && (d <= " + left + "), scores, hidden);\n", 0);
  streams("  m = select((0 - d <= " + right + ") && (d <= " + left + "), scores, hidden);\n", 2);
  // Concatenated masks.
  streams("  m = select(concat([(d >= 0) && (d <= 3), (d >= -1) && (d <= 8)], axis = 1), scores, "
          "hidden);\n",
          1);
  // Slopes of a bias.
  streams("  far = max(d, 0 - d);\n"
          "  bias = tract_core_cast(far, to = 'F32') * [[[[-0.5]], [[-0.25]]]];\n"
          "  m = scores + select(!((d >= 0) && (d <= 5)), hidden, bias);\n",
          0);
  // One head sees all earlier keys.
  expect_refused(
      heads("  m = select(concat([(d >= 0) && (d <= 3), d >= 0], axis = 1), scores, hidden);\n",
            "  w = p;\n"),
      4, "o", "Attention");
}

/// Draws weights: scores and masks under operators that preserve hidden keys, or do not.
class Weights {
 public:
  explicit Weights(uint64_t seed) : dice_(seed) {}

  std::string weights(int depth) {
    const auto more = [&] { return weights(depth - 1); };
    switch (depth > 0 ? dice_.in(0, 9) : 10) {
      case 0:
        return "(" + more() + " - " + more() + ")";
      case 1:
        return "(" + more() + " + 0.3 * " + more() + ")";
      case 2:
        return "(" + more() + " * " + more() + ")";
      case 3:
        return "(" + more() + " * one)";
      case 4:
        return "select(" + more() + " > 0.05, " + more() + ", 0.0)";
      case 5:
        return "max(" + more() + ", 0.0)";
      case 6:
        return "select(seen, " + more() + ", 0.0)";
      case 7:
        return "(0.0 - " + more() + ")";
      default:
        return soft(scores(depth - 1));
    }
  }

 private:
  std::string scores(int depth) {
    switch (depth > 0 ? dice_.in(0, 6) : 6) {
      case 0:
        return "select(seen, " + scores(depth - 1) + ", hidden)";
      case 1:
        return "(0.5 * " + scores(depth - 1) + ")";
      case 2:
        return "select(seen, " + weights(depth - 1) + ", hidden)";
      case 3:
        return "(" + scores(depth - 1) + " + b)";
      case 4:
        return "select(" + weights(depth - 1) + " > 0.05, near, hidden)";
      default:
        return dice_.in(0, 9) < 8 ? (dice_.in(0, 1) == 0 ? "near" : "wide") : "a";
    }
  }

  Splitmix64 dice_;
};

TEST(PulseWeights, DrawnAtRandomGiveTheFramesOfTheWholeRunOrAreRefused) {
  const auto [first, count] = seeds_or(0, 400);
  int64_t streamed = 0;
  for (int64_t seed = first; seed < first + count; ++seed) {
    Weights dice(static_cast<uint64_t>(seed));
    const std::string text = weighed("  w = " + dice.weights(3) + ";\n");
    const auto graph = load_text(text);
    ASSERT_TRUE(graph.ok()) << text << graph.error().to_string();
    for (const int64_t pulse : {1, 4}) {
      auto stream = StreamedRun::make(*graph, pulse);
      if (!stream.ok()) continue;
      ++streamed;
      for (const int64_t length : {1, 7, 33}) {
        const auto inputs = noise_inputs(*graph, length, static_cast<uint64_t>(seed));
        auto whole = WholeRun::make(*graph, length);
        ASSERT_TRUE(whole.ok()) << whole.error().to_string();
        const auto got = stream->run(inputs, length);
        ASSERT_TRUE(got.ok()) << got.error().to_string();
        EXPECT_EQ(audit::difference((*got)[0], whole->run(inputs)[0], 2e-5), "")
            << text << "pulse " << pulse << ", length " << length;
      }
    }
  }
  EXPECT_GT(streamed, count / 3);
}

}  // namespace
}  // namespace rill::test
