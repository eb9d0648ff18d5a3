#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "cli/commands.h"
#include "cli/load_model.h"
#include "cli/say_impl.h"
#include "core/optim/optim.h"
#include "kernels/cpu.h"
#include "nnef_loader/load.h"
#include "ops/op_table.h"
#include "pulse/ready.h"

namespace rill::cli {
Status modules_command(const Args& args, const Log& log) {
  std::set<std::string_view> modules;
  nnef::LoadOptions options = load_options(args, log);
  options.keep_submodels = false;
  options.modules_called = &modules;
  RILL_ASSIGN(const Graph graph, load_model(args, options));
  for (const Node& node : graph.nodes) {
    for (const Fact& fact : node.outputs) {
      if (is_quantised(fact.dtype)) modules.insert("integer_sums");
    }
  }
  for (const std::string& symbol : graph.scope.symbols()) {
    if (pulse::meets_attention(graph, symbol)) modules.insert("attention");
  }
  std::string list;
  for (const std::string_view module : modules) list += str_cat(list.empty() ? "" : ";", module);
  say("-DRILL_OPS=\"{}\"\n", list);
  return {};
}

Status list_ops_command() {
  std::map<std::string, std::set<std::string>> registries;
  for (const auto& modules : {ops::op_table(), nnef::loader_modules()}) {
    for (const OpModule* module : modules) {
      for (const NnefOp& op : module->nnef) {
        registries[op.registry].insert(declared_name(op.declaration));
      }
    }
  }
  for (const std::string_view name : nnef::standard_fragments()) {
    registries["tract_nnef"].emplace(name);
  }
  for (const auto& [registry, names] : registries) {
    say("# {}\n", registry);
    for (const std::string& name : names) say(" * {}\n", name);
  }
  return {};
}

Status list_onnx_ops_command() {
  for (const auto& [name, opsets] : onnx_operators()) {
    say(" * {}: {}\n", name, fmt::join(opsets, ", "));
  }
  return {};
}

Status list_runtimes_command() {
  say(" * deploy\n * cpu\n * unoptimized\n");
  return {};
}

Status list_knobs_command() {
  struct Knob {
    const char* name;
    const char* type;
    const char* fallback;
    const char* meaning;
  };
  constexpr Knob kKnobs[] = {
      {"RILL_CPU", "text", "", "best SIMD tier to use: scalar, sse42, avx2, avx512 or neon"},
      {"RILL_TRACT_VERSION", "text", "0.23.9", "version of tract that rill-tract reports"},
      {"NO_COLOR", "flag", "", "no colours, whatever the output is"},
      {"TRACT_CONFIG", "path", "", "TOML file of the deploy runtime"},
      {"TRACT_AUTOBATCH_LANES", "number", "", "streams per turn, of the deploy runtime"},
  };
  for (const Knob& knob : kKnobs) {
    const char* value = std::getenv(knob.name);
    say("{} = {}  [{}, default {}]\n    {}\n\n", knob.name, value ? value : knob.fallback,
        knob.type, *knob.fallback ? knob.fallback : "none", knob.meaning);
  }
  return {};
}

Status kernels_command() {
  const kernels::Tier best = kernels::detected_tier();
  const kernels::Tier used = kernels::active_tier();
  for (const char* name : {"scalar", "sse42", "avx2", "avx512", "neon"}) {
    kernels::Tier tier{};
    if (!kernels::tier_from_name(name, &tier)) continue;
    const bool runs = kernels::supports(best, tier);
    say(" * {}{}{}\n", name, runs ? "" : "  (not on this machine)",
        tier == used ? "  <--" : "");
  }
  return {};
}

bool optimizes(const Args& args) {
  return args.model.optimize || args.model.runtime == "cpu" || args.model.runtime == "default";
}

Result<Graph> final_graph(const Args& args, const Graph& graph) {
  if (!optimizes(args)) return graph;
  return fuse(graph, args.model.optimize_rounds);
}

}  // namespace rill::cli
