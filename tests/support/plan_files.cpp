#include "tests/support/plan_files.h"

#include <cstdlib>
#include <cstring>

#include "core/base/aligned.h"
#include "core/exec/saved.h"
#include "core/exec/session.h"
#include "kernels/target.h"
#include "ops/op_table.h"
#include "ops/step_table.h"
#include "plan_file/check.h"
#include "plan_file/place.h"
#include "plan_file/write.h"

namespace rill::test {

plan_file::Known known_here() {
  plan_file::Known out;
  out.steps = ops::step_table();
  out.rooms = ops::op_table();
  out.rank = [](std::string_view target) {
    return kernels::target_rank(std::string(target).c_str());
  };
  out.cpu = kernels::target_name(kernels::running_target());
  return out;
}

Mapped mapped(std::span<const std::byte> file) {
  const size_t room = std::max<size_t>(1, (file.size() + 63) / 64) * 64;
  auto* const memory = static_cast<std::byte*>(allocate_aligned(64, room));
  if (memory == nullptr) std::abort();
  if (!file.empty()) std::memcpy(memory, file.data(), file.size());
  return {{memory, [](std::byte* all) { free_aligned(all); }}, {memory, file.size()}};
}

Result<std::vector<std::byte>> written(const Plan& plan) {
  const plan_file::TargetPlan each{kernels::target_name(kernels::running_target()),
                                   {std::shared_ptr<void>(), &plan}};
  return plan_file::write({&each, 1}, ops::op_table());
}

namespace {

void fill(Session* session, int step) {
  for (size_t i = 0; i < session->plan().inputs.size(); ++i) {
    const View view = session->input(i);
    std::memset(view.data, step % 3, static_cast<size_t>(session->plan().inputs[i].bytes));
  }
}

/// Steps, with the end of a stream in the last ones.
void run(Session* session) {
  const Plan& plan = session->plan();
  for (int step = 0; step < 5; ++step) {
    fill(session, step);
    if (step == 3 && plan.stream_pulse > 0) {
      const Refusal ended = session->try_end(session->position(plan.stream_pulse) + 1);
      (void)ended;
    }
    session->step();
    for (size_t i = 0; i < plan.outputs.size() && plan.stream_pulse > 0; ++i) {
      (void)session->valid_frames(i);
    }
  }
}

void save_and_load(Session* session) {
  auto other = Session::make({std::shared_ptr<void>(), &session->plan()});
  if (!other.ok()) return;
  SavedState from(session, nullptr);
  std::vector<int64_t> room(static_cast<size_t>(from.most_bytes() / 8 + 1));
  const std::span<std::byte> all(reinterpret_cast<std::byte*>(room.data()), room.size() * 8);
  const int64_t bytes = from.save(all);
  if (bytes < 0) return;
  SavedState to(other->get(), nullptr);
  if (to.load(all.first(static_cast<size_t>(bytes))).ok()) (*other)->step();
}

}  // namespace

Result<std::shared_ptr<const Plan>> placed_here(const Mapped& file) {
  const Runner runner{ops::step_table(),
                      [](std::string_view target) {
                        return kernels::target_rank(std::string(target).c_str());
                      },
                      true};
  return plan_file::place(file.bytes, file.memory, runner);
}

namespace {

/// Run an opened plan that may be anything, if it runs quickly.
void try_plan(const std::shared_ptr<const Plan>& opened) {
  // Sessions of more are refused by systems, sooner or later, and runs of more take long.
  constexpr int64_t kMostBytes = int64_t{1} << 26;
  constexpr int64_t kMostWork = 1 << 20;
  const Plan& plan = *opened;
  const auto work = plan_file::check(plan);
  int64_t all = plan.arena_bytes + plan.state_bytes;
  for (const auto* ios : {&plan.inputs, &plan.outputs}) {
    for (const PlanIo& io : *ios) all += std::min(io.bytes, kMostBytes);
  }
  if (!work.ok() || *work > kMostWork || all > kMostBytes) return;
  auto session = Session::make(opened);
  if (!session.ok()) return;
  run(session->get());
  if (plan.stream_pulse > 0) save_and_load(session->get());
}

}  // namespace

bool try_plan_file(std::span<const std::byte> bytes) {
  const Mapped as_it_is = mapped(bytes);
  const auto first = plan_file::open(as_it_is.bytes, as_it_is.memory, known_here());
  const Mapped map = mapped(bytes);
  plan_file::seal({map.memory.get(), bytes.size()});
  const auto opened = plan_file::open(map.bytes, map.memory, known_here());
  const auto placed_first = placed_here(as_it_is);
  const auto placed = placed_here(map);
  for (const Status& status :
       {first.status(), opened.status(), placed_first.status(), placed.status()}) {
    if (!status.ok() && status.error().message.empty()) std::abort();
  }
  const auto kinds = plan_file::kinds_in(map.bytes);
  if (opened.ok() && !kinds.ok()) std::abort();
  if (placed.ok()) try_plan(*placed);
  if (!opened.ok()) return false;
  try_plan(opened->plan);
  return true;
}

}  // namespace rill::test
