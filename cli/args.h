#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/log.h"

namespace rill::cli {

enum class Command {
  kDump,
  kRun,
  kBench,
  kCompare,
  kStream,
  kInspect,
  kCheck,
  kAudit,
  kCompile,
  kRooms,
  kListOps,
  kListOnnxOps,
  kListRuntimes,
  kListKnobs,
  kKernels,
  kHwBench
};

/// The command line, as written; values are read by whoever uses them.
struct Args {
  Flavor flavor = Flavor::kRill;
  Command command = Command::kDump;
  std::string command_name = "dump";
  std::string model;
  std::vector<std::string> given;  ///< the options that were written, each by its first long name

  // Before the subcommand.
  int verbosity = 0;
  bool version = false;
  bool no_effect = false;  ///< asks for what is always so, such as a registry
  bool no_tract_core = false;
  bool extended_identifiers = false;
  bool extern_all_constants = false;
  bool optimize = false;
  bool nnef_cycle = false;
  bool machine_friendly = false;
  std::string pulse;
  std::string pulse_backward;
  std::string pass;
  std::string format;
  std::string runtime;
  std::string color = "auto";
  int64_t threads = 1;
  int64_t threading_threshold = 0;
  int64_t readings_heartbeat_ms = 5;
  int64_t autobatch_sessions = 0;  ///< streams that share a plan, stepped together; 0: each alone
  int64_t declutter_rounds = -1;   ///< the most rounds of simplifying; -1: to the end
  int64_t declutter_set_rounds = -1;
  int64_t optimize_rounds = -1;
  double timeout_s = 0;
  // Of compiled models.
  bool read_file = false;
  int64_t max_session_bytes = 0;
  int64_t max_step_work = 0;
  bool emit_jsonl = false;
  bool readings = false;
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
  std::vector<std::string> feedback;
  std::vector<std::string> context;
  std::vector<std::string> scenarios;
  std::vector<std::string> hints;
  std::vector<std::string> asserts;

  // After it.
  bool quiet = false;
  bool allow_random = false;
  bool allow_float_casts = false;
  bool drop_partial_pulse = false;
  bool allow_missing_outputs = false;
  int64_t seed = 0;
  std::vector<std::string> input_bundles;
  std::vector<std::string> input_folders;
  std::vector<std::string> random_ranges;
  std::vector<std::string> run_set;
  std::vector<std::string> output_bundles;
  std::vector<std::string> assert_outputs;
  std::vector<std::string> assert_output_facts;
  std::vector<std::string> assert_op_counts;
  std::vector<std::string> assert_op_only;
  std::string assert_cost;
  int64_t assert_output_count = -1;
  std::string approx;  ///< empty for the default
  std::string approx_custom;

  bool dump_outputs = false;
  bool steps = false;
  int64_t step_frames = 0;  ///< of `stream`; 0: as the model says
  bool check_f16_overflow = false;
  bool assert_sane_floats = false;
  bool per_turn_diff = false;
  double assert_occupancy = 0;
  int64_t turns = 0;  ///< 0: as many as the input has
  std::string save_outputs;
  std::string save_outputs_nnef;
  std::string load_state;
  std::string save_state;
  std::string save_steps;

  std::string filler = "zeros";

  std::string nnef;
  std::string nnef_tar;
  std::string nnef_dir;
  std::string nnef_graph;
  bool nnef_deterministic = false;
  bool profile = false;
  std::string profile_html;
  bool plan = false;
  std::string profile_trace;
  bool cost = false;
  bool info = false;
  bool summary = false;
  bool json = false;
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
  bool natural_order = false;
  std::string node_id;
  std::string node_name;
  std::string op_name;
  std::string successors;
  std::vector<std::string> axes_names;
  std::vector<std::string> inner;
  std::string output_name;

  int64_t warmup_loops = 0;
  int64_t warmup_ms = 0;
  int64_t max_loops = 100000;
  int64_t max_ms = 5000;

  int64_t streams = 0;  ///< 0: not asked for
  double turn_period_ms = 0;
  double deadline_ms = 0;
  double deadline_quantile = 0.99;
  double session_ms = 0;
  bool capacity = false;

  bool compare_stream = false;
  bool compare_twice = false;
  bool cumulative = false;
  std::string compare_stage;
  std::string compare_npz;

  double frame_ms = 0;
  std::string max_delay;
  std::string svg;
  std::string kernels;
  bool check_choice = false;
  std::string pulses;
  double seconds = 0;  ///< of an audit; 0: as many as the command takes by default
  bool no_audit = false;

  std::string output;   ///< of `compile`
  std::string targets = "native";  ///< names with commas between
  std::string embed;
  std::string table;
  std::vector<std::string> table_with;  ///< compiled models whose kinds of steps it has too
  bool no_notes = false;
  std::string weights;         ///< f16, q8 or q4; empty: as they are
  std::string max_difference;  ///< a number, or empty
  std::vector<std::string> keep_weights;
};

/// What the command line asks for: to go on with `args`, or to end with a status, all said already.
struct ParsedArgs {
  bool done = false;
  int exit_status = 0;
  Args args;
};

/// The version of tract that `rill-tract` stands in for.
std::string tract_version();

/// Read the command line. Help goes to stdout; what is wrong is told on stderr, with status 2.
ParsedArgs parse_args(int argc, const char* const* argv, Flavor flavor);

}  // namespace rill::cli
