#pragma once

#include <cstdint>
#include <string>
#include <vector>

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
  int64_t declutter_rounds = -1;  ///< the most rounds of simplifying; -1: to the end
  int64_t declutter_set_rounds = -1;
  int64_t optimize_rounds = -1;
  std::string inner_graph;  ///< the node whose loop body is looked at
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

/// Limits of compiled models.
struct LimitOptions {
  bool read_file = false;
  int64_t max_session_bytes = 0;
  int64_t max_step_work = 0;
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

/// Options of `run`.
struct RunOptions {
  bool dump_outputs = false;
  bool steps = false;
  int64_t stream_steps = 0;  ///< 0: as many as the input has
  bool per_turn_diff = false;
  double assert_occupancy = 0;
  std::string save_outputs_nnef;
  std::string save_steps;
};

/// Options of `stream`.
struct SessionOptions {
  int64_t step_frames = 0;  ///< of `stream`; 0: as the model says
  std::string load_state;
  std::string save_state;
  std::string filler = "zeros";
};

/// Files that `dump` writes a model to.
struct WriteOptions {
  bool nnef_deterministic = false;  ///< note no figures of an audit, which depend on the machine
  std::string nnef;
  std::string nnef_tar;
  std::string nnef_dir;
  std::string nnef_graph;
  std::string output_name;
};

/// Views of the graph and of a run, printed or drawn.
struct ViewOptions {
  bool quiet = false;
  bool json = false;
  std::string svg;
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
  int64_t streams = 0;  ///< 0: not asked for
  double turn_period_ms = 0;
  double deadline_ms = 0;
  double deadline_quantile = 0.99;
  double session_ms = 0;
  bool capacity = false;
};

/// The reference of `compare`.
struct CompareOptions {
  bool stream = false;
  bool twice = false;
  bool cumulative = false;
  std::string stage;
  std::string npz;
};

/// Options of `inspect`.
struct InspectOptions {
  double frame_ms = 0;
  std::string max_delay;
};

/// Options of `check`, `audit`, and audits before a model is written.
struct ProofOptions {
  std::string pulses;
  double seconds = 0;  ///< of an audit; 0: as many as the command takes by default
  bool no_audit = false;
};

/// Options of `compile`.
struct CompileOptions {
  std::string output;              ///< of `compile`
  std::string targets = "native";  ///< names with commas between
  std::string embed;
  std::string table;
  std::string emit;  ///< the plan as C
  std::vector<std::string> table_with;  ///< compiled models whose kinds of steps it has too
  bool no_notes = false;
  std::string weights;         ///< f16, q8 or q4; empty: as they are
  std::string max_difference;  ///< a number, or empty
  std::vector<std::string> keep_weights;
};

/// Options of `hwbench`.
struct HwBenchOptions {
  std::string kernels;
  bool check_choice = false;
};

}  // namespace rill::cli
