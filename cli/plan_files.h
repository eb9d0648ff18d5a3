#pragma once

#include <string>

#include "cli/options.h"
#include "cli/stream_states.h"
#include "plan_file/map.h"
#include "plan_file/read.h"

namespace rill::cli {

/// Return whether a file is a compiled model.
bool names_plan_file(const std::string& file);
/// Refuse an option without effect on a compiled model, whose decisions are built in. Errors: kArg.
Status refuse_options_of_graphs(const CommonOptions& common);

/// Open the compiled model of the command line, within its limits. `whole`: check all of its bytes.
Result<plan_file::OpenedPlan> open_plan_file(const CommonOptions& common, bool whole = false);
/// Read or map the file of the command line, unopened. Errors: kNoMem for one beyond the limit.
Result<plan_file::MappedFile> plan_file_bytes(const CommonOptions& common);

/// Return a graph with the inputs and outputs of a plan and nothing between them, which suffices to
/// find and compare values.
Graph faces_of(const Plan& plan);

/// Show a compiled model as `dump` does: its sizes, its steps, or the times of its nodes.
Status dump_plan_file(const CommonOptions& common, const ViewOptions& view, const LoopOptions& loop,
                      const plan_file::OpenedPlan& opened);

/// How `run` and `stream` run a compiled model.
struct PlanRun {
  StreamStates states = {};
  bool nan_filler = false;
  bool dump_outputs = false;
};
/// Run a compiled model, whole or its stream, and check and write the outputs.
Status run_plan(const CommonOptions& common, const CheckOptions& checks, const PlanRun& how,
                const Log& log, const plan_file::OpenedPlan& opened);

}  // namespace rill::cli
