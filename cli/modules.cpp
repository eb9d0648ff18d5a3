#include <set>
#include <string>

#include "cli/commands.h"
#include "cli/load_model.h"
#include "cli/say_impl.h"
#include "pulse/ready.h"

namespace rill::cli {
namespace {

/// Prints the operator modules that the model needs, as a CMake option.
class ModulesCommand final : public Command {
 public:
  ModulesCommand()
      : Command({"modules", 0, "print the option that builds a library for only this model",
                 "rill model.nnef.tgz modules", false}) {}

  Status run(const CommonOptions& common, const Log& log) const override {
    RILL_TRY(check_runtime(common.model.runtime));
    std::set<std::string_view> modules;
    nnef::LoadOptions options = load_options(common, log);
    options.keep_submodels = false;
    options.modules_called = &modules;
    RILL_ASSIGN(const Graph graph, load_model(common, options));
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
};

}  // namespace

std::unique_ptr<Command> modules_command() { return std::make_unique<ModulesCommand>(); }

}  // namespace rill::cli
