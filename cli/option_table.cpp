#include "cli/option_table.h"

#include <algorithm>
#include <array>

#include "cli/say_impl.h"
#include "cli/specs.h"

namespace rill::cli {

void append_options(std::vector<Option>* out, const char* group,
                    std::initializer_list<Option> options) {
  for (Option option : options) {
    option.group = group;
    out->push_back(option);
  }
}

namespace {

constexpr char kViews[] = "Views";

void add(ModelOptions* o, std::vector<Option>* out) {
  append_options(
      out, "Model",
      {
          {"--no-nnef-tract-core", kGlobal, &o->no_tract_core, "refuse operators of tract_core"},
          {"--nnef-extended-identifier", kGlobal, &o->extended_identifiers,
           "write names as i\"a.b\""},
          {"--nnef-extern-all-constants", kGlobal, &o->extern_all_constants,
           "write every constant to a file"},
          {"-f,--format", kGlobal, &o->format,
           "nnef; ONNX and compiled files are recognised by content"},
          {"-r,--runtime", kGlobal, &o->runtime, "cpu (optimised), unoptimized or deploy"},
          {"-O,--optimize", kGlobal, &o->optimize, "fuse operators and choose kernels"},
          {"-t,--transform", kGlobal, &o->transforms, "NAME, NAME(field: value) or JSON"},
          {"--set", kGlobal, &o->set, "SYMBOL=EXPRESSION: replace a symbol of the model"},
          {"-i,--input", kGlobal, &o->input_facts, "[name:]dim,dim,...[,dtype]"},
          {"--input-facts-from-bundle", kGlobal, &o->fact_bundles, "take input shapes from an npz"},
          {"--input-bundle", kGlobal, &o->legacy_bundles,
           "take input shapes and values from an npz"},
          {"--input-node", kGlobal, &o->input_nodes, "make the output of this node an input"},
          {"--output-node", kGlobal, &o->output_nodes, "make this the only output; repeatable"},
          {"--override-fact", kGlobal, &o->override_facts, "name:dim,dim,...,dtype of an input"},
          {"--constantize", kGlobal, &o->constantize,
           "make an input a constant: NAME=VALUE,VALUE..., or NAME for its -i value"},
          {"--scenario", kGlobal, &o->scenarios, "add a scenario that assertions can name"},
          {"--declutter-step", kGlobal, &o->declutter_rounds, "stop simplifying after N rounds"},
          {"--declutter-set-step", kGlobal, &o->declutter_set_rounds,
           "stop simplifying after N rounds, after --set"},
          {"--optimize-step", kGlobal, &o->optimize_rounds, "stop optimising after N rounds"},
          {"--extract-decluttered-sub", kGlobal, &o->inner_graph,
           "replace the model by the body of this loop"},
          {"--assert", kGlobal, &o->asserts, "add an assertion on symbols, as 'S >= 16'"},
          {"--pass", kGlobal, &o->pass, "stop after a stage"},
          {"--nnef-cycle", kGlobal, &o->nnef_cycle, "write the model and read it back"},
      });
}

void add(StreamingOptions* o, std::vector<Option>* out) {
  append_options(
      out, "Streaming",
      {
          {"--pulse", kGlobal, &o->pulse,
           "make the model stream: SYMBOL=FRAMES, FRAMES of S, or auto"},
          {"--pulse-backward", kGlobal, &o->pulse_backward,
           "chunk: backward loops run within each pulse"},
          {"--window", kGlobal, &o->window,
           "compute whole windows: SYMBOL=LEFT,STEP,RIGHT frames, as in S=40,8,16"},
          {"--feedback", kGlobal, &o->feedback,
           "OUTPUT=INPUT: feed OUTPUT of each step to INPUT of the next; parts as OUT[0]=IN"},
          {"--frames", kGlobal, &o->frames,
           "NAME=AXIS: axis of frames of an input or output, counted from 0"},
          {"--context", kGlobal, &o->context,
           "INPUT=FRAMES: start each step with the last FRAMES of the previous one"},
          {"--autobatch-sessions", kGlobal, &o->autobatch_sessions,
           "step N streams of one plan together"},
      });
}

void add(LimitOptions* o, std::vector<Option>* out) {
  append_options(
      out, "Files and limits",
      {
          {"--read-file", kGlobal | kOfPlanFiles, &o->read_file,
           "read files into memory instead of mapping weights that stay in them"},
          {"--max-expanded-bytes", kGlobal, Limit{&o->load.max_expanded_bytes},
           "refuse a model of more bytes, unpacked; 0: 4 GiB"},
          {"--max-ratio", kGlobal, Limit{&o->load.max_ratio},
           "refuse an archive of more bytes per packed byte; 0: 2000"},
          {"--max-entries", kGlobal, Limit{&o->load.max_entries},
           "refuse an archive of more files; 0: 100000"},
          {"--max-text-bytes", kGlobal, Limit{&o->load.max_text_bytes},
           "refuse a longer text of a graph; 0: 16 MiB, the maximum"},
          {"--max-nodes", kGlobal, Limit{&o->load.max_nodes},
           "refuse a graph of more nodes; 0: 131072"},
          {"--max-symbols", kGlobal, Limit{&o->load.max_symbols},
           "refuse a graph of more symbols; 0: 64"},
          {"--max-folded-bytes", kGlobal, Limit{&o->load.max_folded_bytes},
           "refuse a graph whose constants take more bytes; 0: 4 GiB"},
          {"--max-file-bytes", kGlobal | kOfPlanFiles | kOfPlanSize, Limit{&o->plan.max_file_bytes},
           "refuse a larger compiled model; 0: 16 GiB"},
          {"--max-session-bytes", kGlobal | kOfPlanFiles | kOfPlans,
           Limit{&o->plan.max_session_bytes},
           "refuse a plan with larger sessions; 0: 4 GiB for a compiled model"},
          {"--max-step-work", kGlobal | kOfPlanFiles | kOfPlans, Limit{&o->plan.max_step_work},
           "refuse a plan whose step does more work; 0: 2^32 for a compiled stream, 2^36 for a "
           "compiled whole run"},
          {"--max-outputs", kGlobal | kOfPlanFiles | kOfPlans, Limit{&o->plan.max_ends},
           "refuse a plan of more inputs or outputs; 0: 65536 for a compiled model"},
          {"--max-buffers", kGlobal | kOfPlanFiles | kOfPlans, Limit{&o->plan.max_buffers},
           "refuse a plan of more buffers; 0: 1048576 for a compiled model"},
      });
}

void add(ValueOptions* o, std::vector<Option>* out) {
  append_options(
      out, "Values",
      {
          {"--input-from-bundle,--input-from-npz", kOnAll | kOnCompile | kOfPlanFiles,
           &o->input_bundles, "take input values from an npz"},
          {"--input-from-nnef", kOnAll | kOnCompile | kOfPlanFiles, &o->input_folders,
           "take input values from a folder of .dat files"},
          {"-R,--allow-random-input", kGlobal | kOnAll | kOnCompile | kOfPlanFiles,
           &o->allow_random, "use random values for missing inputs"},
          {"--random-range", kOnAll | kOfPlanFiles, &o->random_ranges, "name=1.0..10.0"},
          {"--seed", kGlobal | kOnAll | kOnAudit | kOnCompile | kOfPlanFiles, &o->seed,
           "seed of random values"},
          {"--set", kOnAll | kOnAudit, &o->run_set, "SYMBOL=EXPRESSION: bind a symbol for the run"},
          {"--allow-float-casts", kGlobal | kOnAll | kOfPlanFiles, &o->allow_float_casts,
           "accept f32 values for f16 inputs"},
          {"--drop-partial-pulse", kOnAll | kOfPlanFiles, &o->drop_partial_pulse,
           "shorten the input to whole pulses"},
          {"--save-outputs,--save-outputs-npz", kOnRun | kOnStream | kOfPlanFiles, &o->save_outputs,
           "write outputs to an npz"},
          {"--io", kOnCheck | kOnInspect, &o->input_bundles,
           "inputs and reference outputs in an npz"},
      });
}

void add(ProgramOptions* o, std::vector<Option>* out) {
  append_options(
      out, "Program",
      {
          {"-v,--verbose", kGlobal | kOfPlanFiles, &o->verbosity,
           "print more about each stage; repeatable"},
          {"-V,--version", kGlobal, &o->version, "print the version"},
          {"--color", kGlobal | kOfPlanFiles, &o->color, "auto, always or never"},
          {"--threads", kGlobal | kOfPlanFiles, &o->threads,
           "threads that share large steps; 0: one per core"},
          {"--timeout", kGlobal | kOfPlanFiles, &o->timeout_s,
           "give up after N seconds, status 124"},
          {"--readings", kGlobal, &o->readings, "record time and memory in readings.out"},
          {"--readings-heartbeat", kGlobal, &o->readings_heartbeat_ms, "ms between readings"},
          {"--emit-jsonl", kGlobal | kOfPlanFiles, &o->emit_jsonl,
           "bench prints one JSON object per metric"},
          {"--machine-friendly", kGlobal | kOfPlanFiles, &o->machine_friendly,
           "bench prints seconds only"},
      });
}

Option quiet_option(ReportOptions* o) {
  return {"-q,--quiet", kOnAll | kOnInspect | kOnAudit | kOnCompile | kOfPlanFiles, &o->quiet,
          "print no graph and no summary"};
}

Option json_option(ReportOptions* o) {
  constexpr unsigned kWhere = kOnTract | kOnInspect | kOnCheck | kOnAudit | kOnHwBench | kOnCompile;
  return {"--json", kWhere | kOfPlanFiles, &o->json, "print JSON"};
}

void add_svg(ReportOptions* o, std::vector<Option>* out) {
  append_options(
      out, kViews,
      {
          {"--svg", kOnInspect | kOfPlanFiles, &o->svg,
           "draw CPU time over latency, with --pulse auto"},
          {"--svg", kOnDump | kOfPlanFiles, &o->svg, "draw the memory over the steps, with --plan"},
          {"--svg", kOnHwBench, &o->svg, "draw the speed of each kernel relative to its bound"},
      });
}

constexpr TractOption no_effect(const char* names, unsigned where, const char* help,
                                bool takes_value = false) {
  return {names, where, takes_value, TractOption::Kind::kNoEffect, help};
}
constexpr TractOption unsupported_flag(const char* names, unsigned where) {
  return {names, where, false, TractOption::Kind::kNotSupported, ""};
}
constexpr TractOption unsupported_value(const char* names, unsigned where) {
  return {names, where, true, TractOption::Kind::kNotSupported, ""};
}

constexpr TractOption kTractOptions[] = {
    no_effect("--nnef-tract-core", kGlobal, "on by default"),
    no_effect("--nnef-tract-pulse", kGlobal, "on by default"),
    no_effect("--nnef-tract-extra", kGlobal, "on by default"),
    no_effect("--nnef-tract-transformers", kGlobal, "on by default"),
    no_effect("--nnef-tract-onnx", kGlobal, "on by default"),
    no_effect("--nnef-tract-resource", kGlobal, "on by default"),
    no_effect("--opl", kGlobal, "on by default"),
    no_effect("--partial", kGlobal, "nodes without a path to an output are always dropped"),
    no_effect("--label-wires", kGlobal, "wires always have the names of their nodes"),
    no_effect("--skip-order-opt-ram", kOnTract, "nodes always run in dependency order"),
    no_effect("--compress-submodels", kOnDump, "nested models are always written as one"),
    no_effect("--opt-ram-order", kOnTract, "nodes run in the order of the graph"),
    no_effect("--resilient", kOnCompare, "a failing node never stops the others"),
    no_effect("--threading-threshold", kGlobal, "each step decides whether to use threads", true),
    unsupported_flag("--keep-last", kGlobal),
    unsupported_flag("--proto", kGlobal),
    unsupported_flag("--recursive", kGlobal),
    unsupported_flag("--determinize", kGlobal),
    unsupported_flag("--analyse-fail-fast", kGlobal),
    unsupported_value("--onnx-test-data-set", kGlobal),
    unsupported_flag("--onnx-ignore-output-shapes", kGlobal),
    unsupported_flag("--onnx-ignore-output-types", kGlobal),
    unsupported_flag("--onnx-ignore-value-info", kGlobal),
    unsupported_flag("--tflite-cycle", kGlobal),
    unsupported_flag("--metal", kGlobal),
    unsupported_flag("--cuda", kGlobal),
    unsupported_value("--force-metal-backend", kGlobal),
    unsupported_flag("--llm", kGlobal),
    unsupported_flag("--causal-llm-hints", kGlobal),
    unsupported_value("--assert-maximal-mm-quality-cost", kGlobal),
    unsupported_value("--memory-arena", kOnDump),
    unsupported_flag("--metal-gpu-trace", kOnDump | kOnBench),
    unsupported_flag("--cuda-gpu-trace", kOnDump | kOnBench),
    unsupported_value("--tflite", kOnDump),
    unsupported_value("--pp", kOnBench),
    unsupported_value("--tg", kOnBench),
    unsupported_value("--prompt-chunk-size", kOnBench | kOnRun),
    unsupported_value("--assert-llm-rbo", kOnRun),
    unsupported_value("--pbdir", kOnCompare),
};

}  // namespace

void add(CommonOptions* o, std::vector<Option>* out) {
  add(&o->model, out);
  add(&o->streaming, out);
  add(&o->limits, out);
  add(&o->values, out);
  add(&o->program, out);
  append_options(out, kWithoutEffect,
                 {{"--hint", kGlobal, &o->model.hints, "SYMBOL=NUMBER: sizes are not guessed"}});
}

void add(CheckOptions* o, std::vector<Option>* out) {
  append_options(
      out, "Checks",
      {
          {"--assert-output-bundle", kChecks | kOfPlanFiles, &o->output_bundles,
           "compare outputs with an npz, by name"},
          {"--assert-output", kChecks | kOfPlanFiles, &o->assert_outputs, "name:dims,dtype=values"},
          {"--assert-output-fact", kChecks, &o->assert_output_facts,
           "expected dims,dtype of an output"},
          {"--assert-output-count", kChecks, &o->assert_output_count, "expected number of outputs"},
          {"--assert-op-only", kChecks, &o->assert_op_only,
           "fail on operators other than these names or prefix*"},
          {"--assert-cost", kOnDump, &o->assert_cost, "FMA(F32)=2060448,Params(F32)=1024"},
          {"--assert-op-count", kChecks, Pairs{&o->assert_op_counts}, "OPERATOR NUMBER"},
          {"--allow-missing-outputs", kChecks | kOfPlanFiles, &o->allow_missing_outputs,
           "accept outputs without a reference"},
          {"--approx", kChecks | kOnCheck | kOfPlanFiles, &o->approx,
           "exact, close, onnx (for ONNX files), approximate, very, super or ultra"},
          {"--approx-custom", kChecks | kOnCheck | kOfPlanFiles, &o->approx_custom,
           "absolute,relative,outliers"},
          {"--check-f16-overflow", kOnRun, &o->check_f16_overflow,
           "warn about values outside the range of f16"},
          {"--assert-sane-floats", kOnRun, &o->assert_sane_floats, "fail on infinities and NaN"},
      });
}

void add(ReportOptions* o, std::vector<Option>* out) {
  append_options(out, kViews, {quiet_option(o), json_option(o)});
  add_svg(o, out);
}

void add(ViewOptions* o, std::vector<Option>* out) {
  append_options(
      out, kViews,
      {
          quiet_option(o),
          {"--profile", kOnTract | kOfPlanFiles, &o->profile, "time every node"},
          {"--profile-html", kOnDump, &o->profile_html, "write the profile as a page"},
          {"--profile-trace", kOnDump, &o->profile_trace,
           "write a run's times as a trace, for Perfetto"},
          {"--cost", kOnTract, &o->cost, "count multiply-adds and bytes"},
          {"--plan", kOnDump | kOfPlanFiles, &o->plan, "show the plan, step by step"},
          {"--tmp-mem-usage", kOnTract, &o->tmp_mem_usage,
           "print the bytes of live wires at each node"},
          {"--mm", kOnTract, &o->mm, "report on matmuls"},
          {"--info", kOnTract, &o->info, "print details of operators"},
          {"-s,--summary", kOnDump, &o->summary, "print inputs, outputs and operators"},
          json_option(o),
          {"--audit-json", kOnTract, &o->audit_json, "print the graph as JSON"},
          {"--const", kOnTract, &o->consts, "show constants"},
          {"--io-long", kOnTract, &o->io_long, "show all inputs and outputs"},
          {"--io-none", kOnTract, &o->io_none, "show no facts"},
          {"--invariants", kOnTract, &o->invariants, "show which axes operators carry through"},
          {"--outlet-labels", kOnTract, &o->outlet_labels, "show names of outputs, with --io-long"},
          {"--debug-op", kOnTract, &o->debug_op, "show all attributes of operators"},
          {"--natural-order", kOnTract, &o->natural_order, "list nodes by number, without wires"},
          {"--folded", kOnTract, &o->folded, "show no loop bodies"},
          {"--node-id", kOnTract, &o->node_id, "show this node: ID, or ID/ID in a loop body"},
          {"--node-name", kOnTract, &o->node_name, "show nodes whose names begin with this"},
          {"--op-name", kOnTract, &o->op_name, "show nodes whose operators begin with this"},
          {"--successors", kOnTract, &o->successors, "show the nodes that read this one's output"},
          {"--axes", kOnDump, &o->axes, "show axes as letters, with --io-long"},
          {"--axes-names", kOnDump, &o->axes_names, "[node=]axis,axis,...: names for --axes"},
          {"--inner", kOnDump, &o->inner, "go into the body of this loop"},
      });
  add_svg(o, out);
}

void add(LoopOptions* o, std::vector<Option>* out) {
  append_options(
      out, "Timing",
      {
          {"--warmup-loops", kOnDump | kOnBench | kOfPlanFiles, &o->warmup_loops,
           "runs before timing"},
          {"--warmup-time", kOnDump | kOnBench | kOfPlanFiles, &o->warmup_ms, "ms before timing"},
          {"--max-loops,--max-iters", kOnDump | kOnBench | kOfPlanFiles, &o->max_loops,
           "at most N runs"},
          {"--max-time", kOnDump | kOnBench | kOfPlanFiles, &o->max_ms, "at most N ms"},
      });
}

void add(LoadOptions* o, std::vector<Option>* out) {
  append_options(out, "Many streams",
                 {
                     {"--streams", kOnRun | kOnDump | kOnBench, &o->streams, "N streams at a time"},
                     {"--turn-period", kOnDump | kOnBench, &o->turn_period_ms,
                      "ms of sound per step: step streams in real time"},
                     {"--deadline", kOnDump | kOnBench, &o->deadline_ms, "ms until a step is late"},
                     {"--deadline-quantile", kOnDump | kOnBench, &o->deadline_quantile,
                      "share of steps that must be in time"},
                     {"--capacity", kOnDump | kOnBench, &o->capacity,
                      "search for the largest number of streams in time"},
                     {"--session-duration", kOnDump | kOnBench, &o->session_ms,
                      "ms after which a new stream replaces a stream"},
                 });
}

void add(ProofOptions* o, std::vector<Option>* out) {
  append_options(out, "Proof",
                 {
                     {"--seconds", kOnAudit | kOnDump | kOnCompile, &o->seconds,
                      "time for the audit of a pulsed model"},
                     {"--no-audit", kOnDump | kOnCompile, &o->no_audit,
                      "write a pulsed model without an audit"},
                 });
}

std::span<const TractOption> tract_options() { return kTractOptions; }

std::string invalid_value(const std::string& value, const char* option, const std::string& values) {
  return escaped_format("invalid value '{}' for '{}' [possible values: {}]", value, option, values);
}

// The stages after which `--pass` may stop. Some only exist for models in other formats.
constexpr std::array<const char*, 17> kStages{"load",
                                              "analyse",
                                              "incorporate",
                                              "type",
                                              "declutter",
                                              "pulse",
                                              "pulse-to-type",
                                              "pulse-declutter",
                                              "set",
                                              "set-declutter",
                                              "nnef-cycle",
                                              "nnef-cycle-declutter",
                                              "tflite-cycle-predump",
                                              "tflite-cycle",
                                              "tflite-cycle-declutter",
                                              "before-optimize",
                                              "optimize"};

std::optional<std::string> wrong_stage(const ModelOptions& model, const char* option,
                                       const std::string& stage) {
  if (stage.empty()) return std::nullopt;
  if (std::find(kStages.begin(), kStages.end(), stage) != kStages.end()) return std::nullopt;
  for (const std::string& transform : model.transforms) {
    if (stage == transform || transform.starts_with(stage + "(") || stage.ends_with("-declutter")) {
      return std::nullopt;
    }
  }
  std::string names;
  for (const char* name : kStages) names += escaped_format("{}{}", names.empty() ? "" : ", ", name);
  return invalid_value(stage, option, names);
}

std::optional<std::string> wrong_value(const CheckOptions& options) {
  if (options.approx.empty() || tolerance_named(options.approx)) return std::nullopt;
  return invalid_value(options.approx, "--approx", tolerance_names());
}

std::optional<std::string> wrong_value(const LoopOptions& options) {
  const bool wrong = options.warmup_loops < 0 || options.warmup_ms < 0 || options.max_loops < 1 ||
                     options.max_ms < 0;
  if (wrong) return kNegative;
  return std::nullopt;
}

std::optional<std::string> wrong_value(const LoadOptions& options) {
  for (const double ms : {options.turn_period_ms, options.deadline_ms, options.session_ms}) {
    if (!(ms >= 0 && ms < 1e12)) return "times are numbers of milliseconds, 0 or more";
  }
  if (options.streams > 4096) return "--streams: at most 4096, a thread each";
  if (options.streams < 0) return kNegative;
  return std::nullopt;
}

std::optional<std::string> wrong_value(const ProofOptions& options) {
  if (options.seconds >= 0 && options.seconds < 1e9) return std::nullopt;
  return "--seconds is a number of seconds, 0 or more";
}

}  // namespace rill::cli
