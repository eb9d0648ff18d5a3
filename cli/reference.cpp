#include "cli/reference.h"

#include <algorithm>

#include "cli/caches.h"
#include "cli/load_model.h"

namespace rill::cli {

Result<Tolerance> tolerance_of(const CheckOptions& checks) {
  if (!checks.approx_custom.empty()) return parse_custom_tolerance(checks.approx_custom);
  return *tolerance_named(checks.approx.empty() ? "close" : checks.approx);
}

namespace {

/// References of ONNX models come from other programs with other orders of sums, so the default
/// tolerance is that of the standard's tests.
Result<Tolerance> reference_tolerance(const CommonOptions& common, const CheckOptions& checks) {
  const bool asked = !checks.approx.empty() || !checks.approx_custom.empty();
  if (asked || !is_onnx_model(common.file)) return tolerance_of(checks);
  return *tolerance_named("onnx");
}

}  // namespace

Result<Reference> Reference::read(const CommonOptions& common, const CheckOptions& checks) {
  Reference out;
  out.asked_ = !checks.output_bundles.empty() || !checks.assert_outputs.empty();
  out.allow_missing_ = checks.allow_missing_outputs;
  out.cast_floats_ = common.values.allow_float_casts;
  out.tract_ = common.flavor == Flavor::kTract;
  RILL_ASSIGN(out.tolerance_, reference_tolerance(common, checks));
  RILL_ASSIGN(out.bundle_, Bundle::read(checks.output_bundles));
  for (const std::string& text : checks.assert_outputs) {
    RILL_ASSIGN(const FactSpec spec, parse_fact_spec(text));
    if (!spec.has_values) return fail(Code::kArg, "--assert-output ", text, ": no =values");
    RILL_ASSIGN(Tensor value, spec_tensor(spec));
    out.bundle_.put(spec.name, 0, std::move(value));
  }
  return out;
}

Result<const Bundle::Item*> Reference::find(const std::string& label,
                                            const std::string& node) const {
  const Bundle::Item* item = bundle_.find(label);
  if (item == nullptr) item = bundle_.find(node);
  if (item == nullptr && !allow_missing_) {
    return fail(Code::kArg, "Missing reference output in bundle for ", label,
                label == node ? "" : str_cat(" or ", node))
        .hint(str_cat("The bundle has ", bundle_.contents(),
                      "; --allow-missing-outputs skips this output"));
  }
  return item;
}

Status Reference::check_output(size_t index, const Tensor& expected, const Tensor& got) const {
  const auto wrong = mismatch(expected, got, tolerance_, cast_floats_);
  if (!wrong) return {};
  return fail(Code::kState, "Checking output ", index, ": ",
              tract_ ? worded_for_tract(*wrong) : *wrong);
}

std::string worded_for_tract(std::string mismatch) {
  constexpr std::string_view kBegin = "First outlier (";
  const size_t at = mismatch.find(kBegin);
  if (at != std::string::npos) mismatch.replace(at + kBegin.size() - 2, 2, ": ");
  return mismatch;
}

Status Reference::check(const Graph& graph, std::span<const Tensor> outputs, size_t turn,
                        const Log& log) const {
  Status first;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Node& node = graph.node(graph.outputs[i].node);
    const std::string& label = graph.output_names[i];
    constexpr std::string_view kGrown = "_concat";
    const bool inside =
        label.ends_with(kGrown) &&
        is_own_cache(graph, std::string_view(label).substr(0, label.size() - kGrown.size()));
    if (inside && bundle_.find(label) == nullptr) continue;
    RILL_ASSIGN(const Bundle::Item* item, find(label, node.name));
    if (item == nullptr) continue;
    Status status =
        check_output(i, item->turns[std::min(turn, item->turns.size() - 1)], outputs[i]);
    if (status.ok()) {
      log.info(str_cat("Checked output #", i, ", ok."));
      continue;
    }
    status = std::move(status).in_node(graph.output_names[i], node.op->name());
    if (first.ok()) {
      first = std::move(status);
    } else {
      log.error(status.error());
    }
  }
  return first;
}

namespace {

Status check_facts(const CheckOptions& checks, std::span<const Fact> facts,
                   std::span<const std::string> names) {
  const auto found = static_cast<int64_t>(facts.size());
  if (checks.assert_output_count >= 0 && checks.assert_output_count != found) {
    return fail(Code::kState, "Wrong number of outputs, command line expected ",
                checks.assert_output_count, ", found ", found);
  }
  if (checks.assert_output_facts.empty()) return {};
  if (checks.assert_output_facts.size() != facts.size()) {
    return fail(Code::kState, "Number of output differ: got:", found,
                ", expected:", checks.assert_output_facts.size());
  }
  for (size_t i = 0; i < facts.size(); ++i) {
    RILL_ASSIGN(const FactSpec spec, parse_fact_spec(checks.assert_output_facts[i]));
    const Fact& fact = facts[i];
    if (spec.dtype && *spec.dtype != fact.dtype) {
      return fail(Code::kState, "Failed to infer datum type: expected ", dtype_name(*spec.dtype),
                  ", got ", dtype_name(fact.dtype), " for output ", names[i]);
    }
    bool same = spec.shape.size() == fact.shape.size();
    for (size_t axis = 0; same && axis < spec.shape.size(); ++axis) {
      same = !spec.shape[axis] || *spec.shape[axis] == fact.shape[axis];
    }
    if (!same) {
      return fail(Code::kState, "Failed to infer shape: expected ", checks.assert_output_facts[i],
                  ", got ", fact, " for output ", names[i]);
    }
  }
  return {};
}

}  // namespace

Status check_output_facts(const CheckOptions& checks, const Graph& graph) {
  Facts facts;
  for (const OutletId output : graph.outputs) facts.push_back(graph.fact(output));
  return check_facts(checks, facts, graph.output_names);
}

Status check_value_facts(const CheckOptions& checks, std::span<const Tensor> values,
                         std::span<const std::string> names) {
  Facts facts;
  for (const Tensor& value : values) {
    facts.push_back(Fact::of_tensor(std::make_shared<const Tensor>(value)).without_value());
  }
  return check_facts(checks, facts, names);
}

}  // namespace rill::cli
