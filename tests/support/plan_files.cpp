#include "tests/support/plan_files.h"

#include <array>
#include <cstdlib>
#include <cstring>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "api/include/rill/rill.h"
#include "core/base/aligned.h"
#include "core/exec/feed.h"
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
  return plan_file::known_here(ops::step_table(), ops::op_table());
}

Mapped mapped(std::span<const std::byte> file) {
  const size_t capacity = std::max<size_t>(1, (file.size() + 63) / 64) * 64;
  auto* const memory = static_cast<std::byte*>(allocate_aligned(64, capacity));
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

/// Run a few steps; the stream ends in the last ones.
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
  std::vector<int64_t> words(static_cast<size_t>(from.most_bytes() / 8 + 1));
  const std::span<std::byte> all(reinterpret_cast<std::byte*>(words.data()), words.size() * 8);
  const int64_t bytes = from.save(all);
  if (bytes < 0) return;
  SavedState to(other->get(), nullptr);
  if (to.load(all.first(static_cast<size_t>(bytes))).ok()) (*other)->step();
}

}  // namespace

Result<std::shared_ptr<const Plan>> placed_here(const Mapped& file) {
  const Runner runner{ops::step_table(), kernels::target_rank, true};
  RILL_ASSIGN(const plan_file::OpenedAlone opened,
              plan_file::place(file.bytes, file.memory, runner));
  return opened.plan;
}

namespace {

/// Push and pull frames in pieces of other sizes than the pulse, and run the tail.
void stream(Session* session) {
  const Plan& plan = session->plan();
  auto made = Feed::make(session, 0);
  if (!made.ok()) return;
  Feed& feed = **made;
  constexpr int64_t kMostElements = 1 << 16;
  std::vector<std::vector<int64_t>> buffers;
  // Return a row-major view of a few frames of an input or output.
  const auto frames_of_io = [&](const PlanIo& io, int64_t frames) {
    View view;
    view.dtype = io.dtype;
    view.q = io.q;
    view.rank = static_cast<int>(io.shape.size());
    std::copy(io.shape.begin(), io.shape.end(), view.shape.begin());
    view.shape[static_cast<size_t>(io.stream.axis)] = frames;
    int64_t stride = 1;
    for (int axis = view.rank; axis-- > 0;) {
      view.stride[static_cast<size_t>(axis)] = stride;
      stride *= view.extent(axis);
    }
    const int64_t bytes = std::min(stride, kMostElements) * dtype_size(view.dtype);
    buffers.emplace_back(static_cast<size_t>(bytes / 8 + 1));
    view.data = buffers.back().data();
    return std::pair(view, stride <= kMostElements);
  };
  const auto pull_all = [&] {
    for (size_t o = 0; o < plan.outputs.size(); ++o) {
      const PlanIo& io = plan.outputs[o];
      if (io.stream.axis < 0 || io.stream.pulse == 0) continue;
      const auto [view, fits] = frames_of_io(io, io.stream.pulse + 1);
      if (fits) (void)feed.pull(o, view);
    }
  };
  for (int round = 0; round < 4; ++round) {
    for (size_t i = 0; i < plan.inputs.size(); ++i) {
      const PlanIo& io = plan.inputs[i];
      if (io.stream.axis < 0 || io.stream.pulse == 0) continue;
      const auto [view, fits] = frames_of_io(io, io.stream.pulse + round % 2);
      if (fits) (void)feed.push(i, view);
    }
    pull_all();
  }
  const Refusal ended = feed.finish();
  if (!ended.ok()) return;
  for (int round = 0; round < 4; ++round) pull_all();
}

/// Make the queries that programs make before they create a session.
void ask(std::span<const std::byte> bytes) {
  rill_plan* plan = nullptr;
  if (rill_plan_map(bytes.data(), bytes.size(), &plan) != RILL_OK) return;
  for (size_t i = 0; i < rill_plan_count(plan, RILL_OUTPUT) && i < 64; ++i) {
    rill_stream_info info{};
    info.size = sizeof info;
    if (rill_plan_stream(plan, i, &info) != RILL_OK) std::abort();
  }
  rill_memory_info memory{};
  memory.size = sizeof memory;
  if (rill_plan_memory(plan, &memory) != RILL_OK) std::abort();
  rill_plan_release(plan);
}

/// Fill the stack below this call, and later allocations of the heap, with a byte.
[[gnu::noinline]] void paint(int byte) {
  std::array<volatile unsigned char, size_t{1} << 17> stack;
  for (auto& each : stack) each = static_cast<unsigned char>(byte);
#if defined(__GLIBC__)
  mallopt(M_PERTURB, byte);
#endif
}

/// Return the outputs of some steps over memory that was filled with `byte`.
std::vector<std::byte> outputs_over(int byte, const std::shared_ptr<const Plan>& plan) {
  std::vector<std::byte> out;
  paint(byte);
  auto session = Session::make(plan);
  if (!session.ok()) std::abort();
  for (int step = 0; step < 3; ++step) {
    for (size_t i = 0; i < plan->inputs.size(); ++i) {
      auto* const data = static_cast<std::byte*>((*session)->input(i).data);
      for (int64_t at = 0; at < plan->inputs[i].bytes; ++at) {
        data[at] = static_cast<std::byte>((at * 29 + step * 7) % 64);
      }
    }
    paint(byte);
    (*session)->step();
    for (size_t i = 0; i < plan->outputs.size(); ++i) {
      const auto* const data = static_cast<const std::byte*>((*session)->output(i).data);
      out.insert(out.end(), data, data + plan->outputs[i].bytes);
    }
  }
  paint(0);
  return out;
}

/// Run any opened plan that runs quickly.
void try_plan(const std::shared_ptr<const Plan>& opened) {
  // Far below the limits of plan files, so that many plans are tried per second.
  constexpr int64_t kMostBytes = int64_t{1} << 24;
  constexpr int64_t kMostWork = 1 << 20;
  const Plan& plan = *opened;
  const auto cost = plan_file::check(plan);
  if (!cost.ok()) std::abort();
  if (cost->step_work > kMostWork || cost->session_bytes > kMostBytes) return;
  auto session = Session::make(opened);
  if (!session.ok()) std::abort();
  run(session->get());
  // Steps read no unwritten memory.
  if (outputs_over(0, opened) != outputs_over(0x41, opened)) std::abort();
  if (plan.stream_pulse == 0) return;
  save_and_load(session->get());
  (*session)->reset();
  stream(session->get());
}

}  // namespace

bool try_plan_file(std::span<const std::byte> bytes) {
  const Mapped unchanged = mapped(bytes);
  const auto first = plan_file::open(unchanged.bytes, unchanged.memory, known_here());
  const Mapped map = mapped(bytes);
  plan_file::seal({map.memory.get(), bytes.size()});
  const auto opened = plan_file::open(map.bytes, map.memory, known_here());
  const auto placed_first = placed_here(unchanged);
  const auto placed = placed_here(map);
  for (const Status& status :
       {first.status(), opened.status(), placed_first.status(), placed.status()}) {
    if (!status.ok() && status.error().message.empty()) std::abort();
  }
  const auto kinds = plan_file::kinds_in(map.bytes);
  if (opened.ok() && !kinds.ok()) std::abort();
  if (placed.ok()) try_plan(*placed);
  if (!opened.ok()) return false;
  ask(map.bytes);
  try_plan(opened->plan);
  return true;
}

}  // namespace rill::test
