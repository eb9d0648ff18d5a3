// States that share an output or input, or have another shape in it, against the same model with
// separate states. feedback_test compares models with a caller that passes the states on.

#include <gtest/gtest.h>

#include "audit/drive.h"
#include "core/base/splitmix.h"
#include "core/exec/plan.h"
#include "core/optim/optim.h"
#include "core/tensor/frames.h"
#include "pulse/feedback.h"
#include "tests/property/streaming.h"

namespace rill::test {
namespace {

constexpr int64_t kFrames = 4;

/// The shape of an input that holds one state.
enum class Form : uint8_t { kSame, kReordered, kFlat, kUnitAxis };

struct Drawn {
  std::vector<int64_t> extents;  ///< the extent of each state on the axis that joins them
  std::vector<size_t> order;     ///< the order of the states in the output
  int64_t axis = 0;
  bool joined_input = false;
  bool joined_output = false;
  Form form = Form::kSame;

  /// Return the shape of a state: `extent` on the joining axis, 2 and 3 on the others.
  std::vector<int64_t> shape(int64_t extent) const {
    if (axis == 0) return {extent, 2, 3};
    if (axis == 1) return {2, extent, 3};
    return {2, 3, extent};
  }
};

Drawn drawn(uint64_t seed) {
  Splitmix64 draw(seed);
  Drawn out;
  const int64_t count = draw.in(1, 4);
  for (int64_t i = 0; i < count; ++i) {
    constexpr int64_t kExtents[] = {1, 4, 5};
    out.extents.push_back(kExtents[draw.in(0, 2)]);
    out.order.push_back(static_cast<size_t>(i));
  }
  for (size_t i = out.order.size(); i-- > 1;) {
    std::swap(out.order[i], out.order[static_cast<size_t>(draw.in(0, static_cast<int64_t>(i)))]);
  }
  out.axis = draw.in(0, 2);
  out.joined_input = draw.in(0, 1) == 1;
  out.joined_output = draw.in(0, 1) == 1;
  out.form = static_cast<Form>(draw.in(0, 3));
  return out;
}

std::string listed(const std::vector<int64_t>& numbers) {
  std::vector<std::string> texts;
  for (const int64_t number : numbers) texts.push_back(str_cat(number));
  return str_cat("[", join(texts, ", "), "]");
}

int64_t sum(const std::vector<int64_t>& numbers) {
  int64_t out = 0;
  for (const int64_t number : numbers) out += number;
  return out;
}

/// Return the declaration of the input for state i, and append its conversion to `body`.
std::string input_text(const Drawn& d, size_t i, std::string* body) {
  const std::vector<int64_t> shape = d.shape(d.extents[i]);
  std::vector<int64_t> has = shape;
  const std::string name = str_cat("s", static_cast<int64_t>(i));
  switch (d.form) {
    case Form::kSame:
      *body += str_cat("  a", name, " = ", name, ";\n");
      break;
    case Form::kReordered:
      has = {shape[2], shape[0], shape[1]};
      *body += str_cat("  a", name, " = transpose(", name, ", axes = [1, 2, 0]);\n");
      break;
    case Form::kFlat:
      has = {shape[0] * shape[1] * shape[2]};
      *body += str_cat("  a", name, " = reshape(", name, ", shape = ", listed(shape), ");\n");
      break;
    case Form::kUnitAxis:
      has.insert(has.begin() + 1, 1);
      *body += str_cat("  a", name, " = squeeze(", name, ", axes = [1]);\n");
      break;
  }
  return str_cat("  ", name, " = tract_core_external(shape = ", listed(has),
                 ", datum_type = 'f32');\n");
}

/// Return the model, with separate states if `plain`, else joined as drawn.
std::string model(const Drawn& d, bool plain) {
  std::vector<std::string> inputs = {"x"};
  std::vector<std::string> outputs = {"y"};
  std::string externals =
      str_cat("  x = tract_core_external(shape = [1, ", kFrames, "], datum_type = 'f32');\n");
  std::string body = "  mean = mean_reduce(x, axes = [1]);\n";
  std::string total = "mean";
  const bool joined_input = d.joined_input && !plain;
  const bool joined_output = d.joined_output && !plain;
  if (joined_input) {
    inputs.emplace_back("s");
    externals += str_cat("  s = tract_core_external(shape = ", listed(d.shape(sum(d.extents))),
                         ", datum_type = 'f32');\n");
  }
  int64_t begin = 0;
  Drawn form = d;
  if (plain) form.form = Form::kSame;
  for (size_t i = 0; i < d.extents.size(); ++i) {
    const auto number = static_cast<int64_t>(i);
    const int64_t end = begin + d.extents[i];
    if (joined_input) {
      body += str_cat("  as", number, " = slice(s, axes = [", d.axis, "], begin = [", begin,
                      "], end = [", end, "]);\n");
    } else {
      inputs.push_back(str_cat("s", number));
      externals += input_text(form, i, &body);
    }
    begin = end;
    body += str_cat("  t", number, " = tanh(0.7 * as", number, " + ", number + 1,
                    ".0 * unsqueeze(mean, axes = [2]) + tract_core_broadcast(0.", number + 1,
                    ", shape = ", listed(d.shape(d.extents[i])), "));\n");
    total += str_cat(" + sum_reduce(squeeze(sum_reduce(t", number,
                     ", axes = [1, 2]), axes = [2]), axes = [0])");
    if (!joined_output) outputs.push_back(str_cat("t", number));
  }
  if (joined_output) {
    std::vector<std::string> parts;
    for (const size_t i : d.order) parts.push_back(str_cat("t", static_cast<int64_t>(i)));
    body += str_cat("  t = concat([", join(parts, ", "), "], axis = ", d.axis, ");\n");
    outputs.emplace_back("t");
  }
  return str_cat("version 1.0;\nextension tract_registry tract_core;\ngraph network(",
                 join(inputs, ", "), ") -> (", join(outputs, ", "), ")\n{\n", externals, body,
                 "  y = ", total, ";\n}\n");
}

std::string part_text(std::string_view name, int64_t axis, int64_t begin, int64_t end, bool index) {
  std::string out = str_cat(name, "[");
  for (int64_t i = 0; i < axis; ++i) out += ":,";
  return index && end == begin + 1 ? str_cat(out, begin, "]")
                                   : str_cat(out, begin, ":", end, "]");
}

/// Return the pairs of outputs and inputs in random order.
std::vector<std::pair<std::string, std::string>> pairs(const Drawn& d, Splitmix64* draw) {
  std::vector<std::pair<std::string, std::string>> out;
  int64_t place = 0;
  for (const size_t i : d.order) {
    int64_t begin = 0;
    for (size_t before = 0; before < i; ++before) begin += d.extents[before];
    const int64_t extent = d.extents[i];
    const std::string number = str_cat(static_cast<int64_t>(i));
    std::string from = str_cat("t", number);
    std::string to = str_cat("s", number);
    if (d.joined_output) from = part_text("t", d.axis, place, place + extent, draw->in(0, 1) == 1);
    if (d.joined_input) to = part_text("s", d.axis, begin, begin + extent, draw->in(0, 1) == 1);
    place += extent;
    out.insert(out.begin() + draw->in(0, static_cast<int64_t>(out.size())),
               {std::move(from), std::move(to)});
  }
  return out;
}

Result<Graph> tied(const std::string& text,
                   const std::vector<std::pair<std::string, std::string>>& pairs,
                   Splitmix64* draw) {
  RILL_ASSIGN(Graph graph, load_text(text));
  for (const auto& [from, to] : pairs) {
    RILL_ASSIGN(graph, pulse::with_feedback(graph, from, to));
    // The C interface simplifies after each pair, the programs after all pairs.
    if (draw->in(0, 1) == 1) {
      RILL_ASSIGN(graph, declutter(graph));
    }
  }
  return declutter(graph);
}

class FeedbackParts : public ::testing::TestWithParam<uint64_t> {};

TEST_P(FeedbackParts, GiveTheFramesOfSeparateStates) {
  const Drawn d = drawn(GetParam());
  Splitmix64 draw(GetParam() + 1);
  Drawn plain = d;
  plain.joined_input = plain.joined_output = false;
  const auto graph = tied(model(d, false), pairs(d, &draw), &draw);
  ASSERT_TRUE(graph.ok()) << graph.error().to_string() << "\n" << model(d, false);
  const auto separate = tied(model(d, true), pairs(plain, &draw), &draw);
  ASSERT_TRUE(separate.ok()) << separate.error().to_string() << "\n" << model(d, true);
  EXPECT_EQ(graph->inputs.size(), 1U);
  EXPECT_EQ(graph->output_names, (std::vector<std::string>{"y"}));
  constexpr int64_t kSteps = 7;
  Tensor x = std::move(Tensor::zeros(DType::kF32, {1, kSteps * kFrames})).value();
  for (int64_t i = 0; i < x.volume(); ++i) {
    x.mutable_data<float>()[i] = static_cast<float>(2 * draw.unit() - 1);
  }
  std::vector<Tensor> found;
  for (const Graph* each : {&*graph, &*separate}) {
    const auto plan = prepare(*each);
    ASSERT_TRUE(plan.ok()) << plan.error().to_string();
    const auto session = std::move(Session::make(*plan)).value();
    const auto got = audit::run_stream(session.get(), std::vector<Tensor>{x}, x.extent(1), {});
    ASSERT_TRUE(got.ok()) << got.error().to_string();
    found.push_back(got->outputs[0]);
  }
  EXPECT_EQ(found[0].extent(1), kSteps);
  EXPECT_EQ(difference(found[0], found[1]), "") << model(d, false);
}

INSTANTIATE_TEST_SUITE_P(Seed, FeedbackParts, ::testing::Range<uint64_t>(0, 80));

class NamedFrames : public ::testing::TestWithParam<uint64_t> {};

/// A step of s = 0.5 * s + x with frames on a random axis, compared with the same sum in a loop.
TEST_P(NamedFrames, StreamAlongTheAxisThatIsNamed) {
  Splitmix64 draw(GetParam());
  std::vector<int64_t> shape;
  for (int64_t rank = draw.in(2, 4); rank > 0; --rank) shape.push_back(draw.in(1, 4));
  const int64_t axis = draw.in(0, static_cast<int64_t>(shape.size()) - 1);
  const auto at = static_cast<size_t>(axis);
  const bool moved = draw.in(0, 1) == 1;
  std::vector<int64_t> order(shape.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<int64_t>((i + (moved ? 1 : 0)) % order.size());
  }
  const auto graph = load_text(str_cat(
      "version 1.0;\nextension tract_registry tract_core;\ngraph network(x, s) -> (y, t)\n{\n"
      "  x = tract_core_external(shape = ",
      listed(shape), ", datum_type = 'f32');\n  s = tract_core_external(shape = ", listed(shape),
      ", datum_type = 'f32');\n  t = 0.5 * s + x;\n  y = transpose(t, axes = ", listed(order),
      ");\n}\n"));
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  auto made = pulse::with_feedback(*graph, "t", "s");
  ASSERT_TRUE(made.ok()) << made.error().to_string();
  const pulse::FrameAxis named[] = {{"x", axis}};
  made = pulse::with_frames(*made, named);
  ASSERT_TRUE(made.ok()) << made.error().to_string();
  const auto rank = static_cast<int64_t>(shape.size());
  EXPECT_EQ(made->streaming->input_axis(0), axis);
  EXPECT_EQ(made->streaming->output(0).axis, (axis + (moved ? rank - 1 : 0)) % rank);
  EXPECT_EQ(made->streaming->pulse, shape[at]);

  const int64_t steps = draw.in(1, 6);
  std::vector<int64_t> whole = shape;
  whole[at] *= steps;
  Tensor x = std::move(Tensor::zeros(DType::kF32, whole)).value();
  for (int64_t i = 0; i < x.volume(); ++i) {
    x.mutable_data<float>()[i] = static_cast<float>(2 * draw.unit() - 1);
  }
  Tensor wanted = std::move(Tensor::zeros(DType::kF32, whole)).value();
  copy_view(x.view(), wanted.view());
  int64_t inner = 1;
  for (size_t i = at + 1; i < shape.size(); ++i) inner *= shape[i];
  const int64_t step = shape[at] * inner;
  float* value = wanted.mutable_data<float>();
  for (int64_t i = 0; i < wanted.volume(); ++i) {
    if (i / step % steps > 0) value[i] += 0.5F * value[i - step];
  }
  const auto graph_again = declutter(*made);
  ASSERT_TRUE(graph_again.ok()) << graph_again.error().to_string();
  const auto plan = prepare(*graph_again);
  ASSERT_TRUE(plan.ok()) << plan.error().to_string();
  const auto session = std::move(Session::make(*plan)).value();
  const auto got = audit::run_stream(session.get(), std::vector<Tensor>{x}, whole[at], {});
  ASSERT_TRUE(got.ok()) << got.error().to_string();
  const Tensor& found = got->outputs[0];
  ASSERT_EQ(found.volume(), wanted.volume());
  // y is t transposed by `order`, so map the indices of y back to those of t.
  std::vector<int64_t> index(shape.size());
  for (int64_t i = 0; i < found.volume(); ++i) {
    int64_t left = i;
    for (size_t k = order.size(); k-- > 0;) {
      const auto of = static_cast<size_t>(order[k]);
      index[of] = left % whole[of];
      left /= whole[of];
    }
    int64_t place = 0;
    for (size_t k = 0; k < whole.size(); ++k) place = place * whole[k] + index[k];
    ASSERT_EQ(found.data<float>()[i], value[place]) << "element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Seed, NamedFrames, ::testing::Range<uint64_t>(0, 60));

std::string refusal(std::string_view gives, std::string_view takes, std::string_view output,
                    std::string_view input) {
  const std::string text = str_cat(
      "version 1.0;\nextension tract_registry tract_core;\ngraph network(x, s) -> (y, t)\n{\n"
      "  x = tract_core_external(shape = [1, 4], datum_type = 'f32');\n  s = "
      "tract_core_external(shape = ",
      takes, ", datum_type = 'f32');\n  t = tract_core_broadcast(0.5, shape = ", gives,
      ");\n  y = 2.0 * x;\n}\n");
  const auto graph = load_text(text);
  if (!graph.ok()) return graph.error().to_string();
  const auto made = pulse::with_feedback(*graph, output, input);
  return made.ok() ? "made" : made.error().to_string();
}

TEST(FeedbackParts, RefuseShapesThatLeaveAChoice) {
  const std::string several = refusal("[2, 2, 8]", "[8, 2, 2]", "t", "s");
  EXPECT_NE(several.find("\"t\" is 2,2,8,F32, input \"s\" is 8,2,2,F32"), std::string::npos)
      << several;
  EXPECT_NE(several.find(".transpose(2,0,1) and .transpose(2,1,0)"), std::string::npos) << several;
  EXPECT_EQ(refusal("[2, 2, 8]", "[8, 2, 2]", "t.transpose(2,1,0)", "s"), "made");
  EXPECT_EQ(refusal("[2, 3, 8]", "[8, 3, 2]", "t", "s"), "made");
  EXPECT_EQ(refusal("[2, 1, 8]", "[16]", "t", "s"), "made");
  // The output joins rows, the input columns.
  EXPECT_NE(refusal("[2, 3, 4]", "[3, 8]", "t", "s").find("expected the same"), std::string::npos);
  EXPECT_NE(refusal("[2, 3, 4]", "[4, 6]", "t", "s").find("expected the same"), std::string::npos);
  EXPECT_NE(refusal("[2, 3]", "[3, 2]", "t.transpose(1,1)", "s").find("each axis"),
            std::string::npos);
}

TEST(FeedbackParts, RefuseMissingParts) {
  EXPECT_NE(refusal("[2, 8]", "[1, 8]", "t[2]", "s").find("not within"), std::string::npos);
  EXPECT_NE(refusal("[2, 8]", "[1, 8]", "t[0,0,0]", "s").find("not within"), std::string::npos);
  EXPECT_NE(refusal("[2, 8]", "[1, 8]", "u[0]", "s").find("The outputs are y, t"),
            std::string::npos);
  EXPECT_NE(refusal("[2, 8]", "[1, 8]", "t[-1]", "s").find("The outputs are y, t"),
            std::string::npos);
  EXPECT_NE(refusal("[2, 8]", "[1, 8]", "t[0]", "r[1]").find("The inputs are x, s"),
            std::string::npos);
  EXPECT_EQ(refusal("[2, 8]", "[1, 8]", "t[1]", "s"), "made");
}

TEST(FeedbackParts, LeaveTheRestAsOutputsAndInputs) {
  const auto graph = load_text(model({{1, 4, 5}, {2, 0, 1}, 0, true, true, Form::kSame}, false));
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  const auto made = pulse::with_feedback(*graph, "t[5]", "s[0]");
  ASSERT_TRUE(made.ok()) << made.error().to_string();
  EXPECT_EQ(made->output_names, (std::vector<std::string>{"y", "t[0:5]", "t[6:10]"}));
  ASSERT_EQ(made->inputs.size(), 2U);
  EXPECT_EQ(made->input_name(1), "s[1:10]");
  const auto again = pulse::with_feedback(*made, "t[5]", "s[1]");
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().to_string().find("\"t[5]\" is fed back already"), std::string::npos)
      << again.error().to_string();
}

}  // namespace
}  // namespace rill::test
