// Loops that add up frames, as torch_to_nnef writes torch.cumsum: whole, pulsed by the test, and in
// files of pulsed models. Also loop bodies that do not fit the value of a symbol.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/property/streaming.h"

namespace rill::test {
namespace {

constexpr char kAdd[] =
    "fragment add_frame(frame: tensor<scalar>, sum: tensor<scalar>) -> (next: tensor<scalar>)\n"
    "{\n  next = frame + sum;\n}\n";

/// Return y, the cumulative sums of x starting with `first`.
std::string sums_from(const std::string& first) {
  return "  y = tract_core_scan(body = \"add_frame\", scan = [(\"frame\", x, 1, 1)], full = [],"
         " state = [(\"sum\", " + first + ", \"next\")], output = [(\"next\", \"full\", 1, 1)],"
         " skip = 0, reset_every_turn = false);\n";
}

Tensor frames(const std::vector<float>& values) {
  return Tensor::of<float>(DType::kF32, {1, static_cast<int64_t>(values.size())}, values).value();
}

// The exporter writes f - f for PyTorch's initial zero of a frame's shape. It must be 0 even if f
// is infinite.
TEST(LoopSums, BeginWithZeroForAnyFirstFrame) {
  const std::string first = "  f = slice(x, axes = [1], begin = [0], end = [1]);\n  z = f - f;\n";
  const auto graph = load_text(document("1, S", first + sums_from("z"), "y", kAdd));
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<Tensor> x = {frames({-kInf, 0.5F, 1, 2, -3})};
  auto whole = WholeRun::make(*graph, 5);
  ASSERT_TRUE(whole.ok()) << whole.error().to_string();
  const std::vector<Tensor> sums = whole->run(x);
  auto streamed = StreamedRun::make(*graph, 2);
  ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
  const auto frames_of_stream = streamed->run(x, 5);
  ASSERT_TRUE(frames_of_stream.ok()) << frames_of_stream.error().to_string();
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(sums[0].data<float>()[i], -kInf);
    EXPECT_EQ((*frames_of_stream)[0].data<float>()[i], -kInf);
  }
}

// A stream computes a softmax-weighted sum as a quotient of sums, which is undefined for no frames.
TEST(LoopSums, WeighedOverNoFramesAreZero) {
  const std::string pooled =
      "  f = slice(x, axes = [1], begin = [min(S, 5)], end = [S]);\n"
      "  w = softmax(f, axes = [1]);\n  m = sum_reduce(w * f, axes = [1]);\n"
      "  v = sum_reduce(w * sqr(f - m), axes = [1]);\n  y = concat([m, v], axis = 2);\n";
  const auto graph = load_text(document("1, S, 2", pooled));
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  for (const int64_t pulse : {1, 3}) {
    auto streamed = StreamedRun::make(*graph, pulse);
    ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
    for (const int64_t length : {1, 4, 5, 6, 20}) {
      auto whole = WholeRun::make(*graph, length);
      ASSERT_TRUE(whole.ok()) << whole.error().to_string();
      const std::vector<Tensor> x = noise_inputs(*graph, length, 1);
      const Tensor want = whole->run(x)[0];
      const auto got = streamed->run(x, length);
      ASSERT_TRUE(got.ok()) << got.error().to_string();
      EXPECT_EQ(difference((*got)[0], want, 1e-5), "") << "pulse " << pulse << ", S=" << length;
      for (int64_t i = 0; i < 4 && length <= 5; ++i) EXPECT_EQ(want.data<float>()[i], 0.0F);
    }
  }
}

struct Statistic {
  const char* name;
  const char* text;  ///< over AXES
  double (*of)(const std::vector<double>& numbers);
};

double mean_of(const std::vector<double>& numbers) {
  double sum = 0;
  for (const double each : numbers) sum += each;
  return sum / static_cast<double>(numbers.size());
}

double variance_of(const std::vector<double>& numbers) {
  const double mean = mean_of(numbers);
  double sum = 0;
  for (const double each : numbers) sum += (each - mean) * (each - mean);
  return sum / static_cast<double>(numbers.size());
}

double log_sum_exp_of(const std::vector<double>& numbers) {
  const double most = *std::max_element(numbers.begin(), numbers.end());
  if (std::isinf(most)) return most;
  double sum = 0;
  for (const double each : numbers) sum += std::exp(each - most);
  return most + std::log(sum);
}

constexpr Statistic kStatistics[] = {
    {"variance",
     "  d = x - mean_reduce(x, axes = AXES);\n  y = mean_reduce(sqr(d), axes = AXES);\n",
     variance_of},
    {"deviation",
     "  d = x - mean_reduce(x, axes = AXES);\n  y = sqrt(mean_reduce(d * d, axes = AXES));\n",
     [](const std::vector<double>& numbers) { return std::sqrt(variance_of(numbers)); }},
    {"log of powers",
     "  m = max_reduce(x, axes = AXES);\n  f = select(tract_core_is_inf(m), 0.0, m);\n"
     "  y = f + log(sum_reduce(exp(x - f), axes = AXES));\n",
     log_sum_exp_of},
};

/// Return the elements of x [1, 3, frames, 2] that the output in row `at` reduces.
std::vector<double> reduced_numbers(const Tensor& x, const std::vector<int>& axes, int64_t at) {
  const std::vector<int64_t> extents = {1, 3, x.shape()[2], 2};
  std::vector<double> out;
  for (int64_t i = 0; i < x.volume(); ++i) {
    const int64_t index[] = {0, i / (2 * extents[2]), i / 2 % extents[2], i % 2};
    int64_t row = 0;
    for (const int axis : {1, 2, 3}) {
      const bool gone = std::find(axes.begin(), axes.end(), axis) != axes.end();
      if (!gone) row = row * extents[static_cast<size_t>(axis)] + index[axis];
    }
    if (row == at) out.push_back(static_cast<double>(x.data<float>()[i]));
  }
  return out;
}

std::string over(std::string text, const std::string& axes) {
  constexpr std::string_view kAxes = "AXES";
  for (size_t at = text.find(kAxes); at != std::string::npos; at = text.find(kAxes, at)) {
    text.replace(at, kAxes.size(), axes);
  }
  return text;
}

// Statistics over the stream and other axes at once, against sums in f64.
TEST(LoopSums, AreStatisticsOverSeveralAxes) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<std::vector<int>> all_axes = {{2}, {1, 2}, {2, 3}, {1, 2, 3}};
  for (const Statistic& statistic : kStatistics) {
    for (const std::vector<int>& axes : all_axes) {
      std::string list;
      for (const int axis : axes) list += str_cat(list.empty() ? "[" : ", ", axis);
      const std::string text =
          document("1, 3, S, 2", over(statistic.text, list + "]"));
      const auto graph = load_text(text);
      ASSERT_TRUE(graph.ok()) << graph.error().to_string();
      auto streamed = StreamedRun::make(*graph, 4);
      ASSERT_TRUE(streamed.ok()) << streamed.error().to_string() << text;
      for (const int64_t length : {1, 3, 4, 19}) {
        for (const float at : {0.0F, 1.0F, 2.0F}) {
          SCOPED_TRACE(str_cat(statistic.name, " over ", list, "], S=", length, ", ", int(at)));
          std::vector<Tensor> x = noise_inputs(*graph, length, 1);
          float* const numbers = x[0].mutable_data<float>();
          for (int64_t i = 0; i < x[0].volume(); ++i) numbers[i] = numbers[i] * (1 + at) + 30 * at;
          const bool powers = statistic.of == log_sum_exp_of;
          if (powers && at == 2.0F) std::fill_n(numbers, x[0].volume(), -kInf);
          if (powers && at == 1.0F) numbers[x[0].volume() / 2] = length > 3 ? kInf : -kInf;
          const auto got = streamed->run(x, length);
          ASSERT_TRUE(got.ok()) << got.error().to_string();
          for (int64_t i = 0; i < (*got)[0].volume(); ++i) {
            const double want = statistic.of(reduced_numbers(x[0], axes, i));
            const double is = static_cast<double>((*got)[0].data<float>()[i]);
            if (std::isinf(want)) {
              EXPECT_EQ(is, want);
            } else {
              EXPECT_NEAR(is, want, 2e-6 * std::max(1.0, std::abs(want)));
            }
          }
        }
      }
    }
  }
}

/// A sum of x [3, S, 2] over some of its axes h, t and f, with the letters of the kept axes.
struct Operand {
  std::string letters;
  std::string statements;
};

/// Return the sum of x over axes that the letters lack, at an index of h, t and f.
double summed_element(const Tensor& x, std::string_view letters, const int64_t (&index)[3]) {
  const int64_t extents[] = {3, x.shape()[1], 2};
  double sum = 0;
  for (int64_t h = 0; h < 3; ++h) {
    for (int64_t f = 0; f < 2; ++f) {
      if (letters.find('h') != std::string_view::npos && h != index[0]) continue;
      if (letters.find('f') != std::string_view::npos && f != index[2]) continue;
      sum += static_cast<double>(x.data<float>()[(h * extents[1] + index[1]) * 2 + f]);
    }
  }
  return sum;
}

/// Write statements that define `name` as sums of x with axes in a drawn order, as a softmax over
/// time if `weighs`.
Operand drawn_operand(const std::string& name, bool weighs, audit::Draw* draw) {
  constexpr std::string_view kSets[] = {"htf", "ht", "tf", "t"};
  Operand out{std::string(kSets[draw->in(0, 3)]), {}};
  std::string from = "x";
  std::string gone;
  for (const char letter : std::string_view("hf")) {
    if (out.letters.find(letter) != std::string::npos) continue;
    gone += str_cat(gone.empty() ? "" : ", ", letter == 'h' ? 0 : 2);
  }
  if (!gone.empty()) {
    out.statements = str_cat("  ", name, "s = squeeze(sum_reduce(x, axes = [", gone,
                             "]), axes = [", gone, "]);\n");
    from = name + "s";
  }
  if (weighs) {
    out.statements += str_cat("  ", name, "w = softmax(", from, ", axes = [",
                              out.letters.find('t'), "]);\n");
    from = name + "w";
  }
  std::vector<size_t> order(out.letters.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (size_t i = order.size(); i-- > 1;) {
    std::swap(order[i], order[static_cast<size_t>(draw->in(0, static_cast<int64_t>(i)))]);
  }
  std::string letters;
  std::string axes;
  for (const size_t at : order) {
    letters.push_back(out.letters[at]);
    axes += str_cat(axes.empty() ? "" : ", ", at);
  }
  out.statements += str_cat("  ", name, " = transpose(", from, ", axes = [", axes, "]);\n");
  out.letters = letters;
  return out;
}

// Pooling as matmuls with weights from a softmax over time, against sums in f64.
TEST(LoopSums, AreProductsWithASoftmaxOverTime) {
  audit::Draw draw(7);
  for (int drawn = 0; drawn < 60; ++drawn) {
    const Operand w = drawn_operand("w", true, &draw);
    const Operand v = drawn_operand("v", false, &draw);
    std::string letters;
    for (const char letter : std::string_view("hf")) {
      if ((w.letters + v.letters).find(letter) != std::string::npos) letters.push_back(letter);
    }
    if (letters.size() == 2 && draw.in(0, 1) == 1) std::swap(letters[0], letters[1]);
    const bool left = draw.in(0, 1) == 1;
    const std::string expr = left ? w.letters + "," + v.letters : v.letters + "," + w.letters;
    const std::string text =
        document("3, S, 2", str_cat(w.statements, v.statements, "  y = tract_core_einsum([",
                                    left ? "w, v" : "v, w", "], expr = '", expr, "->", letters,
                                    "', acc = 'f32');\n"));
    SCOPED_TRACE(text);
    const auto graph = load_text(text);
    ASSERT_TRUE(graph.ok()) << graph.error().to_string();
    auto streamed = StreamedRun::make(*graph, draw.in(1, 5));
    ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
    for (const int64_t length : {1, 2, 19}) {
      std::vector<Tensor> x = noise_inputs(*graph, length, static_cast<uint64_t>(drawn));
      float* const numbers = x[0].mutable_data<float>();
      for (int64_t i = 0; i < x[0].volume(); ++i) numbers[i] *= 30;
      const auto got = streamed->run(x, length);
      ASSERT_TRUE(got.ok()) << got.error().to_string();
      for (int64_t i = 0; i < (*got)[0].volume(); ++i) {
        int64_t index[3] = {};
        int64_t rest = i;
        for (size_t axis = letters.size(); axis-- > 0;) {
          const int64_t extent = letters[axis] == 'h' ? 3 : 2;
          index[letters[axis] == 'h' ? 0 : 2] = rest % extent;
          rest /= extent;
        }
        std::vector<double> scores;
        double most = -std::numeric_limits<double>::infinity();
        for (index[1] = 0; index[1] < length; ++index[1]) {
          scores.push_back(summed_element(x[0], w.letters, index));
          most = std::max(most, scores.back());
        }
        double weights = 0;
        double want = 0;
        for (index[1] = 0; index[1] < length; ++index[1]) {
          const double weight = std::exp(scores[static_cast<size_t>(index[1])] - most);
          weights += weight;
          want += weight * summed_element(x[0], v.letters, index);
        }
        const double is = static_cast<double>((*got)[0].data<float>()[i]);
        EXPECT_NEAR(is, want / weights, 1e-4 * std::max(1.0, std::abs(want / weights)));
      }
    }
  }
}

// Extents that a body assumes equal while a symbol is open are checked when the symbol is bound.
TEST(LoopBodies, AreRefusedWhereASymbolDoesNotFit) {
  const std::string body =
      "fragment dot(frame: tensor<scalar>) -> (next: tensor<scalar>)\n{\n"
      "  next = matmul(frame, [[[1.0, 2.0, 3.0, 4.0]]], transposeB = true);\n}\n";
  const std::string scan =
      "  y = tract_core_scan(body = \"dot\", scan = [(\"frame\", x, 1, 1)], full = [],"
      " state = [], output = [(\"next\", \"full\", 1, 1)], skip = 0, reset_every_turn = false);\n";
  const auto graph = load_text(document("1, S, K", scan, "y", body));
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  EXPECT_TRUE(graph->with_symbol("K", Dim(4)).ok());
  for (const int64_t extent : {0, 3, 5}) {
    const auto bound = graph->with_symbol("K", Dim(extent));
    ASSERT_FALSE(bound.ok()) << extent;
    EXPECT_EQ(bound.error().code, Code::kShape);
    EXPECT_EQ(bound.error().node, "next");
  }
}

TEST(LoopSums, OfNoFramesAreNone) {
  const std::string first = "  f = slice(x, axes = [1], begin = [0], end = [1]);\n  z = f - f;\n";
  const auto graph = load_text(document("B, S", first + sums_from("z"), "y", kAdd));
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  const auto rows = graph->with_symbol("B", Dim(2));
  ASSERT_TRUE(rows.ok()) << rows.error().to_string();
  auto streamed = StreamedRun::make(*rows, 2);
  ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
  for (const int64_t length : {0, 1, 2, 5}) {
    auto whole = WholeRun::make(*rows, length);
    ASSERT_TRUE(whole.ok()) << whole.error().to_string();
    EXPECT_EQ(whole->run(noise_inputs(*rows, length, 1))[0].extent(1), length);
    EXPECT_TRUE(streamed->session().check_length(length).ok());
    EXPECT_EQ(stream_problem(*rows, &*streamed, length), "");
  }
}

// tract keeps the loop in its pulsed models.
TEST(LoopSums, OfAPulsedModelContinue) {
  std::string text = document("1, 2", sums_from("[[0.0]]"), "y",
                              std::string(kAdd) +
                                  "fragment tract_core_properties() -> (properties: (string,"
                                  " tensor<scalar>)[])\n{\n  properties = ["
                                  "(\"pulse.delay\", tract_core_cast([0], to = \"i64\")),"
                                  " (\"pulse.input_axes\", tract_core_cast([1], to = \"i64\")),"
                                  " (\"pulse.output_axes\", tract_core_cast([1], to = \"i64\")),"
                                  " (\"pulse.streaming_symbol\", [\"S\"])];\n}\n");
  const auto graph = load_text(text);
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  ASSERT_TRUE(graph->streaming.has_value());
  const auto plan = prepare(*graph, {});
  ASSERT_TRUE(plan.ok()) << plan.error().to_string();
  const auto session = Session::make(*plan);
  ASSERT_TRUE(session.ok()) << session.error().to_string();
  float frame = 0;
  float sum = 0;
  for (int step = 0; step < 5; ++step) {
    float* const in = (*session)->input(0).as<float>();
    for (int i = 0; i < 2; ++i) in[i] = ++frame;
    (*session)->step();
    for (int i = 0; i < 2; ++i) {
      sum += frame - 1 + static_cast<float>(i);
      EXPECT_EQ((*session)->output(0).as<float>()[i], sum) << "step " << step;
    }
  }
}

}  // namespace
}  // namespace rill::test
