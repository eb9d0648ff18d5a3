// The arguments of a step are data: a plan rebuilt from the fields that a visitor saw gives the
// same bits.

#include <gtest/gtest.h>

#include <algorithm>
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
#include "ops/step_table.h"
#include "tests/operators/case.h"
#include "tests/operators/side_by_side.h"
#include "tests/property/streaming.h"

namespace rill::test {
namespace {

struct SeenStep;
using Value = std::variant<int64_t, double, Text, Dim, TensorPtr, Extent, Ref, PlacedView, OpPtr,
                           std::vector<SeenStep>>;

/// The fields of a step, as a visitor saw them.
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
  void kernel(std::string_view name, std::span<const KernelName> names, int64_t& index) override {
    std::set<std::string_view> distinct;
    for (const KernelName& each : names) distinct.insert(each.name);
    EXPECT_EQ(distinct.size(), names.size()) << name << ": kernels share a name";
    values.emplace_back(index < 0 ? Text() : Text(names[static_cast<size_t>(index)].name));
  }
  void address(std::string_view name, bool is_null) override {
    EXPECT_TRUE(is_null) << name << " points somewhere before the step runs";
  }
  void begin(std::string_view) override {}
  void begin_list(std::string_view, int64_t& count) override { values.emplace_back(count); }
  void end() override {}
};

List<Step> rebuilt_steps(const std::vector<SeenStep>& all, List<std::shared_ptr<void>>* owned);

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
    value = rebuilt_steps(all, owned_);
  }
  void kernel(std::string_view, std::span<const KernelName> names, int64_t& index) override {
    Text name;
    take(&name);
    index = -1;
    for (size_t i = 0; i < names.size(); ++i) {
      if (name == names[i].name) index = static_cast<int64_t>(i);
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

List<Step> rebuilt_steps(const std::vector<SeenStep>& all, List<std::shared_ptr<void>>* owned) {
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

/// Return a copy of a plan, with steps built only from the fields that a visitor saw.
std::shared_ptr<const Plan> rebuilt(const Plan& plan,
                                    std::map<std::string, const StepKind*>* kinds) {
  std::vector<SeenStep> all;
  for (const Step& step : plan.steps) {
    all.push_back(seen(step));
    const auto [it, fresh] = kinds->emplace(step.kind->name, step.kind);
    EXPECT_EQ(it->second, step.kind) << "two kinds of steps are called " << step.kind->name;
  }
  auto out = std::make_shared<Plan>(plan);
  out->owned.clear();
  out->steps = rebuilt_steps(all, &out->owned);
  return out;
}

using Kinds = std::map<std::string, const StepKind*>;

/// Run a plan next to its copy from a visitor's fields.
SeePlan rebuilt_plan_gives_the_same(Kinds* kinds) {
  return [kinds](const PreparedFrom&, const Plan& plan, int steps) {
    expect_same_runs(plan, rebuilt(plan, kinds), steps);
  };
}

class StepProperties : public ::testing::TestWithParam<Case> {};

TEST_P(StepProperties, StepsRebuiltFromTheirFieldsGiveTheSameBits) {
  Kinds kinds;
  SCOPED_TRACE(GetParam().text());
  for_each_plan(GetParam(), rebuilt_plan_gives_the_same(&kinds));
}

/// Mark the bytes that a step lists: of the arena, states, inputs and outputs of a session.
std::map<PartUse, std::vector<bool>> listed_bytes(const Session& session, const StepUse& use) {
  std::map<PartUse, std::vector<bool>> out;
  const auto add = [&](PartUse part, size_t index, int64_t offset, int64_t bytes) {
    std::vector<bool>& marks = out[part];
    const int64_t first = session.parts().of(part, index).offset + offset;
    marks.resize(static_cast<size_t>(session.parts().bytes));
    std::fill_n(marks.begin() + first, bytes, true);
  };
  for (const auto* list : {&use.reads, &use.writes}) {
    for (const uint32_t each : *list) {
      const PlanBuffer& buffer = session.plan().buffers[each];
      const auto io = static_cast<size_t>(std::max(0, buffer.io));
      switch (buffer.kind) {
        case BufferKind::kArena:
          add(PartUse::kArena, 0, buffer.offset, buffer.bytes);
          break;
        case BufferKind::kState:
        case BufferKind::kRing:
          add(PartUse::kState, 0, buffer.offset, buffer.bytes);
          break;
        case BufferKind::kInput:
          add(PartUse::kInput, io, 0, buffer.bytes);
          break;
        case BufferKind::kOutput:
          add(PartUse::kOutput, io, 0, buffer.bytes);
          break;
        case BufferKind::kConst:
        case BufferKind::kSlot:
          break;
      }
    }
  }
  return out;
}

/// A byte that makes NaN of every float type, and large integers.
constexpr std::byte kPoison{0xFF};

/// Run each step in two sessions, one of which has poison in all memory that the step does not
/// list. The step must leave the poison unchanged, and write the same listed bytes in both
/// sessions. Return the first step that fails.
std::string unlisted(const Plan& plan, int runs) {
  if (plan.uses.size() != plan.steps.size()) return "nothing is listed";
  auto clean = Session::make({std::shared_ptr<void>(), &plan});
  auto soiled = Session::make({std::shared_ptr<void>(), &plan});
  if (!clean.ok() || !soiled.ok()) return "no session";
  for (int run_index = 0; run_index < runs; ++run_index) {
    if (run_index + 1 == runs && plan.stream_pulse > 0) {
      for (Session* each : {clean->get(), soiled->get()}) {
        each->announce_end(plan.stream_pulse * run_index + 1);
      }
    }
    for (size_t i = 0; i < plan.inputs.size(); ++i) {
      fill_alike((*clean)->input(i), (*soiled)->input(i), i, run_index);
    }
    for (size_t step = 0; step < plan.steps.size(); ++step) {
      const auto listed = listed_bytes(**clean, plan.uses[step]);
      std::vector<std::byte*> ours;
      std::vector<const std::byte*> theirs;
      std::vector<bool> marked;
      for (const SessionPart& part : (*clean)->parts().all) {
        if (part.use == PartUse::kAddresses || part.use == PartUse::kPlaces) continue;
        const auto marks = listed.find(part.use);
        for (int64_t i = 0; i < part.bytes; ++i) {
          ours.push_back((*soiled)->at(part) + i);
          theirs.push_back((*clean)->at(part) + i);
          marked.push_back(marks != listed.end() &&
                           marks->second[static_cast<size_t>(part.offset + i)]);
          *ours.back() = marked.back() ? *theirs.back() : kPoison;
        }
      }
      (*clean)->run_layer(step);
      (*soiled)->run_layer(step);
      for (size_t i = 0; i < ours.size(); ++i) {
        if (*ours[i] == (marked[i] ? *theirs[i] : kPoison)) continue;
        return str_cat("run ", run_index, ", step ", step, " (", plan.steps[step].kind->name, ") ",
                       marked[i] ? "reads" : "writes", " what it does not list");
      }
    }
    (*clean)->end_step();
    (*soiled)->end_step();
  }
  return {};
}

TEST_P(StepProperties, StepsTouchNothingThatTheyDoNotList) {
  SCOPED_TRACE(GetParam().text());
  auto graph = load_case(GetParam());
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  PrepareOptions options;
  options.keep_uses = true;
  std::vector<Graph> graphs;
  for (const int64_t pulse : GetParam().pulses) {
    auto streamed = StreamedRun::make(*graph, pulse);
    ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
    graphs.push_back(streamed->graph());
  }
  for (const int64_t length : GetParam().lengths) {
    auto whole = graph->with_symbol("S", Dim(length));
    ASSERT_TRUE(whole.ok()) << whole.error().to_string();
    graphs.push_back(*std::move(whole));
  }
  if (GetParam().pulsed) graphs.push_back(*graph);
  for (const Graph& each : graphs) {
    const auto plan = prepare(each, options);
    ASSERT_TRUE(plan.ok()) << plan.error().to_string();
    EXPECT_EQ(unlisted(**plan, (*plan)->stream_pulse > 0 ? 4 : 2), "");
  }
}

// A buffer that is missing from any list is found.
TEST(StepLists, WithoutABufferAreDetected) {
  const auto graph = load_text(document(
      "1, 2, S",
      "  a = pad(x, padding = [(0, 0), (0, 0), (2, 0)]);\n"
      "  y = a + tract_core_cumsum(a, axis = 2, exclusive = false, reverse = false);\n"));
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  auto streamed = StreamedRun::make(*graph, 3);
  ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
  PrepareOptions options;
  options.keep_uses = true;
  const auto plan = prepare(streamed->graph(), options);
  ASSERT_TRUE(plan.ok()) << plan.error().to_string();
  EXPECT_EQ(unlisted(**plan, 4), "");
  int left_out = 0;
  for (size_t step = 0; step < (*plan)->steps.size(); ++step) {
    for (auto list : {&StepUse::reads, &StepUse::writes}) {
      for (size_t i = 0; i < ((*plan)->uses[step].*list).size(); ++i) {
        Plan changed = **plan;
        StepUse& use = changed.uses[step];
        const uint32_t buffer = (use.*list)[i];
        const BufferKind kind = changed.buffers[buffer].kind;
        if (kind == BufferKind::kConst) continue;
        // Few elements need no scratch memory.
        const bool scratch = buffer == changed.steps[step].parts.scratch.buffer;
        if (scratch && kind == BufferKind::kArena) continue;
        for (List<uint32_t>* each : {&use.reads, &use.writes}) {
          const auto* const end = std::remove(each->begin(), each->end(), buffer);
          each->resize(static_cast<size_t>(end - each->begin()));
        }
        EXPECT_NE(unlisted(changed, 4), "") << "step " << step << ", buffer " << buffer;
        ++left_out;
      }
    }
  }
  EXPECT_GT(left_out, 3);
}

struct CaseName {
  std::string operator()(const ::testing::TestParamInfo<Case>& info) const {
    return info.param.name;
  }
};

INSTANTIATE_TEST_SUITE_P(Cases, StepProperties, ::testing::ValuesIn(all_cases()), CaseName());

/// The names of all step kinds in the sources.
std::set<std::string> kinds_of_the_sources() {
  const std::regex given("(?:step|recurrent)_kind<[^;]*>\\(\\s*\"(\\w+)\"\\)");
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

// A kind that no case emits would go untested.
TEST(StepKinds, AreAllRebuiltFromTheirFields) {
  Kinds kinds;
  const SeePlan see = rebuilt_plan_gives_the_same(&kinds);
  for (const Case& a_case : all_cases()) for_each_plan(a_case, see);
  for (const char* statements : kKeptOfStreams) for_each_plan_of_text(statements, see);
  EXPECT_GT(for_each_plan_of_models(see), 40);
  std::set<std::string> found;
  for (const auto& [name, kind] : kinds) found.insert(name);
  EXPECT_EQ(found, kinds_of_the_sources());
  std::set<std::string> listed;
  for (const StepKind* kind : ops::step_table()) {
    EXPECT_TRUE(listed.insert(kind->name).second) << kind->name << " is listed twice";
    EXPECT_NE(kind->touch, nullptr) << kind->name << " does not tell what it touches";
  }
  EXPECT_EQ(found, listed);
  for (const ops::RunKind& kind : ops::run_kinds()) {
    EXPECT_TRUE(listed.contains(kind.name)) << kind.name << ": its constant is named otherwise";
  }
}

}  // namespace
}  // namespace rill::test
