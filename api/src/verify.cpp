#include "api/include/rill/verify.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "api/src/change.h"
#include "api/src/errors.h"
#include "api/src/guard.h"
#include "api/src/model_handle.h"
#include "api/src/progress.h"
#include "api/src/pulsed.h"
#include "core/base/checked.h"
#ifndef RILL_WITHOUT_AUDIT
#include "audit/check.h"
#include "audit/latency.h"
#include "audit/values.h"
#endif

using rill::Code;
using rill::Result;
using rill::Status;
using rill::Tensor;
using rill::api::alive;
using rill::api::check_size;
using rill::api::kNotAModel;
using rill::api::refuse;

#ifndef RILL_WITHOUT_AUDIT
namespace {

rill_status check_check_opts(const rill_check_opts* opts) {
  if (!opts) return RILL_OK;
  const rill_status known = check_size(opts, "rill_check_opts");
  if (known != RILL_OK) return known;
  if (!(opts->absolute >= 0) || !(opts->relative >= 0)) {
    return refuse(RILL_E_ARG, "rill_check: expected tolerances of 0 or more");
  }
  if (opts->expected_count > 0 && !opts->expected) {
    return refuse(RILL_E_ARG, "rill_check: no views of the expected outputs");
  }
  for (size_t i = 0; i < opts->expected_count; ++i) {
    const rill_status same = check_size(&opts->expected[i], "rill_view");
    if (same != RILL_OK) return same;
  }
  return RILL_OK;
}

/// Copy a caller's view, whose shape may be any that fits memory.
Result<Tensor> tensor_of(const std::string& name, const rill::Fact& fact, const rill_view& view) {
  if (view.dtype != static_cast<rill_dtype>(fact.dtype)) {
    return rill::fail(Code::kDType, "\"", name, "\" is ",
                      rill_dtype_name(static_cast<rill_dtype>(fact.dtype)), ", found ",
                      rill_dtype_name(view.dtype));
  }
  const size_t element = rill_dtype_size(view.dtype);
  if (element == 0) {
    return rill::fail(Code::kUnsupported, "\"", name, "\" is ", rill_dtype_name(view.dtype),
                      ": no memory to share");
  }
  if (view.rank > RILL_MAX_RANK || (view.rank > 0 && !view.shape)) {
    return rill::fail(Code::kArg, "\"", name, "\": a view without shape, or of too many axes");
  }
  rill::View out;
  out.dtype = fact.dtype;
  out.q = fact.q;
  out.rank = static_cast<int>(view.rank);
  const std::span<const int64_t> extents(view.shape, view.rank);
  if (!rill::checked_volume(extents)) {
    return rill::fail(Code::kShape, "\"", name, "\": extents below 0, or too many elements");
  }
  int64_t stride = 1;
  for (size_t axis = view.rank; axis-- > 0;) {
    out.shape[axis] = view.shape[axis];
    out.stride[axis] = view.strides ? view.strides[axis] : stride;
    stride *= view.shape[axis];
  }
  if (stride > 0 && !view.data) {
    return rill::fail(Code::kArg, "\"", name, "\": a view without data");
  }
  if (reinterpret_cast<uintptr_t>(view.data) % element != 0) {
    return rill::fail(Code::kArg, "\"", name, "\": data is not aligned to its elements of ",
                      element, " bytes");
  }
  out.data = view.data;
  return rill::audit::copy_of(out);
}

Result<std::vector<int64_t>> pulses_of(const char* text) {
  std::vector<int64_t> out;
  std::string_view rest = text ? text : "";
  while (!rest.empty()) {
    int64_t pulse = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), pulse);
    const auto length = static_cast<size_t>(end - rest.data());
    const bool last = length == rest.size();
    const bool more = !last && rest[length] == ',' && length + 1 < rest.size();
    if (error != std::errc() || pulse < 1 || (!last && !more)) {
      return rill::fail(Code::kArg, "pulses \"", text, "\": expected \"1,8,16\"");
    }
    out.push_back(pulse);
    rest.remove_prefix(last ? length : length + 1);
  }
  return out;
}

void report_mode(const rill::audit::CheckedMode& mode, const rill_check_opts& opts) {
  rill_check_mode out = {};
  out.size = sizeof(out);
  out.same_bits = mode.same_bits ? 1 : 0;
  out.name = mode.name.c_str();
  out.pulse = mode.pulse;
  out.outputs = mode.outputs;
  out.frames = mode.frames;
  out.problem = mode.problem.c_str();
  out.skipped = mode.refused.c_str();
  opts.mode(opts.user, &out);
}

void report_to(const rill::audit::CheckReport& from, rill_check_report* to) {
  const uint32_t size = to->size;
  *to = {};
  to->size = size;
  to->frames = from.frames;
  to->modes = static_cast<int64_t>(from.modes.size());
  to->outputs = from.compared();
  for (const auto& mode : from.modes) to->failed += mode.problem.empty() ? 0 : 1;
}

Status checked(const rill_model& whole, std::span<const rill_view> inputs,
               const rill_check_opts* opts, rill_check_report* report) {
  const rill::Graph& graph = whole.graph;
  RILL_ASSIGN(const rill::Bindings bindings, rill::api::bindings_of(graph, inputs));
  std::vector<Tensor> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    RILL_ASSIGN(Tensor value,
                tensor_of(graph.input_name(i), graph.fact(graph.inputs[i]), inputs[i]));
    values.push_back(std::move(value));
  }
  rill::audit::CheckOptions options;
  std::vector<Tensor> expected;
  if (opts) {
    if (opts->symbol) options.symbol = opts->symbol;
    RILL_ASSIGN(options.pulses, pulses_of(opts->pulses));
    if (opts->absolute > 0 || opts->relative > 0) {
      options.tolerance = {"Custom", opts->absolute, opts->relative, 0, true};
      options.for_all = true;
    }
    options.seed = opts->seed;
    expected.reserve(opts->expected_count);
    for (size_t i = 0; i < std::min(opts->expected_count, graph.outputs.size()); ++i) {
      options.references.push_back(nullptr);
      if (!opts->expected[i].data) continue;
      RILL_ASSIGN(Tensor value, tensor_of(graph.output_names[i], graph.fact(graph.outputs[i]),
                                          opts->expected[i]));
      expected.push_back(std::move(value));
      options.references.back() = &expected.back();
    }
  }
  RILL_ASSIGN(const auto found, rill::audit::check(graph, values, bindings, options));
  if (report) report_to(found, report);
  if (opts && opts->mode) {
    for (const auto& mode : found.modes) report_mode(mode, *opts);
  }
  return found.verdict();
}

void report_wires(const rill::audit::Latency& from, const rill_inspect_opts& opts) {
  for (size_t i = 0; i < from.wires.size(); ++i) {
    const rill::audit::WireLatency& row = from.wires[i];
    const std::string causes = rill::join(row.causes, "; ");
    rill_wire_latency out = {};
    out.size = sizeof(out);
    out.index = i;
    out.node = row.wire.name.c_str();
    out.op = row.wire.op.c_str();
    out.slot = row.wire.slot;
    out.line = row.wire.line;
    out.axis = row.wire.axis;
    out.pulse = row.wire.pulse;
    out.delay = row.wire.delay;
    out.least_delay = row.least.value_or(RILL_UNKNOWN);
    out.before = row.before;
    out.after = row.after;
    out.state_bytes = row.state_bytes;
    out.causes = causes.c_str();
    opts.wire(opts.user, &out);
  }
}

void report_outputs(const rill::audit::Latency& from, const rill_inspect_opts& opts) {
  for (size_t i = 0; i < from.outputs.size(); ++i) {
    const rill::audit::OutputLatency& row = from.outputs[i];
    const std::vector<size_t> path(row.path.begin(), row.path.end());
    rill_output_latency out = {};
    out.size = sizeof(out);
    out.index = i;
    out.name = row.name.c_str();
    out.axis = row.stream.axis;
    if (out.axis >= 0) {
      out.pulse = row.stream.pulse;
      out.delay = row.stream.delay;
      out.latency = row.latency;
    }
    out.least_delay = row.least.value_or(RILL_UNKNOWN);
    out.path = path.data();
    out.path_count = path.size();
    opts.output(opts.user, &out);
  }
}

void report_choices(const std::vector<rill::pulse::Choice>& from, const rill_inspect_opts& opts) {
  if (from.empty()) return;
  const rill::pulse::Choice* best = &rill::pulse::best(from);
  for (const rill::pulse::Choice& choice : from) {
    rill_pulse_choice out = {};
    out.size = sizeof(out);
    out.chosen = &choice == best ? 1 : 0;
    out.pulse = choice.pulse;
    out.delay = choice.delay;
    out.latency = choice.latency();
    out.step_us = choice.step_us;
    out.state_bytes = choice.state_bytes;
    out.arena_bytes = choice.arena_bytes;
    opts.choice(opts.user, &out);
  }
}

void report_to(const rill::audit::Latency& from, rill_inspect_report* to) {
  const uint32_t size = to->size;
  *to = {};
  to->size = size;
  to->late_end = from.plan->late_end ? 1 : 0;
  to->pulse = from.plan->stream_pulse;
  to->multiple_of = from.pulse_multiple;
  to->wires = static_cast<int64_t>(from.wires.size());
  to->outputs = static_cast<int64_t>(from.outputs.size());
  for (const auto& output : from.outputs) to->latency = std::max(to->latency, output.latency);
  to->state_bytes = from.plan->state_bytes;
  to->arena_bytes = from.plan->arena_bytes;
  to->longest = from.plan->longest < INT64_MAX ? from.plan->longest : RILL_UNKNOWN;
}

Status inspected(const rill_model& whole, const std::string& symbol, const char* pulse,
                 const rill_inspect_opts* opts, rill_inspect_report* report) {
  constexpr double kSeconds = 2;
  const double asked = opts ? opts->seconds : 0;
  RILL_ASSIGN(const auto pulsed, rill::api::pulse_model(whole, symbol, pulse));
  RILL_ASSIGN(const auto found,
              rill::audit::latency_of(&whole.graph, pulsed.graph, pulsed.report, pulsed.options,
                                      asked == 0 ? kSeconds : std::max(asked, 0.0)));
  if (report) report_to(found, report);
  if (!opts) return {};
  if (opts->wire) report_wires(found, *opts);
  if (opts->output) report_outputs(found, *opts);
  if (opts->choice) report_choices(pulsed.choices, *opts);
  return {};
}

}  // namespace
#endif

extern "C" {

rill_status rill_check(const rill_model* whole, const rill_view* inputs, size_t input_count,
                       const rill_check_opts* opts, rill_check_report* report) {
  if (!alive(whole)) return refuse(RILL_E_ARG, "rill_check: %s", kNotAModel);
#ifdef RILL_WITHOUT_AUDIT
  (void)inputs, (void)input_count, (void)opts, (void)report;
  return refuse(RILL_E_UNSUPPORTED,
                "rill_check: this build cannot check models; build rill with RILL_AUDIT=ON");
#else
  if (!whole->stream_symbol.empty()) {
    return refuse(RILL_E_STATE, "rill_check: the model is pulsed: check a clone of it from before");
  }
  const size_t wanted = whole->io[RILL_INPUT].size();
  if (input_count != wanted || (!inputs && wanted > 0)) {
    return refuse(RILL_E_ARG, "rill_check: %zu views, expected %zu: one per input",
                  inputs ? input_count : 0, wanted);
  }
  for (size_t i = 0; i < input_count; ++i) {
    const rill_status known = check_size(&inputs[i], "rill_view");
    if (known != RILL_OK) return known;
  }
  const rill_status known = check_check_opts(opts);
  if (known != RILL_OK) return known;
  if (report) {
    const rill_status same = check_size(report, "rill_check_report");
    if (same != RILL_OK) return same;
  }
  return rill::api::guarded_with_progress("rill_check", [&] {
    const Status status = checked(*whole, {inputs, input_count}, opts, report);
    return status.ok() ? RILL_OK : rill::api::report(status);
  });
#endif
}

rill_status rill_inspect(const rill_model* whole, const char* symbol, const char* pulse,
                         const rill_inspect_opts* opts, rill_inspect_report* report) {
  if (!alive(whole)) return refuse(RILL_E_ARG, "rill_inspect: %s", kNotAModel);
  if (!pulse) return refuse(RILL_E_ARG, "rill_inspect: no pulse");
#ifdef RILL_WITHOUT_AUDIT
  (void)symbol, (void)opts, (void)report;
  return refuse(RILL_E_UNSUPPORTED,
                "rill_inspect: this build cannot inspect models; build rill with RILL_AUDIT=ON");
#else
  if (!whole->stream_symbol.empty()) {
    return refuse(RILL_E_STATE,
                  "rill_inspect: the model is pulsed: inspect a clone of it from before");
  }
  if (opts) {
    const rill_status known = check_size(opts, "rill_inspect_opts");
    if (known != RILL_OK) return known;
    if (std::isnan(opts->seconds)) return refuse(RILL_E_ARG, "rill_inspect: seconds are NaN");
  }
  if (report) {
    const rill_status known = check_size(report, "rill_inspect_report");
    if (known != RILL_OK) return known;
  }
  return rill::api::guarded_with_progress("rill_inspect", [&] {
    const std::string named(symbol ? symbol : rill::kDefaultStreamSymbol);
    const Status status = inspected(*whole, named, pulse, opts, report);
    return status.ok() ? RILL_OK : rill::api::report(status);
  });
#endif
}

}  // extern "C"
