#pragma once

#include "cli/args.h"
#include "cli/pipeline.h"

namespace rill::cli {

/// The subcommands. They print results to stdout, and return a failure for the program's exit
/// status.
Status run_command(const Args& args, const Log& log, const Model& model);
Status dump_command(const Args& args, const Log& log, const Model& model);
Status bench_command(const Args& args, const Log& log, const Model& model);
Status stream_command(const Args& args, const Log& log, const Model& model);
Status inspect_command(const Args& args, const Log& log, const Model& model);
Status check_command(const Args& args, const Log& log, const Model& model);
/// `audit`: streams of many lengths against the whole run.
Status audit_command(const Args& args, const Log& log, const Model& model);
/// Audit a pulsed model before it is written, and record the comparisons in its properties. Errors:
/// kState if a stream differs, with length, mode and frame.
Status audit_before_writing(const Args& args, const Log& log, const Model& model, Graph* graph);
Status compare_command(const Args& args, const Log& log, const Model& model);
/// `compare --stream`.
Status compare_stream(const Args& args, const Log& log, const Model& model);
/// `compile`: the plan as a file.
Status compile_command(const Args& args, const Log& log, const Model& model);
/// Return whether the command line names a plan file instead of a model.
bool names_plan_file(const Args& args);
/// Errors: kArg for limits of compiled models if the model is not compiled.
Status refuse_limits_of_plans(const Args& args);
/// Run, stream, bench, inspect or dump a plan file. Errors: kArg for other subcommands.
Status plan_file_command(const Args& args, const Log& log);
/// `modules`: print the operator modules that the model needs, as a CMake option.
Status modules_command(const Args& args, const Log& log);
Status list_ops_command();
Status list_onnx_ops_command();
Status list_runtimes_command();
Status list_knobs_command();
Status kernels_command();
/// `hwbench`: measure the machine's peaks, and the shares that kernels reach.
Status hwbench_command(const Args& args);

/// Return the graph that runs, optimised on request.
Result<Graph> final_graph(const Args& args, const Graph& graph);
/// Return whether this command line runs optimised graphs.
bool optimizes(const Args& args);

}  // namespace rill::cli
