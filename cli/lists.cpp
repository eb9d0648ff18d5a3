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
#include "kernels/cpu.h"
#include "nnef_loader/load.h"
#include "ops/op_table.h"

namespace rill::cli {
namespace {

Status list_ops() {
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

Status list_onnx_ops() {
  for (const auto& [name, opsets] : onnx_operators()) {
    say(" * {}: {}\n", name, fmt::join(opsets, ", "));
  }
  return {};
}

Status list_runtimes() {
  say(" * deploy\n * cpu\n * unoptimized\n");
  return {};
}

Status list_knobs() {
  struct Knob {
    const char* name;
    const char* type;
    const char* fallback;
    const char* meaning;
  };
  constexpr Knob kKnobs[] = {
      {"RILL_CPU", "text", "", "best SIMD tier to use: scalar, sse42, avx2, avx512 or neon"},
      {"RILL_TRACT_VERSION", "text", "0.23.9", "version of tract that rill-tract reports"},
      {"NO_COLOR", "flag", "", "no colours on any output"},
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

Status list_kernels() {
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

/// A command that prints a list, for any model.
class ListCommand final : public Command {
 public:
  ListCommand(const CommandFacts& facts, Status (*list)()) : Command(facts), list_(list) {}
  Status run(const CommonOptions&, const Log&) const override { return list_(); }

 private:
  Status (*list_)();
};

}  // namespace

std::vector<std::unique_ptr<Command>> list_commands() {
  const struct {
    CommandFacts facts;
    Status (*list)();
  } rows[] = {
      {{"list-ops", 0, "list the operators that models may use", "rill list-ops"}, list_ops},
      {{"list-onnx-ops", 0, "list the operators of ONNX, and the opsets whose forms are read",
        "rill list-onnx-ops"},
       list_onnx_ops},
      {{"list-runtimes", 0, "list the runtimes", "rill list-runtimes"}, list_runtimes},
      {{"list-knobs", 0, "list the variables that are read", "rill list-knobs"}, list_knobs},
      {{"kernels", 0, "list the machines that have kernels", "rill kernels"}, list_kernels},
  };
  std::vector<std::unique_ptr<Command>> out;
  for (const auto& row : rows) out.push_back(std::make_unique<ListCommand>(row.facts, row.list));
  return out;
}

}  // namespace rill::cli
