// Hostile plan files with valid checksums.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>

#include "audit/draw.h"
#include "core/exec/plan.h"
#include "core/exec/session.h"
#include "core/graph/nnef.h"
#include "core/run/plan_format.h"
#include "kernels/cpu.h"
#include "ops/op_table.h"
#include "ops/step_table.h"
#include "plan_file/check.h"
#include "plan_file/map.h"
#include "plan_file/reopen.h"
#include "plan_file/write.h"
#include "tests/property/generate.h"
#include "tests/property/seeds.h"
#include "tests/property/streaming.h"
#include "tests/support/change_plan.h"
#include "tests/support/plan_bases.h"
#include "tests/support/plan_calls.h"
#include "tests/support/plan_files.h"

namespace rill::test {
namespace {

using Bytes = std::vector<std::byte>;

/// Return the error of opening a plan's file; empty if it opens. Both readers must agree.
std::string refusal_of(const Plan& plan, const plan_file::Limits& limits = {}) {
  const auto file = written(plan);
  EXPECT_TRUE(file.ok()) << file.error().to_string();
  const Mapped map = mapped(*file);
  const auto opened = plan_file::open(map.bytes, map.memory, known_here(), limits);
  const bool cheap = plan_file::check(plan, limits).ok() &&
                     plan_file::check_size(static_cast<int64_t>(file->size()), limits).ok();
  EXPECT_EQ(opened.ok(), try_plan_file(*file) && cheap);
  return opened.ok() ? std::string() : opened.error().message;
}

using Alter = void (*)(Plan* plan);
struct Hostile {
  const char* name;
  Alter alter;
  const char* refusal;
};

void PrintTo(const Hostile& hostile, std::ostream* out) { *out << hostile.name; }

const Hostile kHostile[] = {
    {"MostFramesBelowZero", [](Plan* plan) { plan->outputs[0].stream.most = -1; }, "most frames"},
    {"ADelayBeyondAllStreams",
     [](Plan* plan) { plan->outputs[0].stream.delay = (int64_t{1} << 62) + 1; }, "delay"},
    {"ADelayFarBeforeTheStream", [](Plan* plan) { plan->outputs[0].stream.delay = INT64_MIN; },
     "delay"},
    {"ADelayOfBillionsOfSteps",
     [](Plan* plan) { plan->outputs[0].stream.delay = int64_t{1} << 40; },
     "lags its input by more than"},
    {"MoreHeldThanMemory", [](Plan* plan) { plan->outputs[0].stream.early = int64_t{1} << 40; },
     "a session takes"},
    {"AnArenaOfATerabyte", [](Plan* plan) { plan->arena_bytes = int64_t{1} << 40; },
     "a session takes"},
    {"AnArenaBeyondAllMemory", [](Plan* plan) { plan->arena_bytes = int64_t{1} << 62; },
     "bytes of the arena"},
    {"AStateOfATerabyte", [](Plan* plan) { plan->state_bytes = int64_t{1} << 40; },
     "a session takes"},
    {"LanesOfNoBytes",
     [](Plan* plan) {
       Ring& ring = plan->rings.front();
       ring.row_bytes = ring.lane_bytes = 0;
       ring.lanes = int64_t{1} << 43;
       plan->buffers[ring.buffer].bytes = 0;
       plan->buffers[ring.buffer].initial.clear();
     },
     "the work of a step"},
    {"LanesBeyondAllMemory", [](Plan* plan) { plan->rings.front().lanes = int64_t{1} << 62; },
     "lanes of a ring"},
    {"StateBuffersOnOneAnother",
     [](Plan* plan) {
       for (int i = 0; i < 100; ++i) plan->buffers.push_back(plan->buffers[plan->rings[0].buffer]);
       for (PlanBuffer& buffer : plan->buffers) {
         if (buffer.kind == BufferKind::kRing) buffer.kind = BufferKind::kState;
       }
       plan->rings.clear();
     },
     "overlap"},
    {"StatesOnOneAnother",
     [](Plan* plan) {
       const List<PlanState> states = plan->states;
       for (int i = 0; i < 100; ++i) plan->states.push_back(states[0]);
     },
     "overlap"},
    {"APulseBeyondAllStreams", [](Plan* plan) { plan->stream_pulse = INT64_MAX; },
     "units of the symbol"},
    {"AUnitOfNothing", [](Plan* plan) { plan->begin_unit = 0; }, "unit of positions"},
};

class HostilePlanFiles : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostilePlanFiles, AreRefusedWithTheCause) {
  Plan plan = *small_plan();
  ASSERT_FALSE(plan.rings.empty());
  EXPECT_EQ(refusal_of(plan), "");
  GetParam().alter(&plan);
  const std::string reason = refusal_of(plan);
  EXPECT_NE(reason.find(GetParam().refusal), std::string::npos) << reason;
}

struct HostileName {
  std::string operator()(const ::testing::TestParamInfo<Hostile>& info) const {
    return info.param.name;
  }
};
INSTANTIATE_TEST_SUITE_P(All, HostilePlanFiles, ::testing::ValuesIn(kHostile), HostileName());

// The delay plus the length of the longest stream overflows 64 bits.
TEST(HostilePlanFiles, OfTheLongestStreamsGiveNoMoreFramesThanAStepHas) {
  Plan plan = *small_plan();
  plan.outputs[0].stream.most = INT64_MAX - 1;
  plan.outputs[0].stream.delay = int64_t{1} << 20;
  const auto file = written(plan);
  ASSERT_TRUE(file.ok());
  const Mapped map = mapped(*file);
  const auto opened = plan_file::open(map.bytes, map.memory, known_here());
  ASSERT_TRUE(opened.ok()) << opened.error().to_string();
  auto session = Session::make(opened->plan);
  ASSERT_TRUE(session.ok());
  for (int step = 0; step < 4; ++step) {
    (*session)->step();
    EXPECT_LE((*session)->valid_frames(0).count, plan.outputs[0].stream.pulse);
  }
}

TEST(HostilePlanFiles, WhoseLengthIsBeyondAllNumbersGiveNoMoreFramesThanAStepHas) {
  Plan plan = *small_plan();
  plan.outputs[0].stream.length = Extent(
      {{Extent::Do::kSymbol, 0}, {Extent::Do::kNumber, INT64_MAX - 8}, {Extent::Do::kMax, 0}});
  plan.outputs[0].stream.delay = 1024;
  const auto file = written(plan);
  ASSERT_TRUE(file.ok());
  const Mapped map = mapped(*file);
  const auto opened = plan_file::open(map.bytes, map.memory, known_here());
  ASSERT_TRUE(opened.ok()) << opened.error().to_string();
  auto session = Session::make(opened->plan);
  ASSERT_TRUE(session.ok());
  (*session)->announce_end(3);
  for (int step = 0; step < 4; ++step) {
    (*session)->step();
    EXPECT_LE((*session)->valid_frames(0).count, plan.outputs[0].stream.pulse);
    EXPECT_GT((*session)->steps_left(), 0);
  }
}

TEST(HostilePlanFiles, ThatShareAConstantKeepItOnce) {
  Plan plan = *small_plan();
  Bytes large(1 << 16, std::byte{1});
  for (int i = 0; i < 1000; ++i) {
    PlanBuffer buffer;
    buffer.kind = BufferKind::kState;
    buffer.bytes = static_cast<int64_t>(large.size());
    buffer.offset = plan.state_bytes;
    buffer.initial = List<std::byte>::at(large.data(), large.size());
    plan.state_bytes += buffer.bytes;
    plan.buffers.push_back(std::move(buffer));
  }
  const auto file = written(plan);
  ASSERT_TRUE(file.ok());
  EXPECT_LT(file->size(), 4 * large.size());
  const Mapped map = mapped(*file);
  const auto opened = plan_file::open(map.bytes, map.memory, known_here());
  ASSERT_TRUE(opened.ok()) << opened.error().to_string();
  for (const PlanBuffer& buffer : opened->plan->buffers) {
    if (buffer.initial.empty()) continue;
    EXPECT_GE(buffer.initial.data(), map.bytes.data());
    EXPECT_LT(buffer.initial.data(), map.bytes.data() + map.bytes.size());
  }
}

TEST(PlanFiles, OfGraphsOfViewsMayHaveMoreNodesThanTheirRecordHasBytes) {
  Plan plan = *small_plan();
  for (int i = 0; i < 10000; ++i) plan.nodes.push_back({"view", "slice"});
  EXPECT_EQ(refusal_of(plan), "");
  const plan_file::TargetPlan each{"none", {std::shared_ptr<void>(), &plan}};
  plan_file::WriteOptions options;
  options.notes = false;
  const auto file = plan_file::write({&each, 1}, ops::op_table(), options);
  ASSERT_TRUE(file.ok()) << file.error().to_string();
  const Status reopened =
      plan_file::expect_reopens(*file, {&each, 1}, ops::step_table(), ops::op_table(), options);
  EXPECT_TRUE(reopened.ok()) << reopened.error().to_string();
}

TEST(PlanFiles, OfOutputsThatLagTooManyStepsAreRefusedBeforeTheyAreWritten) {
  constexpr char kStatements[] =
      "  y = max_pool(x, size = [1, 1, 2], border = 'ignore',\n"
      "               padding = [(0, 0), (0, 0), (0, 5000000)], stride = [1, 1, 1],\n"
      "               dilation = [1, 1, 5000000]);\n";
  for (const int64_t pulse : {1, 2}) {
    const plan_file::TargetPlan each{"none", streamed_plan(kStatements, pulse)};
    const auto file = plan_file::write({&each, 1}, ops::op_table());
    ASSERT_TRUE(file.ok()) << file.error().to_string();
    const Status status =
        plan_file::expect_reopens(*file, {&each, 1}, ops::step_table(), ops::op_table(), {});
    if (pulse > 1) {
      EXPECT_TRUE(status.ok()) << status.error().to_string();
      continue;
    }
    EXPECT_EQ(status.code(), Code::kUnsupported);
    EXPECT_NE(status.error().to_string().find("more frames per step"), std::string::npos)
        << status.error().to_string();
  }
}

TEST(PlanFileLimits, AreThoseThatAreAskedFor) {
  const std::shared_ptr<const Plan> plan = small_plan();
  const auto cost = plan_file::check(*plan);
  ASSERT_TRUE(cost.ok()) << cost.error().to_string();
  plan_file::Limits limits;
  limits.max_session_bytes = cost->session_bytes;
  limits.max_step_work = cost->step_work;
  limits.max_buffers = static_cast<int64_t>(plan->buffers.size());
  limits.max_ends = 1;
  EXPECT_EQ(refusal_of(*plan, limits), "");
  plan_file::Limits tight = limits;
  --tight.max_session_bytes;
  EXPECT_NE(refusal_of(*plan, tight).find("a session takes"), std::string::npos);
  tight = limits;
  --tight.max_step_work;
  EXPECT_NE(refusal_of(*plan, tight).find("the work of a step"), std::string::npos);
  tight = limits;
  --tight.max_buffers;
  EXPECT_NE(refusal_of(*plan, tight).find(" buffers: the limit is"), std::string::npos);
  tight = {};
  tight.max_file_bytes = 64;
  EXPECT_NE(refusal_of(*plan, tight).find("the limit is 64"), std::string::npos);
}

TEST(PlanFileLimits, AreFarAboveTheCostOfASession) {
  const std::shared_ptr<const Plan> plan = small_plan();
  const auto cost = plan_file::check(*plan);
  ASSERT_TRUE(cost.ok());
  auto session = Session::make(plan);
  ASSERT_TRUE(session.ok());
  EXPECT_LT(cost->session_bytes, plan_file::Limits::kSessionBytes / 1000);
  EXPECT_LT(cost->step_work, plan_file::Limits::kStreamWork / 1000);
}

// A later change of the file does not affect a copy that was read into memory.
TEST(PlanFiles, ThatAreReadMayBeCut) {
  const auto file = written(*small_plan());
  ASSERT_TRUE(file.ok());
  const std::string path = ::testing::TempDir() + "read_and_cut.rill";
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(file->data()),
            static_cast<std::streamsize>(file->size()));
  out.close();
  const auto read = plan_file::read_file(path, int64_t{1} << 20);
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  std::ofstream(path, std::ios::binary | std::ios::trunc).flush();
  const auto opened = plan_file::open(read->bytes, read->owner, known_here());
  ASSERT_TRUE(opened.ok()) << opened.error().to_string();
  auto session = Session::make(opened->plan);
  ASSERT_TRUE(session.ok());
  (*session)->step();
  const auto large = plan_file::read_file(path, -1);
  EXPECT_FALSE(large.ok());
}

/// Sets fields to arbitrary values, as a file may contain them.
class AnyFields final : public FieldVisitor {
 public:
  explicit AnyFields(audit::Draw* draw) : draw_(*draw) {}

  void field(const char*, bool& value) override {
    if (changes()) value = draw_.chance(50);
  }
  void field(const char*, int64_t& value) override {
    if (changes()) value = number();
  }
  void field(const char*, float& value) override {
    const float any[] = {0.0F, -1.0F, 1e-38F, 3e38F, INFINITY, -INFINITY, NAN};
    if (changes()) value = any[draw_.in(0, 6)];
  }
  void field(const char*, std::string& value) override {
    const char* const any[] = {"",     "->",  ",->", "ab,bc->ac", "a,b,c,d,e,f,g,h,i->a",
                               "none", "\xff"};
    if (changes()) value = any[draw_.in(0, 6)];
  }
  void field(const char*, DType& value) override {
    if (changes()) value = static_cast<DType>(draw_.in(0, static_cast<int64_t>(DType::kBlob)));
  }
  void field(const char*, Dim& value) override {
    if (changes()) value = draw_.chance(20) ? Dim::symbol("S") : Dim(number());
  }
  void field(const char*, std::vector<int64_t>& value) override {
    if (!changes()) return;
    const int64_t count = draw_.in(0, 9);
    value.assign(static_cast<size_t>(count), number());
  }
  void field(const char*, std::vector<Dim>& value) override {
    if (!changes()) return;
    const int64_t count = draw_.in(0, 9);
    value.assign(static_cast<size_t>(count), Dim(number()));
  }
  void field(const char*, Pads& value) override {
    if (!changes()) return;
    const int64_t count = draw_.in(0, 9);
    value.assign(static_cast<size_t>(count), {number(), number()});
  }
  void field(const char*, TensorPtr& value) override {
    if (changes()) value = nullptr;
  }

 private:
  bool changes() { return draw_.chance(40); }
  int64_t number() {
    const int64_t any[] = {0,
                           1,
                           2,
                           3,
                           -1,
                           8,
                           9,
                           (int64_t{1} << 31) - 1,
                           INT64_MIN,
                           INT64_MAX,
                           (int64_t{1} << 32) + 1,
                           int64_t{1} << 62};
    return any[draw_.in(0, 11)];
  }

  audit::Draw& draw_;
};

// An operator refuses unsuitable operands before it runs: any number of operands, ranks, types and
// fields.
TEST(OperatorsOfSteps, RefuseOtherArguments) {
  for (const OpModule* module : known_here().modules) {
    for (const OpClass& known : module->classes) {
      SCOPED_TRACE(known.name);
      audit::Draw draw(1);
      for (int attempt = 0; attempt < 400; ++attempt) {
        const std::shared_ptr<Op> op = known.make();
        AnyFields fields(&draw);
        if (attempt % 4 > 0) known.describe(*op, fields);
        Facts in;
        for (int64_t count = draw.in(0, 5); count > 0; --count) {
          const auto type = static_cast<DType>(draw.in(0, static_cast<int64_t>(DType::kQI32)));
          Fact fact = Fact::of(is_plain(type) ? type : DType::kF32, {});
          for (int64_t rank = draw.in(0, 5); rank > 0; --rank) {
            fact.shape.emplace_back(draw.chance(10) ? draw.in(0, int64_t{1} << 40) : draw.in(0, 4));
          }
          in.push_back(std::move(fact));
        }
        const auto out = op->infer(in);
        if (!out.ok()) {
          EXPECT_FALSE(out.error().message.empty());
          continue;
        }
        (void)op->work(in, *out);
        EXPECT_GE(op->state_bytes(in), 0);
      }
    }
  }
}

// Any calls of rill.h in any order, on original and changed plans of every operator.
TEST(HostilePlanFiles, TakeAnyCallsInAnyOrder) {
  const auto [first, count] = seeds_or(1, 12);
  const std::vector<kernels::Tier> tiers = tiers_here();
  int64_t succeeded = 0;
  int64_t calls = 0;
  for (size_t base = 0; base < plan_bases(); ++base) {
    audit::Draw draw(static_cast<uint64_t>(first) * 100019 + base);
    const auto& files = plan_base(base, tiers[static_cast<size_t>(draw.in(0, 97)) % tiers.size()]);
    for (int64_t i = 0; i < count && !files.empty(); ++i) {
      SCOPED_TRACE(str_cat("base ", base, ", sequence ", i));
      std::vector<PlanChange> changes(static_cast<size_t>(draw.in(0, 2)));
      for (PlanChange& change : changes) {
        change.kind = static_cast<uint8_t>(draw.in(0, PlanChange::kKinds - 1));
        change.value = static_cast<uint8_t>(draw.in(0, 255));
        change.reach = static_cast<uint16_t>(draw.in(0, 40));
        change.place = static_cast<uint32_t>(draw.in(0, INT32_MAX));
      }
      std::vector<uint8_t> named(120);
      for (uint8_t& each : named) each = static_cast<uint8_t>(draw.in(0, 255));
      const auto& file = files[static_cast<size_t>(draw.in(0, 97)) % files.size()];
      const int64_t good = call_plan(changed(file, changes), named);
      succeeded += std::max<int64_t>(0, good);
      calls += good < 0 ? 0 : 60;
    }
  }
  kernels::clear_tier_limit();
  EXPECT_GT(succeeded, calls / 4) << "calls in a wrong state are most of them";
}

// One to three numbers in a record of every operator become extreme, swapped, dropped or repeated.
TEST(HostilePlanFiles, OfEveryOperatorStayInsideTheirMemory) {
  const auto [first, count] = seeds_or(1, 24);
  const std::vector<kernels::Tier> tiers = tiers_here();
  int opened = 0;
  int tried = 0;
  for (size_t base = 0; base < plan_bases(); ++base) {
    audit::Draw draw(static_cast<uint64_t>(first) * 100003 + base);
    const auto drawn = [&](size_t end) {
      return static_cast<size_t>(draw.in(0, static_cast<int64_t>(end) - 1));
    };
    const auto& files = plan_base(base, tiers[drawn(tiers.size())]);
    for (int64_t i = 0; i < count && !files.empty(); ++i) {
      const auto& file = files[drawn(files.size())];
      std::vector<PlanChange> changes;
      for (int64_t k = draw.in(1, 3); k > 0; --k) {
        PlanChange change;
        change.kind = static_cast<uint8_t>(draw.in(0, PlanChange::kKinds - 1));
        change.value = static_cast<uint8_t>(draw.in(0, 255));
        change.reach = static_cast<uint16_t>(draw.in(0, 40));
        change.place = static_cast<uint32_t>(draw.in(0, INT32_MAX));
        changes.push_back(change);
      }
      SCOPED_TRACE(str_cat("base ", base, ", change ", i));
      opened += try_plan_file(changed(file, changes)) ? 1 : 0;
      ++tried;
    }
  }
  kernels::clear_tier_limit();
  EXPECT_GT(opened, tried / 20) << "the checks after the first ones are not reached";
}

}  // namespace
}  // namespace rill::test
