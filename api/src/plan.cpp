#include <algorithm>
#include <memory>
#include <numeric>

#include "api/src/errors.h"
#include "api/src/handles.h"
#include "api/src/lookup.h"
#include "core/base/checked.h"
#include "core/run/plan.h"

using rill::api::alive;
using rill::api::refuse;

namespace {

constexpr char kNotAPlan[] = "not a plan: null, freed, or another kind of object";

/// Return a / b, rounded up. Both are positive, and a + b fits 64 bits.
int64_t ceil_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Return the maximum number of steps after the last input, over one period of stream lengths:
/// output lengths are periodic in the pulse, up to a slope. -1 if this takes too long to compute.
int64_t flush_steps(const rill::Plan& plan, const rill::PlanStream& out) {
  constexpr int64_t kMostLengths = int64_t{1} << 20;
  constexpr int64_t kMostParts = int64_t{1} << 24;
  if (out.axis < 0) return 0;
  const int64_t pulse = plan.stream_pulse;
  if (out.pulse <= 0 || pulse <= 0 || pulse > kMostLengths) return -1;
  const auto parts = static_cast<int64_t>(out.length.parts().size());
  if (parts > kMostParts / pulse) return -1;
  const int64_t base = 64 * pulse;
  int64_t most = 0;
  for (int64_t rest = 1; rest <= pulse; ++rest) {
    const auto frames = out.length.at(base + rest);
    if (!frames) return -1;
    const int64_t last = out.delay + std::min(*frames, rill::kBeyondStreams);
    const int64_t steps = *frames > 0 ? ceil_of(last, out.pulse) : 0;
    most = std::max(most, steps - ceil_of(base + rest, pulse));
  }
  return most;
}

}  // namespace

void rill::api::describe(rill_plan* handle) {
  const rill::Plan& plan = *handle->plan;
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    handle->io[RILL_INPUT].push_back(std::make_unique<const rill::api::IoText>(plan.inputs[i]));
    handle->io_bytes += plan.inputs[i].bytes;
  }
  handle->stream_input = rill::counting_input(plan);
  for (const rill::PlanIo& io : plan.outputs) {
    handle->io[RILL_OUTPUT].push_back(std::make_unique<const rill::api::IoText>(io));
    handle->io_bytes += io.bytes;
    const bool known = io.stream.axis >= 0 && io.stream.length.valid();
    handle->lengths.push_back(known ? std::string(io.stream.length_text) : std::string());
  }
  handle->tails = std::vector<std::atomic<int64_t>>(plan.outputs.size());
  for (const rill::PlanBuffer& buffer : plan.buffers) {
    if (buffer.kind == rill::BufferKind::kConst) handle->weight_bytes += buffer.bytes;
  }
}

namespace {

/// Return `flush_steps` of an output, computed once.
int64_t tail_of(const rill_plan& handle, size_t output) {
  if (!handle.streams()) return 0;
  std::atomic<int64_t>& kept = handle.tails[output];
  int64_t value = kept.load(std::memory_order_relaxed);
  if (value == 0) {
    value = flush_steps(*handle.plan, handle.plan->outputs[output].stream) + 2;
    kept.store(value, std::memory_order_relaxed);
  }
  return value - 2;
}

void fill_stream(const rill_plan& handle, size_t output, rill_stream_info* info) {
  const rill::Plan& plan = *handle.plan;
  const rill::PlanStream& out = plan.outputs[output].stream;
  info->axis = out.axis;
  info->pulse = out.pulse;
  info->delay = out.delay;
  info->input = handle.stream_input;
  info->input_axis = -1;
  info->input_pulse = 0;
  info->delay_input_frames = 0;
  info->rate_num = 0;
  info->rate_den = 1;
  info->warm_up_steps = 0;
  info->flush_steps = tail_of(handle, output);
  info->symbol = plan.stream_symbol.c_str();
  info->length = handle.lengths[output].c_str();
  if (!handle.streams()) return;
  const rill::PlanStream& in = plan.inputs[static_cast<size_t>(handle.stream_input)].stream;
  info->input_axis = in.axis;
  info->input_pulse = in.pulse;
  if (out.axis < 0 || out.pulse <= 0) return;
  const int64_t common = std::gcd(out.pulse, in.pulse);
  info->rate_num = out.pulse / common;
  info->rate_den = in.pulse / common;
  const auto frames = (rill::checked(out.delay) * info->rate_den)
                          .value(-rill::kBeyondStreams, rill::kBeyondStreams);
  info->delay_input_frames = ceil_of(frames.value_or(rill::kBeyondStreams), info->rate_num);
  info->warm_up_steps = out.delay / out.pulse;
}

}  // namespace

extern "C" {

rill_plan* rill_plan_retain(rill_plan* plan) {
  if (!alive(plan)) return nullptr;
  plan->owners.fetch_add(1, std::memory_order_relaxed);
  return plan;
}

void rill_plan_release(rill_plan* plan) {
  if (!alive(plan)) return;
  if (plan->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  plan->magic = rill::api::kDeadMagic;
  delete plan;
}

size_t rill_plan_count(const rill_plan* plan, rill_dir dir) {
  return alive(plan) && rill::api::is_dir(dir) ? plan->io[dir].size() : 0;
}

rill_status rill_plan_io(const rill_plan* plan, rill_dir dir, size_t index, rill_io_info* info) {
  if (!alive(plan)) return refuse(RILL_E_ARG, "rill_plan_io: %s", kNotAPlan);
  return rill::api::io_info("rill_plan_io", plan->io, dir, index, info);
}

rill_status rill_plan_find(const rill_plan* plan, rill_dir dir, const char* name, size_t* index) {
  if (!alive(plan)) return refuse(RILL_E_ARG, "rill_plan_find: %s", kNotAPlan);
  return rill::api::io_find("rill_plan_find", plan->io, dir, name, index);
}

size_t rill_plan_properties(const rill_plan* plan) {
  return alive(plan) ? plan->properties.size() : 0;
}

rill_status rill_plan_property(const rill_plan* plan, size_t index, rill_property* property) {
  if (!alive(plan)) return refuse(RILL_E_ARG, "rill_plan_property: %s", kNotAPlan);
  return rill::api::property_at("rill_plan_property", plan->properties, index, property);
}

rill_status rill_plan_property_find(const rill_plan* plan, const char* key,
                                    rill_property* property) {
  if (!alive(plan)) return refuse(RILL_E_ARG, "rill_plan_property_find: %s", kNotAPlan);
  return rill::api::property_find("rill_plan_property_find", plan->properties, key, property);
}

rill_status rill_plan_stream(const rill_plan* plan, size_t output, rill_stream_info* info) {
  if (!alive(plan)) return refuse(RILL_E_ARG, "rill_plan_stream: %s", kNotAPlan);
  const rill_status known = rill::api::check_size(info, "rill_stream_info");
  if (known != RILL_OK) return known;
  if (output >= plan->plan->outputs.size()) {
    return refuse(RILL_E_ARG, "rill_plan_stream: no output %zu: there are %zu", output,
                  plan->plan->outputs.size());
  }
  fill_stream(*plan, output, info);
  return RILL_OK;
}

rill_status rill_plan_node(const rill_plan* plan, size_t index, const char** name,
                           const char** op) {
  if (!alive(plan)) return refuse(RILL_E_ARG, "rill_plan_node: %s", kNotAPlan);
  if (!name || !op) return refuse(RILL_E_ARG, "rill_plan_node: null pointer for name or operator");
  const auto& nodes = plan->plan->nodes;
  *name = index < nodes.size() ? nodes[index].name.c_str() : nullptr;
  *op = index < nodes.size() ? nodes[index].op.c_str() : nullptr;
  return RILL_OK;
}

rill_status rill_plan_memory(const rill_plan* plan, rill_memory_info* info) {
  if (!alive(plan)) return refuse(RILL_E_ARG, "rill_plan_memory: %s", kNotAPlan);
  const rill_status known = rill::api::check_size(info, "rill_memory_info");
  if (known != RILL_OK) return known;
  info->weight_bytes = plan->weight_bytes;
  info->state_bytes = plan->plan->state_bytes;
  info->arena_bytes = plan->plan->arena_bytes;
  info->io_bytes = plan->io_bytes;
  return RILL_OK;
}

}  // extern "C"
