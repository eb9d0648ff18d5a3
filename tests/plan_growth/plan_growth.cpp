// Writes plan files with N, 2N and 4N of each kind of record, and opens them. count.py counts the
// instructions of opening.
//   plan_growth write FOLDER    write the files
//   plan_growth open FOLDER     open each file by both readers, run it, and print its name

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "core/exec/plan.h"
#include "core/exec/saved.h"
#include "core/exec/session.h"
#include "plan_file/read.h"
#include "tests/support/plan_bases.h"
#include "tests/support/plan_files.h"

using namespace rill;
using namespace rill::test;

namespace {

constexpr int64_t kFewest = 250;
constexpr int64_t kFewestSteps = 16;

/// S + S/2 + S/3 + ..., where no two terms merge.
Extent sum_of(int64_t count) {
  List<Extent::Part> parts{{Extent::Do::kSymbol, 0}};
  for (int64_t i = 0; i < count; ++i) {
    parts.push_back({Extent::Do::kSymbol, 0});
    parts.push_back({Extent::Do::kDiv, i + 2});
    parts.push_back({Extent::Do::kAdd, 0});
  }
  return Extent(std::move(parts));
}

std::string long_name(int64_t count) { return std::string(static_cast<size_t>(count), 'a'); }

PlanBuffer state_buffer(Plan* plan, BufferKind kind, int64_t bytes) {
  PlanBuffer buffer;
  buffer.kind = kind;
  buffer.bytes = bytes;
  buffer.offset = plan->state_bytes;
  plan->state_bytes += (bytes + 63) / 64 * 64;
  return buffer;
}

void repeat_steps(Plan* plan, int64_t count) {
  const List<Step> steps = plan->steps;
  plan->steps.clear();
  for (int64_t i = 0; i < count; ++i) {
    for (const Step& step : steps) plan->steps.push_back(step);
  }
}

void add_ios(Plan* plan, List<PlanIo>* all, BufferKind kind, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    PlanIo io = all->front();
    PlanBuffer buffer = plan->buffers[io.buffer];
    io.buffer = static_cast<uint32_t>(plan->buffers.size());
    buffer.kind = kind;
    buffer.io = static_cast<int>(all->size());
    plan->buffers.push_back(std::move(buffer));
    all->push_back(std::move(io));
  }
}

void add_rings(Plan* plan, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    Ring ring = plan->rings.front();
    const int64_t bytes = plan->buffers[ring.buffer].bytes;
    ring.buffer = static_cast<uint32_t>(plan->buffers.size());
    plan->rings.push_back(ring);
    plan->buffers.push_back(state_buffer(plan, BufferKind::kRing, bytes));
  }
}

void add_states(Plan* plan, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    PlanState state = plan->states.front();
    state.value = {};
    state.value.rank = 1;
    state.axis = -1;
    state.value.shape[0] = state.value.stride[0] = 1;
    state.value.ref = {static_cast<uint32_t>(plan->buffers.size()), 0};
    plan->buffers.push_back(state_buffer(plan, BufferKind::kState, 64));
    plan->states.push_back(std::move(state));
  }
}

/// States that all start from one constant, stored once.
void add_shared(Plan* plan, int64_t count) {
  static std::byte shared[64] = {std::byte{1}};
  for (int64_t i = 0; i < count; ++i) {
    PlanBuffer buffer = state_buffer(plan, BufferKind::kState, sizeof shared);
    buffer.initial = List<std::byte>::at(shared, sizeof shared);
    plan->buffers.push_back(std::move(buffer));
  }
}

/// States that each start from a separate constant.
void add_constants(Plan* plan, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    PlanBuffer buffer = state_buffer(plan, BufferKind::kState, sizeof i);
    buffer.initial.resize(sizeof i);
    std::memcpy(buffer.initial.data(), &i, sizeof i);
    plan->buffers.push_back(std::move(buffer));
  }
}

void add_arena(Plan* plan, int64_t count) {
  for (int64_t i = 0; i < count; ++i) plan->buffers.emplace_back();
}

void add_nodes(Plan* plan, int64_t count) {
  for (int64_t i = 0; i < count; ++i) plan->nodes.push_back({"a node", "an operator"});
}

void add_uses(Plan* plan, int64_t count) {
  plan->uses.resize(plan->steps.size());
  for (int64_t i = 0; i < count; ++i) {
    plan->uses[0].reads.push_back(0);
    plan->uses[0].inputs.push_back(plan->states[0].value);
  }
}

void add_assertions(Plan* plan, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    plan->asserted.push_back(sum_of(1));
    plan->asserted_texts.emplace_back("S is positive");
  }
}

void add_wires(Plan* plan, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    plan->wires.emplace_back("a wire");
    plan->wire_delays.push_back(i);
  }
}

struct Kind {
  const char* name;
  void (*grow)(Plan* plan, int64_t count);
};

const Kind kKinds[] = {
    {"steps", repeat_steps},
    {"buffers", add_arena},
    {"states_of_one_constant", add_shared},
    {"states_of_constants", add_constants},
    {"inputs",
     [](Plan* plan, int64_t n) { add_ios(plan, &plan->inputs, BufferKind::kInput, n); }},
    {"outputs",
     [](Plan* plan, int64_t n) { add_ios(plan, &plan->outputs, BufferKind::kOutput, n); }},
    {"rings", add_rings},
    {"states", add_states},
    {"nodes", add_nodes},
    {"uses", add_uses},
    {"assertions", add_assertions},
    {"wires", add_wires},
    {"length", [](Plan* plan, int64_t n) { plan->outputs[0].stream.length = sum_of(n / 4); }},
    {"assertion",
     [](Plan* plan, int64_t n) {
       plan->asserted.push_back(sum_of(n / 4));
       plan->asserted_texts.emplace_back("long");
     }},
    {"text_of_a_length",
     [](Plan* plan, int64_t n) { plan->outputs[0].stream.length_text = long_name(n); }},
    {"symbol", [](Plan* plan, int64_t n) { plan->stream_symbol = long_name(n); }},
    {"name_of_an_input", [](Plan* plan, int64_t n) { plan->inputs[0].name = long_name(n); }},
    {"name_of_a_state", [](Plan* plan, int64_t n) { plan->states[0].name = long_name(n); }},
    {"all",
     [](Plan* plan, int64_t n) {
       repeat_steps(plan, n);
       for (const auto add : {add_nodes, add_arena, add_shared, add_constants, add_rings,
                              add_states, add_assertions, add_wires}) {
         add(plan, n);
       }
       add_ios(plan, &plan->inputs, BufferKind::kInput, n);
       add_ios(plan, &plan->outputs, BufferKind::kOutput, n);
       plan->outputs[0].stream.length = sum_of(n / 4);
     }},
};

plan_file::Limits no_limits() {
  plan_file::Limits out;
  out.max_session_bytes = out.max_step_work = out.max_buffers = INT64_MAX;
  return out;
}

void write_file(const std::filesystem::path& folder, const std::string& name, int times,
                const Plan& plan) {
  const auto file = written(plan);
  if (!file.ok()) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), file.error().to_string().c_str());
    std::exit(1);
  }
  std::ofstream out(folder / (name + "." + std::to_string(times) + ".rill"), std::ios::binary);
  out.write(reinterpret_cast<const char*>(file->data()),
            static_cast<std::streamsize>(file->size()));
}

/// The kinds of steps of a plan, without those in loop bodies.
std::set<std::string> kinds_of(const Plan& plan) {
  std::set<std::string> out;
  for (const Step& step : plan.steps) out.insert(step.kind->name);
  return out;
}

/// Write one file per kind of step in the cases of operators, in which all steps of a plan with
/// this kind are repeated.
void write_steps(const std::filesystem::path& folder) {
  std::set<std::string> seen;
  for (size_t number = 0; number < plan_bases(); ++number) {
    for (const auto& file : plan_base(number, kernels::Tier::kScalar)) {
      const Mapped map = mapped(file);
      const auto opened = plan_file::open(map.bytes, map.memory, known_here());
      if (!opened.ok()) continue;
      const std::set<std::string> own = kinds_of(*opened->plan);
      const bool is_new = std::any_of(own.begin(), own.end(), [&](const std::string& kind) {
        return seen.find(kind) == seen.end();
      });
      if (!is_new) continue;
      seen.insert(own.begin(), own.end());
      for (const int times : {1, 2, 4}) {
        Plan plan = *opened->plan;
        repeat_steps(&plan, times * kFewestSteps);
        write_file(folder, "steps_of_" + std::to_string(number), times, plan);
      }
    }
  }
}

void write_all(const std::filesystem::path& folder) {
  for (const Kind& kind : kKinds) {
    for (const int times : {1, 2, 4}) {
      Plan plan = *small_plan();
      kind.grow(&plan, times * kFewest);
      write_file(folder, kind.name, times, plan);
    }
  }
  write_steps(folder);
}

/// Make a session and step it; save, load and end its stream.
bool runs(const std::shared_ptr<const Plan>& plan) {
  auto session = Session::make(plan);
  if (!session.ok()) return false;
  (*session)->step();
  if (plan->stream_pulse == 0) return true;
  SavedState saved(session->get(), nullptr);
  std::vector<int64_t> room(static_cast<size_t>(saved.most_bytes() / 8 + 1));
  const std::span<std::byte> all(reinterpret_cast<std::byte*>(room.data()), room.size() * 8);
  const int64_t bytes = saved.save(all);
  if (bytes < 0 || !saved.load(all.first(static_cast<size_t>(bytes))).ok()) return false;
  (*session)->announce_end((*session)->position(plan->stream_pulse) + 1);
  (*session)->step();
  (*session)->reset();
  return true;
}

/// Open the mapped file by both readers, and run it. count.py counts the instructions of this
/// function.
extern "C" [[gnu::noinline]] bool plan_growth_opens(const Mapped& map) {
  const auto opened = plan_file::open(map.bytes, map.memory, known_here(), no_limits());
  (void)placed_here(map);
  if (opened.ok()) return runs(opened->plan);
  std::fprintf(stderr, "%s\n", opened.error().to_string().c_str());
  return false;
}

int open_all(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".rill") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& path : files) {
    std::ifstream in(path, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
    const bool opened = plan_growth_opens(mapped(std::as_bytes(std::span(bytes))));
    std::printf("%s %d\n", path.stem().c_str(), opened ? 1 : 0);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  // Valgrind supports the scalar tier on every machine.
  kernels::set_tier_limit(kernels::Tier::kScalar);
  const std::string verb = argc == 3 ? argv[1] : "";
  if (verb == "open") return open_all(argv[2]);
  if (verb != "write") return 2;
  write_all(argv[2]);
  return 0;
}
