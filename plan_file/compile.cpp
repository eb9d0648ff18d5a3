#include "plan_file/compile.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/progress.h"
#include "core/base/search.h"

namespace rill::plan_file {
namespace {

bool is_same(const kernels::Target& a, const kernels::Target& b) {
  return a.tier == b.tier && a.dot_products == b.dot_products;
}

/// Adds the quantized weights, if any, to the report in `weights`.
Result<std::shared_ptr<const Plan>> plan_for(const kernels::Target& target, const Graph& graph,
                                             const CompileOptions& asked, WeightChoice* weights) {
  PrepareOptions options;
  options.weights = weights;
  options.optimize = asked.optimize;
  options.keep_uses = asked.notes;
  // Steps that only another CPU can run stay in its plan.
  options.run_constants = kernels::target_rank(kernels::target_name(target)) >= 0;
  const kernels::TargetCpu chosen(target.tier, target.dot_products);
  return prepare(graph, options);
}

/// Make the plan of a target, named after the least CPU that runs it: a plan without int8 dot
/// products runs on CPUs without these instructions. One plan is in memory at a time.
Result<TargetPlan> plan_of_target(const kernels::Target& target, const Graph& graph,
                                  std::span<const OpModule* const> modules,
                                  const CompileOptions& options, WeightChoice* weights) {
  TargetPlan out;
  out.target = kernels::target_name(target);
  RILL_ASSIGN(out.plan, plan_for(target, graph, options, weights));
  if (!target.dot_products) return out;
  // The head has the names of steps and kernels, and the checksum of the constants.
  const auto head_of = [&]() -> Result<std::vector<std::byte>> {
    const TargetPlan each{"either", out.plan};
    RILL_ASSIGN(PlanFile file, make_file({&each, 1}, modules));
    return std::move(file.head);
  };
  const auto again = [&](const kernels::Target& other) -> Status {
    WeightChoice choice;
    if (weights) choice = {weights->format, weights->kept, {}};
    out.plan = nullptr;
    RILL_ASSIGN(out.plan, plan_for(other, graph, options, weights ? &choice : nullptr));
    return {};
  };
  const kernels::Target plain{target.tier, false};
  RILL_ASSIGN(const std::vector<std::byte> own, head_of());
  RILL_TRY(again(plain));
  RILL_ASSIGN(const std::vector<std::byte> other, head_of());
  if (own == other) {
    out.target = kernels::target_name(plain);
  } else {
    RILL_TRY(again(target));
  }
  return out;
}

}  // namespace

Result<std::vector<kernels::Target>> targets_named(std::string_view list, std::string_view option) {
  std::vector<kernels::Target> out;
  for (size_t at = 0; at <= list.size();) {
    const size_t comma = std::min(list.find(',', at), list.size());
    const std::string name(list.substr(at, comma - at));
    at = comma + 1;
    kernels::Target target = kernels::running_target();
    if (name != "native" && !kernels::target_from_name(name, &target)) {
      return fail(Code::kArg, option, " ", name.empty() ? "\"\"" : name,
                  ": expected native, scalar, sse42, avx2, avx2vnni, avx512, avx512vnni, neon, "
                  "neondotprod or wasm");
    }
    if (!kernels::compiles_for(target.tier)) {
      return fail(Code::kUnsupported, option, " ", name,
                  ": this build of rill cannot make plans for it")
          .hint("Compile the model with a rill that was built without RILL_TIERS");
    }
    const auto same = [&](const kernels::Target& each) { return is_same(each, target); };
    if (none_of(out, same)) out.push_back(target);
  }
  return out;
}

std::string audit_text(const Graph& graph) {
  const auto found = graph.properties.find("rill.audit");
  if (found == graph.properties.end() || found->second.dtype() != DType::kString) return "";
  return *found->second.data<std::string>();
}

Result<std::vector<TargetPlan>> compile(const Graph& graph,
                                        std::span<const OpModule* const> modules,
                                        const CompileOptions& options) {
  std::vector<kernels::Target> targets = options.targets;
  if (targets.empty()) targets.push_back(kernels::running_target());
  std::vector<TargetPlan> plans;
  WeightChoice others;
  if (options.weights) others = *options.weights;
  const auto count = static_cast<double>(targets.size());
  for (size_t i = 0; i < targets.size(); ++i) {
    const auto at = static_cast<double>(i);
    const ProgressPart part(at / count, (at + 1) / count);
    // All targets have the same layers; report those of the first one.
    WeightChoice* weights = !options.weights ? nullptr : i == 0 ? options.weights : &others;
    if (weights) weights->layers.clear();
    RILL_ASSIGN(TargetPlan plan, plan_of_target(targets[i], graph, modules, options, weights));
    const auto same = [&](const TargetPlan& each) { return each.target == plan.target; };
    if (none_of(plans, same)) plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace rill::plan_file
