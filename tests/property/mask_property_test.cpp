// Attention under random masks: a streamed run gives the whole run's frames, up to rounding, or the
// mask is refused.
//
// RILL_PROPERTY_SEEDS=first:count selects other seeds.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "audit/draw.h"
#include "tests/property/generate.h"
#include "tests/property/seeds.h"
#include "tests/property/streaming.h"
#include "tests/support/sanitized.h"

namespace rill::test {
namespace {

constexpr double kTolerance = 3e-6;

/// Writes masks that hide keys from queries: comparisons of positions, combined, with fill values.
class MaskWriter {
 public:
  /// Constants reach `most`, log-uniform. `sinks`: all queries see the first keys.
  explicit MaskWriter(uint64_t seed, int64_t most = 6, bool sinks = false)
      : random_(seed), most_(most), sinks_(sinks) {}

  std::string text() {
    std::string out =
        "  twice = tract_core_range(0, 2 * S, 1) / 2;\n" +
        str_cat("  n = ",
                random_.chance(80)
                    ? "tract_core_range(0, S, 1)"
                    : "slice(twice, axes = [0], begin = [0], end = [2 * S], stride = [2])",
                ";\n") +
        "  row = unsqueeze(n, axes = [0, 2]);\n  column = unsqueeze(n, axes = [0, 1]);\n"
        "  loud = transpose(slice(x, axes = [2], begin = [0], end = [1]), axes = [0, 2, 1]) > "
        "0.5;\n"
        "  s0 = matmul(x * 0.7, x * [[[0.3, -0.2, 0.5, 0.9]]], transposeB = true);\n";
    const int64_t masks = random_.in(1, 2);
    for (int64_t i = 0; i < masks; ++i) out += str_cat("  s", i + 1, " = ", masked(i), ";\n");
    out += str_cat("  w0 = softmax(s", masks, ", axes = [2]);\n  w1 = ",
                   random_.chance(20) ? "select(" + condition() + ", w0, 0.0)" : "w0",
                   ";\n  y = matmul(w1, x + 0.25);\n");
    return document("1, S, 4", out);
  }

 private:
  std::string masked(int64_t i) {
    const std::string scores = str_cat("s", i);
    const std::string seen = condition();
    switch (random_.in(0, 4)) {
      case 0:
        return scores + " + select(" + seen + ", 0.0, " + fill() + ")";
      case 1:
        return scores + " - tract_core_cast(not(" + seen + "), to = 'f32') * 20000.0";
      case 2:
        return "select(not(" + seen + "), " + fill() + ", " + scores + ")";
      default:
        return "select(" + seen + ", " + scores + ", " + fill() + ")";
    }
  }
  std::string fill() {
    static const char* const kFills[] = {"(0.0 - 1.0 / 0.0)", "(0.0 - 1.0 / 0.0)", "-10000.0",
                                         "-1000000000.0",     "-3.4028235e38",     "-100.0",
                                         "0.0"};
    return kFills[random_.in(0, 6)];
  }
  /// Usually a window of some kind, combined with another condition.
  std::string condition() {
    std::string out;
    if (random_.chance(85)) {
      const std::string expression = distance();
      const std::string least = bound(expression, -2, 1);
      out = str_cat("(", expression, " >= ", least, ") && (", expression,
                    " <= ", bound(expression, -1, 3), ")");
    } else {
      out = comparison();
    }
    if (random_.chance(40))
      out = str_cat("(", out, ")", random_.chance(70) ? " && " : " || ", part());
    if (sinks_) out = str_cat("(", out, ") || column < ", number(1, 9));
    if (sinks_ && random_.chance(60)) out = str_cat("(", out, ") && row >= column");
    return "(" + out + ")";
  }
  std::string part() {
    if (random_.chance(15)) return "loud";
    const std::string one = "(" + comparison() + ")";
    return random_.chance(20) ? "not" + one : one;
  }
  std::string distance() {
    const int64_t size = number(1, 4);
    if (size <= 1) return "(row - column)";
    if (most_ > 6 && random_.chance(25)) return real_distance(size);
    return str_cat("(row / ", size, " - column / ", size, ")");
  }
  /// Products and quotients of positions, which floats round.
  std::string real_distance(int64_t size) {
    static const char* const kForms[] = {
        "(tract_core_cast(row - column, to = 'f32') / N)",
        "(tract_core_cast(row - column, to = 'f32') * 0.1)",
        "(floor(tract_core_cast(row, to = 'f32') / N) - floor(tract_core_cast(column, to = 'f32') "
        "/ N))",
        "(tract_core_cast(row, to = 'f32') * 0.01 - tract_core_cast(column, to = 'f32') * 0.01)",
        "sqrt(tract_core_cast(max(row - column, 0), to = 'f32'))"};
    std::string form = kForms[random_.in(0, 4)];
    for (size_t at = form.find('N'); at != std::string::npos; at = form.find('N')) {
      form.replace(at, 1, str_cat(size, ".0"));
    }
    return form;
  }
  std::string compared(const std::string& expression, const std::string& op) {
    return str_cat(expression, " ", op, " ", bound(expression, -3, 3));
  }
  /// A bound for a distance, of the distance's type.
  std::string bound(const std::string& expression, int64_t low, int64_t high) {
    const int64_t whole = number(low, high);
    if (expression.find("f32") == std::string::npos) return str_cat(whole);
    return str_cat(whole, random_.chance(50) ? ".0" : ".7");
  }
  /// A number of the range, or a log-uniform one up to `most`.
  int64_t number(int64_t low, int64_t high) {
    if (most_ <= 6 || random_.chance(40)) return random_.in(low, high);
    int64_t bound = 1;
    while (bound < most_ && random_.chance(85)) bound *= 2;
    return random_.in(std::min<int64_t>(low, 0), std::min(bound, most_));
  }
  std::string comparison() {
    static const char* const kOps[] = {"<", "<=", ">", ">=", "==", "!="};
    const std::string op = kOps[random_.in(0, 5)];
    switch (random_.in(0, 4)) {
      case 0:
        return str_cat("row ", op, " column");
      case 1:
        return str_cat("column ", op, " ", number(0, 6));
      case 2:
        return negated(op);
      case 3:
        return quotients(op);
      default:
        return compared(distance(), op);
    }
  }

  // Draw one number per statement, because compilers differ in the order of evaluation of
  // arguments.
  std::string negated(const std::string& op) {
    const char* const of = random_.chance(50) ? "row" : "column";
    const int64_t by = std::max<int64_t>(number(2, 4), 1);
    return str_cat(remainder(of, by), " ", op, " ", number(0, 3));
  }
  std::string quotients(const std::string& op) {
    const int64_t keys = std::max<int64_t>(number(3, 4), 1);
    const int64_t queries = std::max<int64_t>(number(2, 5), 1);
    return str_cat("column / ", keys, " ", op, " row / ", queries);
  }

  static std::string remainder(const std::string& of, int64_t by) {
    return str_cat(of, " - ", of, " / ", by, " * ", by);
  }

  Random random_;
  int64_t most_;
  bool sinks_;
};

void expect_masks(bool sinks) {
  const auto [first, count] = seeds_or(1, 200);
  int64_t compared = 0;
  int64_t refused = 0;
  for (int64_t seed = first; seed < first + count; ++seed) {
    const int64_t before = compared;
    const std::string text = MaskWriter(static_cast<uint64_t>(seed), 6, sinks).text();
    const auto graph = load_text(text);
    ASSERT_TRUE(graph.ok()) << graph.error().to_string() << "\n" << text;
    for (const int64_t pulse : {1, 3, 4}) {
      auto streamed = StreamedRun::make(*graph, pulse);
      if (!streamed.ok()) continue;
      for (const int64_t length : {1, 2, 5, 13, 26}) {
        EXPECT_EQ(stream_problem(*graph, &*streamed, length, kTolerance), "")
            << "seed " << seed << ", pulse " << pulse << ", length " << length << "\n"
            << text;
        ++compared;
      }
    }
    if (::testing::Test::HasFailure()) break;
    if (compared == before) ++refused;
  }
  std::printf("%lld graphs, %lld without a comparison, %lld comparisons\n",
              static_cast<long long>(count), static_cast<long long>(refused),
              static_cast<long long>(compared));
  EXPECT_GT(compared, count);
}

TEST(RandomMask, StreamsTheFramesOfTheWholeRunOrIsRefused) { expect_masks(false); }

TEST(RandomMask, WithSinksStreamsTheFramesOfTheWholeRunOrIsRefused) { expect_masks(true); }

// The address sanitizer makes such large scores hundreds of times as slow.
#if defined(RILL_SANITIZED)
constexpr int64_t kMostBytes = int64_t{1} << 20;
constexpr int64_t kLongest = 800;
#else
constexpr int64_t kMostBytes = int64_t{1} << 27;
constexpr int64_t kLongest = 1800;
#endif

// Constants, pulses and lengths of any size: a band that is found must hold for all queries.
TEST(RandomMask, OfLargeNumbersStreamsTheFramesOfTheWholeRunOrIsRefused) {
  const auto [first, count] = seeds_or(1, 24);
  int64_t compared = 0;
  for (int64_t seed = first; seed < first + count; ++seed) {
    const std::string text = MaskWriter(static_cast<uint64_t>(seed), 700, seed % 3 == 0).text();
    const auto graph = load_text(text);
    ASSERT_TRUE(graph.ok()) << graph.error().to_string() << "\n" << text;
    audit::Draw draw(static_cast<uint64_t>(seed));
    for (int i = 0; i < 2; ++i) {
      const int64_t pulse = draw.log_in(1, 400);
      auto streamed = StreamedRun::make(*graph, pulse);
      if (!streamed.ok() || streamed->session().plan().arena_bytes > kMostBytes) continue;
      for (const int64_t length : {draw.log_in(1, 300), draw.in(700, kLongest)}) {
        EXPECT_EQ(stream_problem(*graph, &*streamed, length, kTolerance), "")
            << "seed " << seed << ", pulse " << pulse << ", length " << length << "\n"
            << text;
        ++compared;
      }
    }
    if (HasFailure()) break;
  }
  std::printf("%lld comparisons\n", static_cast<long long>(compared));
  EXPECT_GT(compared, count / 2);
}

}  // namespace
}  // namespace rill::test
