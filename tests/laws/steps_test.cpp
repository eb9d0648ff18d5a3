// The arguments of a step are data: a plan whose steps are made anew from what a visitor saw of
// them gives the bits of the plan.

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <variant>

#include "core/exec/plan.h"
#include "core/exec/session.h"
#include "core/run/step_fields.h"
#include "core/optim/optim.h"
#include "nnef_loader/load.h"
#include "ops/op_table.h"
#include "pulse/pulse.h"
#include "tests/laws/case.h"
#include "tests/property/generate.h"
#include "tests/property/streaming.h"

namespace rill::test {
namespace {

/// What is known of a stream at its end, or by its positions, which no case of an operator has.
constexpr const char* kKeptOfStreams[] = {
    "  y = mean_reduce(x, axes = [1]);\n", "  y = argmax_reduce(x, axes = [1]);\n",
    "  y = slice(x, axes = [1], begin = [-3], end = [0]);\n",
    "  n = tract_core_range(0, S, 1);\n  y = x + tract_core_cast(unsqueeze(n, axes = [0, 2]), to = "
    "'f32');\n",
    "  n = tract_core_range(0, S, 1);\n"
    "  row = unsqueeze(n, axes = [0, 2]);\n  column = unsqueeze(n, axes = [0, 1]);\n"
    "  s = matmul(x, x, transposeB = true);\n"
    "  m = select((row >= column) && (row - column <= 5), s, -1000000.0);\n"
    "  y = matmul(softmax(m, axes = [2]), x);\n"};

struct SeenStep;
using Value = std::variant<int64_t, double, Text, Dim, TensorPtr, Extent, Ref, PlacedView, OpPtr,
                           std::vector<SeenStep>>;

/// What a visitor saw of a step.
struct SeenStep {
  const StepKind* kind = nullptr;
  int node = -1;
  StepParts parts;
  std::vector<Value> values;
};

SeenStep seen(const Step& step);

class Recorder final : public StepFields {
 public:
  std::vector<Value> values;

  void field(std::string_view, int64_t& value) override { values.emplace_back(value); }
  void field(std::string_view, double& value) override { values.emplace_back(value); }
  void field(std::string_view, Text& value) override { values.emplace_back(value); }
  void field(std::string_view, Dim& value) override { values.emplace_back(value); }
  void field(std::string_view, TensorPtr& value) override { values.emplace_back(value); }
  void field(std::string_view, Extent& value) override { values.emplace_back(value); }
  void field(std::string_view, Ref& value) override { values.emplace_back(value); }
  void field(std::string_view, PlacedView& value) override { values.emplace_back(value); }
  void field(std::string_view, OpPtr& value) override { values.emplace_back(value); }
  void field(std::string_view, List<Step>& value) override {
    std::vector<SeenStep> all;
    for (const Step& step : value) all.push_back(seen(step));
    values.emplace_back(std::move(all));
  }
  void kernel(std::string_view name, std::span<const std::string_view> names,
              int64_t& index) override {
    const std::set<std::string_view> distinct(names.begin(), names.end());
    EXPECT_EQ(distinct.size(), names.size()) << name << ": kernels share a name";
    values.emplace_back(index < 0 ? Text() : Text(names[static_cast<size_t>(index)]));
  }
  void address(std::string_view name, bool is_null) override {
    EXPECT_TRUE(is_null) << name << " points somewhere before the step runs";
  }
  void begin(std::string_view) override {}
  void begin_list(std::string_view, int64_t& count) override { values.emplace_back(count); }
  void end() override {}
};

List<Step> made_anew(const std::vector<SeenStep>& all,
                      List<std::shared_ptr<void>>* owned);

class Player final : public StepFields {
 public:
  Player(const std::vector<Value>& values, List<std::shared_ptr<void>>* owned)
      : values_(values), owned_(owned) {}
  bool at_end() const { return next_ == values_.size(); }

  void field(std::string_view, int64_t& value) override { take(&value); }
  void field(std::string_view, double& value) override { take(&value); }
  void field(std::string_view, Text& value) override { take(&value); }
  void field(std::string_view, Dim& value) override { take(&value); }
  void field(std::string_view, TensorPtr& value) override { take(&value); }
  void field(std::string_view, Extent& value) override { take(&value); }
  void field(std::string_view, Ref& value) override { take(&value); }
  void field(std::string_view, PlacedView& value) override { take(&value); }
  void field(std::string_view, OpPtr& value) override { take(&value); }
  void field(std::string_view, List<Step>& value) override {
    std::vector<SeenStep> all;
    take(&all);
    value = made_anew(all, owned_);
  }
  void kernel(std::string_view, std::span<const std::string_view> names, int64_t& index) override {
    Text name;
    take(&name);
    index = -1;
    for (size_t i = 0; i < names.size(); ++i) {
      if (name == names[i]) index = static_cast<int64_t>(i);
    }
  }
  void address(std::string_view, bool) override {}
  void begin(std::string_view) override {}
  void begin_list(std::string_view, int64_t& count) override { take(&count); }
  void end() override {}

 private:
  template <class T>
  void take(T* value) {
    ASSERT_LT(next_, values_.size());
    const T* kept = std::get_if<T>(&values_[next_++]);
    ASSERT_NE(kept, nullptr);
    *value = *kept;
  }

  const std::vector<Value>& values_;
  List<std::shared_ptr<void>>* owned_;
  size_t next_ = 0;
};

SeenStep seen(const Step& step) {
  SeenStep out{step.kind, step.node, step.parts, {}};
  Recorder recorder;
  step.kind->describe(const_cast<void*>(step.args), recorder);
  out.values = std::move(recorder.values);
  return out;
}

List<Step> made_anew(const std::vector<SeenStep>& all,
                      List<std::shared_ptr<void>>* owned) {
  List<Step> steps;
  for (const SeenStep& each : all) {
    std::shared_ptr<void> args = make_args(*each.kind);
    Player player(each.values, owned);
    each.kind->describe(args.get(), player);
    EXPECT_TRUE(player.at_end()) << each.kind->name;
    steps.push_back(Step{each.kind->run, args.get(), each.kind, each.node, each.parts});
    owned->push_back(std::move(args));
  }
  return steps;
}

/// A plan like another, of whose steps nothing is left but what a visitor saw.
std::shared_ptr<const Plan> anew(const Plan& plan, std::map<std::string, const StepKind*>* kinds) {
  std::vector<SeenStep> all;
  for (const Step& step : plan.steps) {
    all.push_back(seen(step));
    const auto [it, fresh] = kinds->emplace(step.kind->name, step.kind);
    EXPECT_EQ(it->second, step.kind) << "two kinds of steps are called " << step.kind->name;
  }
  auto out = std::make_shared<Plan>(plan);
  out->owned.clear();
  out->steps = made_anew(all, &out->owned);
  return out;
}

/// Bytes that make small numbers of every type: indices stay within their axes.
void fill(const Session& first, const Session& second, size_t input, int step) {
  const View view = first.input(input);
  const int64_t count = view.volume();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t number = (i * 7 + step * 3 + static_cast<int64_t>(input)) % 5;
    if (view.dtype == DType::kF32) {
      view.as<float>()[i] = static_cast<float>(number) * 0.375F - 0.5F;
    } else if (view.dtype == DType::kI64) {
      view.as<int64_t>()[i] = number % 2;
    } else if (dtype_size(view.dtype) == 1) {
      view.as<uint8_t>()[i] = static_cast<uint8_t>(number % 2);
    }
  }
  std::memcpy(second.input(input).data, view.data,
              static_cast<size_t>(count * dtype_size(view.dtype)));
}

using Kinds = std::map<std::string, const StepKind*>;

/// Runs a plan and one made anew from what a visitor saw of it side by side, over noise, and
/// compares all outputs after every step. A stream ends in the last one.
void expect_same(const Plan& plan, int steps, Kinds* kinds) {
  const std::shared_ptr<const Plan> other = anew(plan, kinds);
  auto first = Session::make({std::shared_ptr<void>(), &plan});
  auto second = Session::make(other);
  ASSERT_TRUE(first.ok() && second.ok());
  for (int step = 0; step < steps; ++step) {
    if (step + 1 == steps && plan.stream_pulse > 0) {
      const int64_t end = plan.stream_pulse * step + 1;
      (*first)->announce_end(end);
      (*second)->announce_end(end);
    }
    for (size_t i = 0; i < plan.inputs.size(); ++i) fill(**first, **second, i, step);
    (*first)->step();
    (*second)->step();
    for (size_t i = 0; i < plan.outputs.size(); ++i) {
      EXPECT_EQ(std::memcmp((*first)->output(i).data, (*second)->output(i).data,
                            static_cast<size_t>(plan.outputs[i].bytes)),
                0)
          << "step " << step << ", output " << i;
    }
  }
}

/// The same of a graph, streamed at each pulse, and whole at each length.
void expect_same(const Graph& graph, const std::vector<int64_t>& pulses,
                 const std::vector<int64_t>& lengths, Kinds* kinds) {
  for (const int64_t pulse : pulses) {
    SCOPED_TRACE(str_cat("pulse ", pulse));
    auto streamed = StreamedRun::make(graph, pulse);
    ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
    expect_same(streamed->session().plan(), 5, kinds);
  }
  for (const int64_t length : lengths) {
    SCOPED_TRACE(str_cat("S = ", length));
    auto whole = WholeRun::make(graph, length);
    ASSERT_TRUE(whole.ok()) << whole.error().to_string();
    expect_same(whole->plan(), 2, kinds);
  }
}

void expect_same(const Case& a_case, Kinds* kinds) {
  auto graph = load_case(a_case);
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  if (a_case.pulsed) {
    const auto plan = prepare(*graph);
    ASSERT_TRUE(plan.ok()) << plan.error().to_string();
    return expect_same(**plan, 5, kinds);
  }
  std::vector<int64_t> lengths = a_case.lengths;
  if (lengths.empty()) lengths = {1};
  expect_same(*graph, a_case.pulses, lengths, kinds);
}

class StepLaws : public ::testing::TestWithParam<Case> {};

TEST_P(StepLaws, StepsMadeAnewFromTheirFieldsGiveTheSameBits) {
  Kinds kinds;
  SCOPED_TRACE(GetParam().text());
  expect_same(GetParam(), &kinds);
}

struct CaseName {
  std::string operator()(const ::testing::TestParamInfo<Case>& info) const {
    return info.param.name;
  }
};

INSTANTIATE_TEST_SUITE_P(Cases, StepLaws, ::testing::ValuesIn(all_cases()), CaseName());

/// The names of all kinds, as the sources give them.
std::set<std::string> kinds_of_the_sources() {
  const std::regex given("step_kind<[^;]*>\\(\\s*\"(\\w+)\"\\)");
  std::set<std::string> out;
  for (const char* folder : {"core", "ops"}) {
    const std::filesystem::path root = std::filesystem::path(RILL_SOURCE_DIR) / folder;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      const std::string name = entry.path().extension().string();
      if (name != ".cpp" && name != ".h") continue;
      std::ifstream file(entry.path());
      const std::string text((std::istreambuf_iterator<char>(file)), {});
      for (std::sregex_iterator at(text.begin(), text.end(), given), end; at != end; ++at) {
        EXPECT_TRUE(out.insert((*at)[1]).second) << (*at)[1] << " is the name of two kinds";
      }
    }
  }
  return out;
}

/// Models that were exported, streamed by the smallest pulses that they take, and whole.
void expect_same_of_models(Kinds* kinds) {
  int64_t held = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(RILL_SOURCE_DIR) / "tests" / "models")) {
    const std::filesystem::path archive = entry.path() / "model.nnef.tgz";
    if (!std::filesystem::exists(archive)) continue;
    SCOPED_TRACE(archive.string());
    auto loaded = nnef::load(archive.string(), ops::op_table());
    ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
    Graph graph = *std::move(loaded);
    const std::vector<std::string> symbols = graph.scope.symbols();
    for (const std::string& symbol : symbols) {
      if (symbol != "S") graph = graph.with_symbol(symbol, Dim(1)).value();
    }
    pulse::Options options;
    options.symbol = "S";
    const auto pulse = pulse::least_pulse(graph, options);
    if (pulse.ok()) {
      expect_same(graph, {*pulse, 3 * *pulse}, {}, kinds);
      ++held;
    } else if (const auto whole = WholeRun::make(graph, 48); whole.ok()) {
      expect_same(whole->plan(), 2, kinds);
      ++held;
    }
  }
  EXPECT_GT(held, 40);
}

// A kind of step that nothing emits here is held to nothing.
TEST(StepKinds, AreAllHeldToTheirFields) {
  Kinds kinds;
  for (const Case& a_case : all_cases()) expect_same(a_case, &kinds);
  for (const char* statements : kKeptOfStreams) {
    SCOPED_TRACE(statements);
    const auto graph = load_text(document("1, S, 4", statements));
    ASSERT_TRUE(graph.ok()) << graph.error().to_string();
    expect_same(*graph, {4}, {}, &kinds);
  }
  expect_same_of_models(&kinds);
  std::set<std::string> found;
  for (const auto& [name, kind] : kinds) found.insert(name);
  EXPECT_EQ(found, kinds_of_the_sources());
}

}  // namespace
}  // namespace rill::test
