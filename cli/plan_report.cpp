#include "cli/plan_report.h"

#include <nlohmann/json.hpp>

#include "cli/say_impl.h"

namespace rill::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string shape_text(const PlanIo& io) {
  std::string out;
  for (const int64_t extent : io.shape) out += escaped_format("{},", extent);
  out += dtype_name(io.dtype);
  if (io.stream.axis < 0) return out;
  return out + escaped_format(", streams along axis {}, {} frames per step", io.stream.axis,
                              io.stream.pulse);
}

std::string model_text(const Plan& plan) {
  return escaped_format("{:016x}{:016x}", plan.model[0], plan.model[1]);
}

Json io_json(const PlanIo& io, bool is_output) {
  Json out{{"name", io.name.view()}, {"dtype", dtype_lower_name(io.dtype)}};
  out["shape"] = std::vector<int64_t>(io.shape.begin(), io.shape.end());
  out["axis"] = io.stream.axis;
  if (io.stream.axis < 0) return out;
  out["frames_per_step"] = io.stream.pulse;
  if (!is_output) return out;
  out["delay"] = io.stream.delay;
  const bool known = io.stream.length.valid() && !io.stream.length_text.empty();
  out["length"] = known ? Json(io.stream.length_text.view()) : Json(nullptr);
  return out;
}

Json ios_json(const List<PlanIo>& ios, bool are_outputs) {
  Json out = Json::array();
  for (const PlanIo& io : ios) out.push_back(io_json(io, are_outputs));
  return out;
}

/// Return a single value or the list of values; text for types that JSON lacks.
Json value_json(const Property& property) {
  Json all = Json::array();
  for (const std::string& value : property.strings) all.push_back(value);
  for (const double value : property.floats) all.push_back(value);
  for (const int64_t value : property.ints) {
    all.push_back(property.dtype == DType::kBool ? Json(value != 0) : Json(value));
  }
  if (all.empty()) return property.text;
  return all.size() == 1 ? all[0] : all;
}

}  // namespace

void print_plan(const plan_file::OpenedPlan& opened) {
  const Plan& plan = *opened.plan;
  for (const PlanIo& io : plan.inputs) say("input {}: {}\n", io.name.view(), shape_text(io));
  for (const PlanIo& io : plan.outputs) {
    say("output {}: {}", io.name.view(), shape_text(io));
    if (io.stream.axis >= 0) {
      say(", delay {}", io.stream.delay);
      if (!io.stream.length_text.empty()) say(", length {}", io.stream.length_text.view());
    }
    say("\n");
  }
  std::string all;
  for (const std::string& target : opened.targets) all += (all.empty() ? "" : ", ") + target;
  say("target {}, of {}\n", opened.target, all);
  say("{} steps; {} bytes of constants, {} of state, {} of arena\n", plan.steps.size(),
      plan.const_bytes, plan.state_bytes, plan.arena_bytes);
  say("model {}\n", model_text(plan));
  if (!opened.audit.empty()) say("audit: {}\n", opened.audit);
  if (!opened.weights.empty()) say("weights: {}\n", opened.weights);
  // The lines above show the properties whose keys begin with "rill.".
  std::string properties;
  for (const Property& each : opened.properties) {
    if (!std::string_view(each.key).starts_with("rill.")) {
      properties += escaped_format("  {}: {}\n", each.key, each.text);
    }
  }
  if (!properties.empty()) say("properties:\n{}", Escaped{properties});
}

std::string plan_json(const std::string& file, const plan_file::OpenedPlan& opened) {
  const Plan& plan = *opened.plan;
  Json out{{"schema", 1}, {"rill_version", RILL_VERSION}, {"model", file}};
  out["inputs"] = ios_json(plan.inputs, false);
  out["outputs"] = ios_json(plan.outputs, true);
  const bool streams = plan.stream_pulse > 0;
  out["symbol"] = streams ? Json(plan.stream_symbol.view()) : Json(nullptr);
  out["pulse"] = streams ? Json(plan.stream_pulse) : Json(nullptr);
  out["target"] = opened.target;
  out["targets"] = opened.targets;
  out["memory"] = {{"constant_bytes", plan.const_bytes},
                   {"state_bytes", plan.state_bytes},
                   {"arena_bytes", plan.arena_bytes}};
  out["fingerprint"] = model_text(plan);
  out["audit"] = opened.audit.empty() ? Json(nullptr) : Json(opened.audit);
  out["weights"] = opened.weights.empty() ? Json(nullptr) : Json(opened.weights);
  out["properties"] = Json::object();
  for (const Property& each : opened.properties) out["properties"][each.key] = value_json(each);
  return safe_json(out.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace rill::cli
