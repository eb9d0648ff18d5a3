// A plan read from a file gives the same bits as the written one, and every step touches only the
// memory that it reports.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "core/exec/saved.h"
#include "core/exec/session.h"
#include "core/run/touches.h"
#include "kernels/target.h"
#include "plan_file/read.h"
#include "plan_file/reopen.h"
#include "tests/operators/case.h"
#include "tests/operators/side_by_side.h"
#include "tests/property/generate.h"
#include "tests/property/seeds.h"
#include "tests/property/streaming.h"
#include "tests/property/typed.h"
#include "tests/support/plan_bases.h"
#include "tests/support/plan_files.h"

namespace rill::test {
namespace {

using kernels::Tier;

/// Return the plan after writing and opening it; null if that failed.
std::shared_ptr<const Plan> reopened(const Plan& plan) {
  const auto file = written(plan);
  if (!file.ok()) {
    ADD_FAILURE() << file.error().to_string();
    return nullptr;
  }
  const Mapped map = mapped(*file);
  EXPECT_TRUE(plan_file::verify(map.bytes).ok());
  const plan_file::Known known = known_here();
  const plan_file::TargetPlan each{kernels::target_name(kernels::running_target()),
                                   {std::shared_ptr<void>(), &plan}};
  const Status same = plan_file::expect_reopens(*file, {&each, 1}, known.steps, known.modules, {});
  EXPECT_TRUE(same.ok()) << same.error().to_string();
  auto opened = plan_file::open(map.bytes, map.memory, known_here());
  if (!opened.ok()) {
    ADD_FAILURE() << opened.error().to_string();
    return nullptr;
  }
  return opened->plan;
}

/// Expect that a stream of the first plan continues in a session of the second.
void expect_states_move(const Plan& plan, const std::shared_ptr<const Plan>& other) {
  if (plan.stream_pulse == 0) return;
  auto first = Session::make({std::shared_ptr<void>(), &plan});
  auto second = Session::make(other);
  ASSERT_TRUE(first.ok() && second.ok());
  const auto step = [&](int number) {
    for (size_t i = 0; i < plan.inputs.size(); ++i) {
      fill_alike((*first)->input(i), (*second)->input(i), i, number);
    }
    (*first)->step();
  };
  for (int i = 0; i < 4; ++i) step(i);
  SavedState from(first->get(), nullptr);
  std::vector<int64_t> words(static_cast<size_t>(from.most_bytes() / 8 + 1));
  const std::span<std::byte> all(reinterpret_cast<std::byte*>(words.data()), words.size() * 8);
  const int64_t bytes = from.save(all);
  ASSERT_GE(bytes, 0);
  SavedState to(second->get(), nullptr);
  const Status moved = to.load(all.first(static_cast<size_t>(bytes)));
  ASSERT_TRUE(moved.ok()) << moved.error().to_string();
  for (int i = 4; i < 7; ++i) {
    step(i);
    (*second)->step();
    for (size_t o = 0; o < plan.outputs.size(); ++o) {
      EXPECT_EQ(std::memcmp((*first)->output(o).data, (*second)->output(o).data,
                            static_cast<size_t>(plan.outputs[o].bytes)),
                0)
          << "step " << i << " of a moved stream, output " << o;
    }
  }
}

/// Open with the run library, without graphs and operators. Skip plans with a step of an operator.
void expect_placed_runs_the_same(const Plan& plan, int steps) {
  const auto file = written(plan);
  ASSERT_TRUE(file.ok());
  const auto placed = placed_here(mapped(*file));
  if (!placed.ok()) {
    EXPECT_EQ(placed.error().code, Code::kUnsupported) << placed.error().to_string();
    EXPECT_NE(placed.error().message.find("which only the whole library runs"), std::string::npos)
        << placed.error().to_string();
    return;
  }
  expect_same_runs(plan, *placed, steps);
  expect_states_move(plan, *placed);
}

void expect_file_gives_the_same(const PreparedFrom& from, const Plan& plan, int steps) {
  const std::shared_ptr<const Plan> other = reopened(plan);
  if (other == nullptr) return;
  expect_same_runs(plan, other, steps);
  expect_states_move(plan, other);
  expect_placed_runs_the_same(plan, steps);
  // The same graph must give the same bytes.
  const auto again = prepare(from.graph, from.options);
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  const auto first = written(plan);
  const auto second = written(**again);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*first, *second);
}

class PlanFileProperties : public ::testing::TestWithParam<Case> {};

TEST_P(PlanFileProperties, FilesGiveTheBitsOfTheirPlans) {
  SCOPED_TRACE(GetParam().text());
  for_each_plan(GetParam(), expect_file_gives_the_same);
}

struct CaseName {
  std::string operator()(const ::testing::TestParamInfo<Case>& info) const {
    return info.param.name;
  }
};

INSTANTIATE_TEST_SUITE_P(Cases, PlanFileProperties, ::testing::ValuesIn(all_cases()), CaseName());

TEST(PlanFiles, WithValuesKnownAtTheEndGiveTheBitsOfTheirPlans) {
  for (const char* text : kKeptOfStreams) for_each_plan_of_text(text, expect_file_gives_the_same);
}

TEST(PlanFiles, OfModelsGiveTheBitsOfTheirPlans) {
  EXPECT_GT(for_each_plan_of_models(expect_file_gives_the_same), 40);
}

TEST(PlanFiles, OfRandomGraphsGiveTheBitsOfTheirPlans) {
  const auto [first, count] = seeds_or(1, 400);
  int64_t shown = 0;
  for (int64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(str_cat("seed ", seed));
    const Generated generated = generate(recipe(static_cast<uint64_t>(seed)));
    const auto graph = load_text(generated.text);
    ASSERT_TRUE(graph.ok()) << graph.error().to_string();
    auto streamed = StreamedRun::make(*graph, 4 * generated.pulse_unit);
    if (!streamed.ok()) continue;
    expect_file_gives_the_same({streamed->graph(), {}}, streamed->session().plan(), 4);
    ++shown;
  }
  std::printf("%lld graphs of %lld stream, and were compiled\n", static_cast<long long>(shown),
              static_cast<long long>(count));
  EXPECT_GE(shown, count / 3);
}

/// Chains of integers, f16, f64 and quantised bytes, whole and streamed.
TEST(PlanFiles, OfGraphsOfAllTypesGiveTheBitsOfTheirPlans) {
  const auto [first, count] = seeds_or(1, 400);
  int64_t shown = 0;
  for (int64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(str_cat("seed ", seed));
    const TypedGraph drawn = typed_graph(static_cast<uint64_t>(seed));
    const auto graph = load_typed(drawn);
    if (!graph.ok()) continue;
    for (const int64_t pulse : {4, 12}) {
      auto streamed = StreamedRun::make(*graph, pulse);
      if (!streamed.ok()) continue;
      SCOPED_TRACE(drawn.text);
      expect_file_gives_the_same({streamed->graph(), {}}, streamed->session().plan(), 4);
      ++shown;
    }
  }
  std::printf("%lld pulses of %lld graphs stream, and were compiled\n",
              static_cast<long long>(shown), static_cast<long long>(count));
  EXPECT_GE(shown, count / 3);
}

/// Any CPU makes the same file for a tier as a CPU of that tier.
TEST(PlanFiles, OfEveryTierAreThoseOfACpuThatHasIt) {
  const SeePlan see = [](const PreparedFrom& from, const Plan&, int steps) {
    for (const Tier tier : tiers_here()) {
      SCOPED_TRACE(kernels::tier_name(tier));
      Result<std::shared_ptr<const Plan>> crossed = [&] {
        const kernels::TargetCpu target(tier, kernels::has_dot_products(tier));
        return prepare(from.graph, from.options);
      }();
      ASSERT_TRUE(crossed.ok()) << crossed.error().to_string();
      kernels::set_tier_limit(tier);
      const auto native = prepare(from.graph, from.options);
      ASSERT_TRUE(native.ok()) << native.error().to_string();
      const auto first = written(**crossed);
      const auto second = written(**native);
      ASSERT_TRUE(first.ok() && second.ok());
      EXPECT_EQ(*first, *second);
      const std::shared_ptr<const Plan> opened = reopened(**native);
      if (opened != nullptr) expect_same_runs(**native, opened, std::min(steps, 3));
      kernels::clear_tier_limit();
    }
  };
  EXPECT_GT(for_each_plan_of_models(see), 40);
}

/// Records the addresses that steps read and write.
class Ranges final : public StepTouches {
 public:
  Ranges(const Step& step, const Plan& plan, std::byte* const* base)
      : StepTouches(step.parts), plan_(plan), base_(base) {
    step.kind->touch(step.args, *this);
  }
  using Range = std::pair<std::byte*, std::byte*>;
  std::vector<Range> read;
  std::vector<Range> written;

  using StepTouches::reads;
  using StepTouches::writes;
  void reads(const Region& region) override { note(region, &read); }
  void writes(const Region& region) override { note(region, &written); }
  void require(bool holds, const char* what) override {
    EXPECT_TRUE(holds) << what;
    holds_ &= holds;
  }
  bool holds() const override { return holds_; }
  void scratch(int64_t bytes) override {
    if (bytes > 0) note(region<std::byte>(parts().scratch).over(bytes), &written);
  }
  void runs(const List<Step>& steps, std::span<const Slot> slots, int64_t,
            std::span<const PlacedView> operands) override {
    for (const Slot& slot : slots) {
      // Count all bytes from the slot's start, since chunks have no separate size.
      read.emplace_back(base_[slot.from.buffer],
                        base_[slot.from.buffer] + plan_.buffers[slot.from.buffer].bytes);
    }
    for (const Step& step : steps) {
      const Ranges inner(step, plan_, base_);
      read.insert(read.end(), inner.read.begin(), inner.read.end());
      written.insert(written.end(), inner.written.begin(), inner.written.end());
    }
    for (const PlacedView& operand : operands) reads(operand);
  }
  const std::byte* contents(const Region& region) override {
    return base_[region.ref.buffer] + region.ref.offset;
  }

 private:
  void note(const Region& region, std::vector<Range>* to) {
    EXPECT_TRUE(region.sane);
    if (region.empty || plan_.buffers[region.ref.buffer].kind == BufferKind::kSlot) return;
    std::byte* const at = base_[region.ref.buffer] + region.ref.offset;
    to->emplace_back(at + region.first * region.size, at + (region.last + 1) * region.size);
  }

  const Plan& plan_;
  std::byte* const* base_;
  bool holds_ = true;
};

bool is_in(const std::vector<Ranges::Range>& ranges, const std::byte* at) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const Ranges::Range& range) {
    return at >= range.first && at < range.second;
  });
}

/// Run a step twice, the second time with changed bytes outside its reported reads. Only its
/// reported writes may change, and must be equal in both runs.
void expect_honest(const Step& step, Session* session) {
  const Plan& plan = session->plan();
  const SessionPart& addresses = session->parts().of(PartUse::kAddresses);
  auto* const base = reinterpret_cast<std::byte**>(session->at(addresses));
  const Ranges reported(step, plan, base);
  std::byte* const block = session->at(SessionPart{});
  const auto size = static_cast<size_t>(session->parts().bytes);
  const std::vector<std::byte> before(block, block + size);
  const auto run = [&] { session->run_layer(static_cast<size_t>(&step - plan.steps.data())); };
  run();
  const std::vector<std::byte> after(block, block + size);
  std::memcpy(block, before.data(), size);
  std::vector<bool> is_hidden(size);
  for (const PartUse use : {PartUse::kArena, PartUse::kState}) {
    const SessionPart& part = session->parts().of(use);
    for (int64_t i = part.offset; i < part.offset + part.bytes; ++i) {
      const auto at = static_cast<size_t>(i);
      is_hidden[at] = !is_in(reported.read, block + i);
      // Change written bytes too: the results must not depend on their old values.
      if (is_hidden[at]) block[i] = static_cast<std::byte>(0x5A + i % 7);
    }
  }
  const std::vector<std::byte> hidden(block, block + size);
  run();
  for (size_t i = 0; i < size; ++i) {
    const auto at = static_cast<int64_t>(i);
    if (at >= addresses.offset && at < addresses.offset + addresses.bytes) continue;
    const bool written = is_in(reported.written, block + i);
    if (!written && (after[i] != before[i] || block[i] != hidden[i])) {
      ADD_FAILURE() << step.kind->name << " writes where it does not say, byte " << i;
      break;
    }
    const bool both_wrote = after[i] != before[i] && block[i] != hidden[i];
    if (both_wrote && is_hidden[i] && after[i] != block[i]) {
      ADD_FAILURE() << step.kind->name << " reads where it does not say, byte " << i;
      break;
    }
  }
  std::memcpy(block, after.data(), size);
}

void expect_honest_steps(const PreparedFrom&, const Plan& plan, int steps) {
  constexpr int64_t kMostBytes = 1 << 16;
  if (plan.arena_bytes + plan.state_bytes > kMostBytes) return;
  auto session = Session::make({std::shared_ptr<void>(), &plan});
  ASSERT_TRUE(session.ok());
  for (int at_step = 0; at_step < std::min(steps, 2); ++at_step) {
    for (size_t i = 0; i < plan.inputs.size(); ++i) {
      const View view = (*session)->input(i);
      fill_alike(view, view, i, at_step);
    }
    for (const Step& step : plan.steps) expect_honest(step, session->get());
    (*session)->end_step();
  }
}

TEST(Steps, TouchTheStatedMemoryOnly) {
  for (const Case& a_case : all_cases()) {
    SCOPED_TRACE(str_cat(a_case.file, ":", a_case.line));
    for_each_plan(a_case, expect_honest_steps);
  }
  for (const char* text : kKeptOfStreams) for_each_plan_of_text(text, expect_honest_steps);
}

}  // namespace
}  // namespace rill::test
