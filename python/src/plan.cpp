#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <unistd.h>

#include <chrono>
#include <cstring>
#include <new>

#include "errors.h"
#include "handles.h"
#include "interpreter.h"

namespace nb = nanobind;

namespace rill::python {
namespace {

/// The number of sessions that a plan caches for whole runs: each concurrent thread takes one.
constexpr size_t kMostIdle = 4;

nb::object stream_list(const Plan& plan) {
  nb::list out;
  for (size_t i = 0; i < plan.io(RILL_OUTPUT).size(); ++i) {
    const rill_stream_info& stream = plan.stream(i);
    nb::dict entry;
    entry["name"] = plan.io(RILL_OUTPUT)[i].name;
    entry["axis"] = stream.axis;
    entry["pulse"] = stream.pulse;
    entry["delay"] = stream.delay;
    entry["input"] = stream.input;
    entry["input_axis"] = stream.input_axis;
    entry["input_pulse"] = stream.input_pulse;
    entry["delay_input_frames"] = stream.delay_input_frames;
    entry["rate"] = nb::make_tuple(stream.rate_num, stream.rate_den);
    entry["warm_up_steps"] = stream.warm_up_steps;
    entry["flush_steps"] = stream.flush_steps;
    entry["symbol"] = stream.symbol;
    entry["length"] = stream.length;
    out.append(entry);
  }
  return out;
}

nb::list io_list(const Plan& plan, rill_dir dir) {
  nb::list out;
  for (const rill_io_info& io : plan.io(dir)) {
    nb::list shape;
    for (uint32_t axis = 0; axis < io.rank; ++axis) shape.append(io.shape[axis]);
    out.append(nb::make_tuple(io.name, rill_dtype_name(io.dtype), nb::tuple(shape), io.text,
                              io.scale, io.zero_point, io.stream_axis));
  }
  return out;
}

nb::list nodes(const Plan& plan) {
  nb::list out;
  const char* name = nullptr;
  const char* op = nullptr;
  for (size_t i = 0;; ++i) {
    check(rill_plan_node(plan.get(), i, &name, &op));
    if (!name) return out;
    out.append(nb::make_tuple(name, op));
  }
}

/// Step a separate session over the values in its inputs. Return the nanoseconds of each node, one
/// row per run.
nb::list profile(const Plan& plan, double seconds, int64_t most_runs) {
  using Clock = std::chrono::steady_clock;
  rill_session* session = nullptr;
  const size_t count = nb::len(nodes(plan));
  std::vector<std::vector<int64_t>> runs;
  const rill_status status = unlocked([&] {
    const bool streams = plan.streams();
    rill_status now = rill_session_new(plan.get(), &session);
    const auto until = Clock::now() + std::chrono::duration<double>(seconds);
    // The first runs warm the caches.
    for (int i = 0; i < 3 && now == RILL_OK; ++i) now = rill_step(session);
    while (now == RILL_OK && static_cast<int64_t>(runs.size()) < most_runs) {
      runs.emplace_back(count);
      now = rill_step_timed(session, runs.back().data(), count);
      // A model with tables ends a stream; begin another one.
      if (now == RILL_E_SHAPE && streams && runs.size() > 1) {
        runs.pop_back();
        now = rill_session_reset(session);
      }
      if (Clock::now() > until) break;
    }
    return now;
  });
  rill_session_free(session);
  check(status);
  nb::list out;
  for (const std::vector<int64_t>& run : runs) {
    nb::list row;
    for (const int64_t ns : run) row.append(ns);
    out.append(row);
  }
  return out;
}

nb::dict memory(const Plan& plan) {
  auto info = sized<rill_memory_info>();
  check(rill_plan_memory(plan.get(), &info));
  nb::dict out;
  out["weight_bytes"] = info.weight_bytes;
  out["state_bytes"] = info.state_bytes;
  out["arena_bytes"] = info.arena_bytes;
  out["io_bytes"] = info.io_bytes;
  return out;
}

nb::dict properties(const Plan& plan) {
  nb::dict out;
  for (size_t i = 0; i < rill_plan_properties(plan.get()); ++i) {
    auto property = sized<rill_property>();
    check(rill_plan_property(plan.get(), i, &property));
    const auto size = static_cast<Py_ssize_t>(std::strlen(property.key));
    out[nb::steal(PyUnicode_DecodeUTF8(property.key, size, "replace"))] = value_of(property);
  }
  return out;
}

/// Return the options for `limits`; missing limits have their defaults.
rill_open_opts open_opts(const nb::dict& limits) {
  auto opts = sized<rill_open_opts>();
  const auto put = [&](const char* name, auto& to) {
    if (limits.contains(name)) to = nb::cast<std::decay_t<decltype(to)>>(limits[name]);
  };
  put("read_file", opts.read_file);
  put("max_file_bytes", opts.max_file_bytes);
  put("max_session_bytes", opts.max_session_bytes);
  put("max_step_work", opts.max_step_work);
  put("max_outputs", opts.max_outputs);
  put("max_buffers", opts.max_buffers);
  return opts;
}

Plan* open_file(const nb::bytes& path, const nb::dict& limits) {
  const rill_open_opts opts = open_opts(limits);
  rill_plan* plan = nullptr;
  check(unlocked([&] { return rill_plan_open_opts(path.c_str(), &opts, &plan); }));
  return new Plan(plan);
}

/// Open a copy of the bytes, in aligned memory that the plan owns.
Plan* open_bytes(const nb::bytes& bytes, const nb::dict& limits) {
  constexpr std::align_val_t kAlignment{64};
  const rill_open_opts opts = open_opts(limits);
  const size_t size = bytes.size();
  const std::shared_ptr<void> memory(::operator new(size, kAlignment), [](void* at) {
    ::operator delete(at, kAlignment);
  });
  std::memcpy(memory.get(), bytes.data(), size);
  rill_plan* plan = nullptr;
  check(unlocked([&] { return rill_plan_map_opts(memory.get(), size, &opts, &plan); }));
  return new Plan(plan, memory);
}

}  // namespace

std::vector<nb::object> buffers_of(nb::handle out, size_t outputs) {
  std::vector<nb::object> buffers;
  if (out.is_none()) return buffers;
  if (nb::isinstance<nb::tuple>(out) || nb::isinstance<nb::list>(out)) {
    for (nb::handle each : out) buffers.push_back(nb::borrow(each));
  } else {
    buffers.push_back(nb::borrow(out));
  }
  if (buffers.size() == outputs) return buffers;
  refuse(RILL_E_ARG, "out has " + std::to_string(buffers.size()) + " buffers, expected " +
                         std::to_string(outputs) + ": one for each output");
}

void check_apart(const std::vector<InputArray>& inputs, const std::vector<OutputArray>& outputs,
                 const std::vector<nb::object>& buffers) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].is_none()) continue;
    bool shared = false;
    for (const InputArray& input : inputs) {
      shared |= overlap(outputs[i].span(), span_of(input.view()));
    }
    for (size_t other = 0; other < i; ++other) {
      if (!buffers[other].is_none()) shared |= overlap(outputs[i].span(), outputs[other].span());
    }
    if (shared) {
      refuse(RILL_E_ARG, "a buffer of out shares memory with an input or another buffer",
             "Give another array");
    }
  }
}

Threads::Threads(uint32_t count) : process_(static_cast<int>(getpid())) {
  check(unlocked([&] { return rill_threads_new(count, &threads_); }));
}

void Threads::share_with(rill_session* session) const {
  if (getpid() == process_) check(rill_session_set_threads(session, threads_));
}

Plan::Plan(rill_plan* plan, std::shared_ptr<const void> memory)
    : memory_(std::move(memory)), plan_(plan) {
  import_numpy();  // not earlier, so that `import rill` is fast
  for (const rill_dir dir : {RILL_INPUT, RILL_OUTPUT}) {
    for (size_t i = 0; i < rill_plan_count(plan, dir); ++i) {
      io_[dir].push_back(sized<rill_io_info>());
      check(rill_plan_io(plan, dir, i, &io_[dir].back()));
    }
  }
  for (size_t i = 0; i < io_[RILL_OUTPUT].size(); ++i) {
    streams_.push_back(sized<rill_stream_info>());
    check(rill_plan_stream(plan, i, &streams_.back()));
  }
}

Plan::~Plan() {
  for (rill_session* session : idle_) rill_session_free(session);
  rill_plan_release(plan_);
}

rill_session* Plan::take() {
  rill_session* session = nullptr;
  if (idle_.empty()) {
    check(unlocked([&] { return rill_session_new(plan_, &session); }));
    if (threads_) threads_->share_with(session);
    return session;
  }
  session = idle_.back();
  idle_.pop_back();
  return session;
}

void Plan::give_back(rill_session* session) {
  if (idle_.size() < kMostIdle) {
    idle_.push_back(session);
  } else {
    rill_session_free(session);
  }
}

nb::list Plan::run(const nb::sequence& values, nb::handle buffer) {
  const std::vector<rill_io_info>& inputs = io_[RILL_INPUT];
  const std::vector<rill_io_info>& outputs = io_[RILL_OUTPUT];
  if (nb::len(values) != inputs.size()) {
    refuse(RILL_E_ARG, std::to_string(nb::len(values)) + " inputs, expected " +
                           std::to_string(inputs.size()));
  }
  std::vector<InputArray> in;
  std::vector<OutputArray> out;
  std::vector<rill_view> in_views, out_views;
  for (size_t i = 0; i < inputs.size(); ++i) in.emplace_back(values[i], inputs[i]);
  const std::vector<nb::object> buffers = buffers_of(buffer, outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (buffers.empty() || buffers[i].is_none()) {
      out.emplace_back(outputs[i], -1, 0);
    } else {
      out.emplace_back(buffers[i], outputs[i], -1, 0);
    }
  }
  // Inputs are copied before the step, so that a buffer may be one of them.
  check_apart({}, out, buffers);
  for (const InputArray& array : in) in_views.push_back(array.view());
  for (const OutputArray& array : out) out_views.push_back(array.view());
  rill_session* const session = take();
  // A run does not depend on earlier runs: random numbers and caches restart.
  const rill_status status = unlocked([&] {
    const rill_status begun = rill_session_reset(session);
    return begun != RILL_OK ? begun
                            : rill_run(session, in_views.data(), in_views.size(),
                                       out_views.data(), out_views.size());
  });
  give_back(session);
  check(status);
  nb::list arrays;
  for (OutputArray& array : out) arrays.append(array.take());
  return arrays;
}

void define_plan(nb::module_& module) {
  nb::class_<Plan>(module, "Plan", "A model prepared to run; any number of threads share it.")
      .def_static("open", &open_file, nb::arg("path"), nb::arg("limits"),
                  "Open a compiled model: the path as the system writes it, and limits by name.")
      .def_static("open_bytes", &open_bytes, nb::arg("data"), nb::arg("limits"),
                  "Open a compiled model in memory, within limits by name.")
      .def(
          "inputs", [](const Plan& plan) { return io_list(plan, RILL_INPUT); },
          "List (name, type, shape, text, scale, zero point, axis that streams or -1) of each "
          "input.")
      .def(
          "outputs", [](const Plan& plan) { return io_list(plan, RILL_OUTPUT); },
          "List (name, type, shape, text, scale, zero point, axis that streams or -1) of each "
          "output.")
      .def("streams", &stream_list, "Return how each output streams.")
      .def("memory", &memory, "Return the bytes of weights, states, scratch, inputs and outputs.")
      .def("properties", &properties, "List the properties of the model by key.")
      .def("nodes", &nodes, "List (name, operator) of each node that a step runs.")
      .def("profile", &profile, nb::arg("seconds"), nb::arg("most_runs"),
           "Step over zeros, and list the nanoseconds of each node, run by run.")
      .def("run", &Plan::run, nb::arg("values"), nb::arg("out").none() = nb::none(),
           "Run once, from arrays to arrays, or to the buffers of `out`.")
      .def("use", &Plan::use, nb::arg("threads"), "Let sessions share the steps among threads.");
  nb::class_<Threads>(module, "Threads", "Threads that share the work of steps.")
      .def(nb::init<uint32_t>(), nb::arg("count"));
}

}  // namespace rill::python
