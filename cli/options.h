#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/log.h"
#include "nnef_loader/archive/archive.h"
#include "plan_file/limits.h"

namespace rill::cli {

/// Options that every subcommand takes.
struct ProgramOptions {
  int verbosity = 0;
  bool version = false;
  std::string color = "auto";
  int64_t threads = 1;
  double timeout_s = 0;
  bool readings = false;
  int64_t readings_heartbeat_ms = 5;
  bool emit_jsonl = false;
  bool machine_friendly = false;
};

/// Options that read the model and change it before the subcommand sees it.
struct ModelOptions {
  std::string format;
  bool no_tract_core = false;
  bool extended_identifiers = false;
  bool extern_all_constants = false;
  std::string runtime;
  bool optimize = false;
  bool nnef_cycle = false;
  std::string pass;
  int64_t declutter_rounds = -1;  ///< maximum rounds of simplification; -1: no limit
  int64_t declutter_set_rounds = -1;
  int64_t optimize_rounds = -1;
  std::string inner_graph;  ///< the node whose loop body is examined
  std::vector<std::string> transforms;
  std::vector<std::string> set;
  std::vector<std::string> input_facts;
  std::vector<std::string> fact_bundles;
  std::vector<std::string> legacy_bundles;  ///< facts and values
  std::vector<std::string> input_nodes;
  std::vector<std::string> output_nodes;
  std::vector<std::string> override_facts;
  std::vector<std::string> constantize;
  std::vector<std::string> scenarios;
  std::vector<std::string> hints;
  std::vector<std::string> asserts;
};

/// Options that make a model stream.
struct StreamingOptions {
  std::string pulse;
  std::string pulse_backward;
  std::string window;
  std::vector<std::string> feedback;
  std::vector<std::string> context;
  std::vector<std::string> frames;
  int64_t autobatch_sessions = 0;  ///< streams that share a plan, stepped together; 0: each alone

  /// Return whether a stream symbol was requested.
  bool by_symbol() const { return !(pulse.empty() && window.empty()); }
  /// Return whether the steps of the stream are runs of the model, so that there is no whole run.
  bool steps_are_runs() const { return !(feedback.empty() && context.empty() && frames.empty()); }
};

/// How files are read, and limits on their cost.
struct LimitOptions {
  bool read_file = false;
  nnef::LoadLimits load;
  plan_file::Limits plan;  ///< 0: the default for compiled models, none for others
};

/// Inputs and outputs of a run.
struct ValueOptions {
  std::vector<std::string> input_bundles;
  std::vector<std::string> input_folders;
  bool allow_random = false;
  std::vector<std::string> random_ranges;
  int64_t seed = 0;
  std::vector<std::string> run_set;
  bool allow_float_casts = false;
  bool drop_partial_pulse = false;
  std::string save_outputs;
};

/// Expectations of a run.
struct CheckOptions {
  std::vector<std::string> output_bundles;
  std::vector<std::string> assert_outputs;
  std::vector<std::string> assert_output_facts;
  int64_t assert_output_count = -1;
  std::vector<std::string> assert_op_counts;
  std::vector<std::string> assert_op_only;
  std::string assert_cost;
  bool allow_missing_outputs = false;
  std::string approx;  ///< empty for the default
  std::string approx_custom;
  bool check_f16_overflow = false;
  bool assert_sane_floats = false;
};

/// How a command reports.
struct ReportOptions {
  bool quiet = false;
  bool json = false;
  std::string svg;
};

/// Views of the graph and of a run, printed or drawn.
struct ViewOptions : ReportOptions {
  bool profile = false;
  std::string profile_html;
  std::string profile_trace;
  bool plan = false;
  bool cost = false;
  bool info = false;
  bool summary = false;
  bool audit_json = false;
  bool consts = false;
  bool io_long = false;
  bool io_none = false;
  bool mm = false;
  bool tmp_mem_usage = false;
  bool folded = false;
  bool invariants = false;
  bool outlet_labels = false;
  bool debug_op = false;
  bool axes = false;
  std::vector<std::string> axes_names;
  bool natural_order = false;
  std::string node_id;
  std::string node_name;
  std::string op_name;
  std::string successors;
  std::vector<std::string> inner;

  /// Return whether nodes are timed: pages and traces show times.
  bool profiles() const { return profile || !profile_html.empty() || !profile_trace.empty(); }
};

/// Number and duration of timed runs.
struct LoopOptions {
  int64_t warmup_loops = 0;
  int64_t warmup_ms = 0;
  int64_t max_loops = 100000;
  int64_t max_ms = 5000;
};

/// Several concurrent streams.
struct LoadOptions {
  int64_t streams = 0;  ///< 0: not requested
  double turn_period_ms = 0;
  double deadline_ms = 0;
  double deadline_quantile = 0.99;
  double session_ms = 0;
  bool capacity = false;
};

/// Audits, alone and before a model is written.
struct ProofOptions {
  double seconds = 0;  ///< of an audit; 0: the default of the command
  bool no_audit = false;
};

/// Demands of a command on its model.
struct Demands {
  const char* command = "dump";
  bool as_in_file = false;     ///< nested models stay single nodes, as in the file
  bool values_decide = false;  ///< values of inputs may decide shapes and branches of ONNX models
  bool closed_by_values = false;  ///< values may fix extents without which loading fails
  bool keeps_stages = false;      ///< for `Model::stage`
  bool shows_batch = false;       ///< whether a deployment adds the batch
  int64_t step_frames = 0;        ///< of the steps of a stream; 0: as the model says
};

/// An option that was written.
struct GivenOption {
  std::string name;    ///< its first long name
  unsigned where = 0;  ///< bits of `Where`
};

/// Options that all commands share: the model, its inputs and the program.
struct CommonOptions {
  Flavor flavor = Flavor::kRill;
  std::string file;  ///< the model's
  std::vector<GivenOption> given;
  ProgramOptions program;
  ModelOptions model;
  StreamingOptions streaming;
  LimitOptions limits;
  ValueOptions values;
  Demands demands;
};

}  // namespace rill::cli
