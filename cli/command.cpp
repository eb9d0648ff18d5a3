#include "cli/command.h"

#include "cli/commands.h"
#include "cli/deploy.h"
#include "cli/plan_files.h"
#include "cli/readings.h"

namespace rill::cli {
Status check_runtime(const std::string& runtime) {
  if (runtime.empty() || runtime == "cpu" || runtime == "default" || runtime == "unoptimized" ||
      runtime == "deploy") {
    return {};
  }
  return fail(Code::kArg, "Runtime `", runtime, "' not found")
      .hint("rill has cpu, unoptimized and deploy");
}

/// Refuse limits that have no effect on this command if the model is not compiled. Errors: kArg.
Status ModelCommand::refuse_limits(const CommonOptions& common) const {
  for (const GivenOption& option : common.given) {
    if ((option.where & kOfPlanSize) && !writes_plan_files()) {
      return fail(Code::kArg, option.name, " limits compiled models, but ", common.file,
                  " is not compiled")
          .hint("Leave it out, or use --max-expanded-bytes");
    }
    if (limits_plans() || !(option.where & kOfPlans)) continue;
    return fail(Code::kArg, option.name, " has no effect on ", facts().name, " of a model")
        .hint("It limits the plans of run, stream, bench and compile, and compiled models");
  }
  return {};
}

Status ModelCommand::run(const CommonOptions& given, const Log& log) const {
  RILL_TRY(check_runtime(given.model.runtime));
  CommonOptions common = given;
  if (names_plan_file(common.file)) {
    if (!takes_plan_files()) {
      return fail(Code::kArg, common.file, " is a compiled model: there is no graph to ",
                  facts().name)
          .hint("Use run, stream, bench, inspect or dump, or the model that it was compiled from");
    }
    RILL_TRY(refuse_options_of_graphs(common));
    return run_plan_file(common, log);
  }
  RILL_TRY(refuse_limits(common));
  std::unique_ptr<Readings> readings;
  if (common.program.readings) {
    RILL_ASSIGN(readings, Readings::start(common.program.readings_heartbeat_ms));
  }
  common.demands = demands(common);
  common.demands.command = facts().name;
  RILL_ASSIGN(Model model, make_model(common, log));
  if (common.model.runtime == "deploy") RILL_TRY(apply_deployment(&common, log, &model));
  if (readings) readings->event("model ready");
  return run_model(common, log, model);
}

std::vector<std::unique_ptr<Command>> all_commands() {
  std::vector<std::unique_ptr<Command>> out;
  out.push_back(dump_command());
  out.push_back(run_command());
  out.push_back(bench_command());
  out.push_back(compare_command());
  out.push_back(stream_command());
  out.push_back(inspect_command());
  out.push_back(check_command());
  out.push_back(audit_command());
  out.push_back(compile_command());
  out.push_back(modules_command());
  for (std::unique_ptr<Command>& list : list_commands()) out.push_back(std::move(list));
  out.push_back(hwbench_command());
  return out;
}

}  // namespace rill::cli
