// Norms and reductions of f16 against sums in f64, over random kinds, axes, sizes, epsilons and
// amplitudes. The model is a file of f16, or one of f32 that is converted.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "core/base/splitmix.h"
#include "core/optim/optim.h"
#include "ops/math/test_support.h"
#include "tests/property/seeds.h"
#include "tests/property/streaming.h"
#include "transforms/float_precision.h"

namespace rill::test {
namespace {

using ops::test::typed;

// Half a step of f16 at 1 is 2^-11. Inputs and outputs are rounded once each.
constexpr double kRelative = 2e-3;
constexpr double kLeastHalf = 0x1p-24;
constexpr double kMostHalf = 65504;

/// The elements that a reduction reduces to one result.
using Group = std::vector<double>;

double mean(const Group& x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}

double sum_of(const Group& x, const std::function<double(double)>& term) {
  double sum = 0;
  for (const double v : x) sum += term(v);
  return sum;
}

double variance(const Group& x, double less) {
  const double m = mean(x);
  const double squares = sum_of(x, [&](double v) { return (v - m) * (v - m); });
  return squares / (static_cast<double>(x.size()) - less);
}

double mean_square(const Group& x) {
  return sum_of(x, [](double v) { return v * v; }) / static_cast<double>(x.size());
}

double largest(const Group& x) { return *std::max_element(x.begin(), x.end()); }

double to_half(double x) {
  return *element_as_double(typed(DType::kF16, {}, {x}), 0);
}

/// A form of a norm or a reduction, with its expected value for one element of a group.
struct Kind {
  const char* name;
  /// Statements over `x`. EPS, AXES (a list), AXIS (the first axis), COUNT (the elements of a
  /// group) and LESS (COUNT - 1) are substituted.
  const char* text;
  bool one_axis;
  double most;  ///< the largest amplitude for which results in f32 are finite
  double (*expected)(const Group& group, double x, double eps);
};

constexpr double kAny = 6e4;

const Kind kKinds[] = {
    {"layer norm",
     "m = mean_reduce(x, axes = AXES); d = x - m;"
     "y = d * rsqrt(mean_reduce(sqr(d), axes = AXES) + EPS);",
     false, kAny,
     [](const Group& g, double x, double eps) {
       return (x - mean(g)) / std::sqrt(variance(g, 0) + eps);
     }},
    {"layer norm with weights",
     "(m, v) = moments(x, axes = AXES); n = (x - m) / sqrt(v + EPS); y = n * 1.5 + 0.25;", false,
     kAny,
     [](const Group& g, double x, double eps) {
       return (x - mean(g)) / std::sqrt(variance(g, 0) + eps) * 1.5 + 0.25;
     }},
    {"RMS norm", "y = tract_core_rms_norm(x, axis = AXIS, eps = EPS);", true, kAny,
     [](const Group& g, double x, double eps) {
       return x / std::sqrt(mean_square(g) + eps);
     }},
    {"RMS norm of products", "y = x * rsqrt(mean_reduce(x * x, axes = AXES) + EPS);", false, kAny,
     [](const Group& g, double x, double eps) {
       return x / std::sqrt(mean_square(g) + eps);
     }},
    {"norm of length 1", "y = l2_normalization(x, axes = AXES, epsilon = EPS);", false, kAny,
     [](const Group& g, double x, double eps) {
       return x / std::max(std::sqrt(sum_of(g, [](double v) { return v * v; })), eps);
     }},
    {"norm of sum 1", "y = l1_normalization(x, axes = AXES, epsilon = EPS);", false, kAny,
     [](const Group& g, double x, double eps) {
       return x / std::max(sum_of(g, [](double v) { return std::abs(v); }), eps);
     }},
    {"cosine", "y = sum_reduce(x * (0.5 * x), axes = AXES) / (EPS + sqrt(sum_reduce(sqr(x), axes = "
               "AXES)) * sqrt(sum_reduce(sqr(0.5 * x), axes = AXES)));",
     false, kAny,
     [](const Group& g, double, double eps) {
       const double squares = sum_of(g, [](double v) { return v * v; });
       return 0.5 * squares / (eps + 0.5 * squares);
     }},
    {"mean", "y = mean_reduce(x, axes = AXES);", false, kAny,
     [](const Group& g, double, double) { return mean(g); }},
    {"mean of a sum", "y = sum_reduce(x, axes = AXES) / COUNT;", false, kAny,
     [](const Group& g, double, double) { return mean(g); }},
    {"deviation",
     "d = x - mean_reduce(x, axes = AXES);"
     "y = sqrt(sum_reduce(sqr(d), axes = AXES) / LESS);",
     false, kAny,
     [](const Group& g, double, double) { return std::sqrt(variance(g, 1)); }},
    {"logarithm of a variance", "(m, v) = moments(x, axes = AXES); y = log(v + EPS);", false, kAny,
     [](const Group& g, double, double eps) { return std::log(variance(g, 0) + eps); }},
    {"logarithm of a sum of exponentials", "y = log(sum_reduce(exp(x), axes = AXES));", false, 60,
     [](const Group& g, double, double) {
       const double most = largest(g);
       return std::log(sum_of(g, [&](double v) { return std::exp(v - most); })) + most;
     }},
    {"softmax",
     "e = exp(x - max_reduce(x, axes = AXES)); y = e / sum_reduce(e, axes = AXES);", false, kAny,
     [](const Group& g, double x, double) {
       const double most = largest(g);
       return std::exp(x - most) / sum_of(g, [&](double v) { return std::exp(v - most); });
     }},
    {"absolute value", "y = sqrt(x * x + EPS);", false, kAny,
     [](const Group&, double x, double eps) { return std::sqrt(x * x + eps); }},
    {"GELU", "y = 0.5 * x * (1.0 + tract_core_erf(x * 0.70710678));", false, kAny,
     [](const Group&, double x, double) { return 0.5 * x * std::erfc(-x * to_half(0.70710678)); }},
    {"logarithm above a floor", "y = log(max(x, EPS));", false, kAny,
     [](const Group&, double x, double eps) { return std::log(std::max(x, eps)); }},
    {"product with a constant beyond f16", "y = (x * 300000.0) / 100000.0;", false, 2e4,
     [](const Group&, double x, double) { return x * 3; }},
};

/// A random instance.
struct Draw {
  const Kind* kind = nullptr;
  std::vector<int64_t> shape;
  std::vector<int64_t> axes;
  std::string eps;
  double amplitude = 0;
  std::vector<double> x;

  std::string statements() const {
    int64_t count = 1;
    for (const int64_t axis : axes) count *= shape[static_cast<size_t>(axis)];
    std::string list;
    for (const int64_t axis : axes) list += str_cat(list.empty() ? "[" : ", ", axis);
    std::string out = kind->text;
    const auto put = [&](std::string_view name, const std::string& text) {
      for (size_t at = 0; (at = out.find(name, at)) != std::string::npos;) {
        out.replace(at, name.size(), text);
      }
    };
    put("AXES", list + "]");
    put("AXIS", str_cat(axes[0]));
    put("COUNT", str_cat(count, ".0"));
    put("LESS", str_cat(count - 1, ".0"));
    put("EPS", eps);
    return out;
  }
  std::string text() const {
    return str_cat(kind->name, " of [", shape[0], ", ", shape[1], ", ", shape[2], "], amplitude ",
                   amplitude, ": ", statements());
  }
};

Draw drawn(Splitmix64& random) {
  const auto below = [&](size_t n) { return random.in(0, static_cast<int64_t>(n) - 1); };
  Draw out;
  out.kind = &kKinds[below(std::size(kKinds))];
  // The reference loops over a whole group for each element, so large groups are rare.
  const bool large = below(4) == 0;
  out.shape = {1 + below(2), 2 + below(9), 2 + below(40)};
  if (large) out.shape = {1, 2, 300 + below(1800)};
  const std::vector<std::vector<int64_t>> choices = {{1}, {2}, {1, 2}};
  out.axes = choices[static_cast<size_t>(below(out.kind->one_axis ? 2 : 3))];
  constexpr const char* kEps[] = {"1e-3", "1e-5", "1e-6", "1e-8", "1e-12"};
  out.eps = kEps[below(std::size(kEps))];
  const double least = std::log10(1e-4), most = std::log10(out.kind->most);
  out.amplitude = std::pow(10.0, least + (most - least) * random.unit());
  const double offset = below(2) == 0 ? 0.0 : out.amplitude * (random.unit() - 0.5);
  const bool silent = below(12) == 0;
  const int64_t volume = out.shape[0] * out.shape[1] * out.shape[2];
  for (int64_t i = 0; i < volume; ++i) {
    const double v = silent ? 0.0 : out.amplitude * (random.unit() - 0.5) + offset;
    out.x.push_back(to_half(std::clamp(v, -kMostHalf, kMostHalf)));
  }
  return out;
}

/// Return the expected elements of the full shape, from sums in f64.
std::vector<double> expected(const Draw& draw) {
  const auto& s = draw.shape;
  const double eps = static_cast<double>(std::strtof(draw.eps.c_str(), nullptr));
  const auto reduced = [&](int64_t axis) {
    return std::find(draw.axes.begin(), draw.axes.end(), axis) != draw.axes.end();
  };
  std::vector<double> out;
  for (int64_t i = 0; i < s[0]; ++i) {
    for (int64_t j = 0; j < s[1]; ++j) {
      for (int64_t k = 0; k < s[2]; ++k) {
        Group group;
        for (int64_t a = reduced(1) ? 0 : j; a < (reduced(1) ? s[1] : j + 1); ++a) {
          for (int64_t b = reduced(2) ? 0 : k; b < (reduced(2) ? s[2] : k + 1); ++b) {
            group.push_back(draw.x[static_cast<size_t>((i * s[1] + a) * s[2] + b)]);
          }
        }
        const double x = draw.x[static_cast<size_t>((i * s[1] + j) * s[2] + k)];
        out.push_back(draw.kind->expected(group, x, eps));
      }
    }
  }
  return out;
}

/// Return the first element beyond the tolerance; empty if there is none.
std::string difference_of(const Draw& draw, const std::vector<double>& want, const Tensor& got) {
  const auto& s = draw.shape;
  double scale = 0;
  for (const double v : want) scale = std::max(scale, std::min(std::abs(v), kMostHalf));
  for (int64_t n = 0; n < s[0] * s[1] * s[2]; ++n) {
    // Reductions keep extent 1 on their axes.
    const int64_t at[] = {n / (s[1] * s[2]), n / s[2] % s[1], n % s[2]};
    int64_t place = 0;
    for (size_t axis = 0; axis < 3; ++axis) {
      const int64_t extent = got.shape()[axis];
      place = place * extent + (extent == 1 ? 0 : at[axis]);
    }
    const double expected = want[static_cast<size_t>(n)];
    const double found = *element_as_double(got, place);
    if (std::abs(expected) > kMostHalf * (1 - kRelative)) continue;  // may round to infinity
    const double allowed = kRelative * std::max(std::abs(expected), 0.1 * scale) + kLeastHalf;
    if (std::abs(found - expected) <= allowed) continue;
    return str_cat("element ", n, " is ", found, ", expected ", expected, "\n", draw.text());
  }
  return {};
}

std::string problem(const Graph& graph, const Draw& draw, const std::vector<double>& want) {
  const auto out = ops::test::run(graph, {typed(DType::kF16, draw.shape, draw.x)});
  if (!out.ok()) return str_cat(out.error().to_string(), "\n", draw.text());
  if ((*out)[0].dtype() != DType::kF16) return str_cat("the output is not f16\n", draw.text());
  return difference_of(draw, want, (*out)[0]);
}

Graph graph_of(const Draw& draw, const char* type, bool open = false) {
  const auto& s = draw.shape;
  const std::string last = open ? "S" : str_cat(s[2]);
  const std::string shape = str_cat(s[0], ", ", s[1], ", ", last);
  return ops::test::graph_of({{"x", shape, type}}, draw.statements());
}

/// Call `look` with the instance of each seed.
template <class Look>
void for_each_draw(int64_t count, Look look) {
  const auto [first, seeds] = seeds_or(1, count);
  for (int64_t seed = first; seed < first + seeds; ++seed) {
    Splitmix64 random(static_cast<uint64_t>(seed));
    look(drawn(random), random);
  }
}

TEST(F16Norms, FilesOfF16ComputeThemAsInF32) {
  for_each_draw(500, [](const Draw& draw, Splitmix64&) {
    EXPECT_EQ(problem(graph_of(draw, "f16"), draw, expected(draw)), "");
  });
}

TEST(F16Norms, ConvertedFilesComputeThemAsInF32) {
  for_each_draw(500, [](const Draw& draw, Splitmix64&) {
    const std::vector<double> want = expected(draw);
    const Graph graph = graph_of(draw, "f32");
    const auto simple = declutter(graph);
    ASSERT_TRUE(simple.ok());
    for (const Graph* from : {&graph, &*simple}) {
      const auto half = transforms::with_float_type(*from, DType::kF32, DType::kF16);
      ASSERT_TRUE(half.ok()) << half.error().to_string();
      EXPECT_EQ(problem(*half, draw, want), "");
    }
  });
}

// Streams give the bits of the whole run, whether the model is pulsed before or after its
// conversion.
TEST(F16Norms, StreamsGiveTheBitsOfTheWholeRun) {
  int streams = 0;
  for_each_draw(300, [&](Draw draw, Splitmix64& random) {
    const Graph whole = graph_of(draw, "f32", true);
    const auto converted = transforms::with_float_type(whole, DType::kF32, DType::kF16);
    ASSERT_TRUE(converted.ok()) << converted.error().to_string();
    const Graph half = graph_of(draw, "f16", true);
    for (const Graph* graph : {&half, &*converted}) {
      auto streamed = StreamedRun::make(*graph, random.in(1, 5));
      if (!streamed.ok()) continue;
      ++streams;
      for (const int64_t length : {7, 40}) {
        EXPECT_EQ(stream_problem(*graph, &*streamed, length), "") << draw.text();
      }
    }
    auto pulsed = StreamedRun::make(whole, 4);
    if (!pulsed.ok()) return;
    const auto after = transforms::with_float_type(pulsed->graph(), DType::kF32, DType::kF16);
    ASSERT_TRUE(after.ok()) << after.error().to_string() << draw.text();
    auto streamed = pulsed->through(*after);
    ASSERT_TRUE(streamed.ok()) << streamed.error().to_string() << draw.text();
    EXPECT_EQ(stream_problem(*converted, &*streamed, 40), "") << draw.text();
  });
  EXPECT_GT(streams, 30);
}

/// The loop that torch_to_nnef writes for `torch.cumsum`.
Graph running_sum() {
  const char* const loop =
      "fragment add_frame(frame: tensor<scalar>, sum: tensor<scalar>) -> (next: tensor<scalar>)\n"
      "{\n  next = frame + sum;\n}\n";
  const char* const statements =
      "  f = slice(x, axes = [1], begin = [0], end = [1]);\n  z = f - f;\n"
      "  y = tract_core_scan(body = \"add_frame\", scan = [(\"frame\", x, 1, 1)], full = [],"
      " state = [(\"sum\", z, \"next\")], output = [(\"next\", \"full\", 1, 1)],"
      " skip = 0, reset_every_turn = false);\n";
  return load_text(document("1, S", statements, "y", loop)).value();
}

// PyTorch adds f16 values in f32, and rounds each sum once.
TEST(F16Norms, LoopsThatAddFramesRoundEachSumOnce) {
  const auto half = transforms::with_float_type(running_sum(), DType::kF32, DType::kF16);
  ASSERT_TRUE(half.ok()) << half.error().to_string();
  Splitmix64 random(5);
  for (const double amplitude : {1e-3, 1.0, 300.0, kMostHalf}) {
    const int64_t length = random.in(1, 900);
    std::vector<double> x;
    for (int64_t i = 0; i < length; ++i) x.push_back(to_half(amplitude * (2 * random.unit() - 1)));
    auto whole = WholeRun::make(*half, length);
    ASSERT_TRUE(whole.ok()) << whole.error().to_string();
    const std::vector<Tensor> inputs = {typed(DType::kF16, {1, length}, x)};
    const std::vector<Tensor> out = whole->run(inputs);
    double sum = 0;
    double sizes = 0;
    for (int64_t i = 0; i < length; ++i) {
      sum += x[static_cast<size_t>(i)];
      sizes += std::abs(x[static_cast<size_t>(i)]);
      if (std::abs(sum) > kMostHalf * (1 - kRelative)) continue;  // may round to infinity
      const double allowed = 0x1p-11 * std::abs(sum) + kLeastHalf +
                             0x1p-24 * static_cast<double>(i) * sizes;
      EXPECT_NEAR(*element_as_double(out[0], i), sum, allowed) << "amplitude " << amplitude;
    }
    auto streamed = StreamedRun::make(*half, random.in(1, 9));
    ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
    EXPECT_EQ(stream_problem(*half, &*streamed, length), "");
  }
}

}  // namespace
}  // namespace rill::test
