#include "cli/option_table.h"

#include <initializer_list>

namespace rill::cli {
namespace {

void append(std::vector<Option>* out, const char* group, std::initializer_list<Option> options) {
  for (Option option : options) {
    option.group = group;
    out->push_back(option);
  }
}

void add(ModelOptions* o, std::vector<Option>* out) {
  append(
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
          {"--hint", kGlobal, &o->hints, "SYMBOL=NUMBER: accepted for tract, ignored"},
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
  append(out, "Streaming",
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
  append(out, "Compiled models",
         {
             {"--read-file", kGlobal, &o->read_file,
              "read files into memory instead of mapping weights that stay in them"},
             {"--max-session-bytes", kGlobal, &o->max_session_bytes,
              "refuse a compiled model with larger sessions; 0: 4 GiB"},
             {"--max-step-work", kGlobal, &o->max_step_work,
              "refuse a compiled model whose step does more; 0: 2^32 of a stream, 2^36 of a whole "
              "run"},
         });
}

void add(ValueOptions* o, std::vector<Option>* out) {
  append(
      out, "Values",
      {
          {"--input-from-bundle,--input-from-npz", kOnAll | kOnCompile, &o->input_bundles,
           "take input values from an npz"},
          {"--input-from-nnef", kOnAll | kOnCompile, &o->input_folders,
           "take input values from a folder of .dat files"},
          {"-R,--allow-random-input", kGlobal | kOnAll | kOnCompile, &o->allow_random,
           "use random values for missing inputs"},
          {"--random-range", kOnAll, &o->random_ranges, "name=1.0..10.0"},
          {"--seed", kGlobal | kOnAll | kOnAudit | kOnCompile, &o->seed, "seed of random values"},
          {"--set", kOnAll | kOnAudit, &o->run_set, "SYMBOL=EXPRESSION: bind a symbol for the run"},
          {"--allow-float-casts", kGlobal | kOnAll, &o->allow_float_casts,
           "accept f32 values for f16 inputs"},
          {"--drop-partial-pulse", kOnAll, &o->drop_partial_pulse,
           "shorten the input to whole pulses"},
          {"--save-outputs,--save-outputs-npz", kOnRun | kOnStream, &o->save_outputs,
           "write outputs to an npz"},
          {"--io", kOnCheck | kOnInspect, &o->input_bundles,
           "inputs and reference outputs in an npz"},
      });
}

void add(CheckOptions* o, std::vector<Option>* out) {
  append(
      out, "Checks",
      {
          {"--assert-output-bundle", kChecks, &o->output_bundles,
           "compare outputs with an npz, by name"},
          {"--assert-output", kChecks, &o->assert_outputs, "name:dims,dtype=values"},
          {"--assert-output-fact", kChecks, &o->assert_output_facts,
           "expected dims,dtype of an output"},
          {"--assert-output-count", kChecks, &o->assert_output_count, "expected number of outputs"},
          {"--assert-op-only", kChecks, &o->assert_op_only,
           "fail on operators other than these names or prefix*"},
          {"--assert-cost", kOnDump, &o->assert_cost, "FMA(F32)=2060448,Params(F32)=1024"},
          {"--assert-op-count", kChecks, Pairs{&o->assert_op_counts}, "OPERATOR NUMBER"},
          {"--allow-missing-outputs", kChecks, &o->allow_missing_outputs,
           "accept outputs without a reference"},
          {"--approx", kChecks | kOnCheck, &o->approx,
           "exact, close, onnx (for ONNX files), approximate, very, super or ultra"},
          {"--approx-custom", kChecks | kOnCheck, &o->approx_custom, "absolute,relative,outliers"},
          {"--check-f16-overflow", kOnRun, &o->check_f16_overflow,
           "warn about values outside the range of f16"},
          {"--assert-sane-floats", kOnRun, &o->assert_sane_floats, "fail on infinities and NaN"},
      });
}

void add(RunOptions* o, std::vector<Option>* out) {
  append(out, "Run",
         {
             {"--dump", kOnRun, &o->dump_outputs, "print outputs"},
             {"--steps", kOnRun, &o->steps, "print inputs and outputs of every node to stderr"},
             {"--save-outputs-nnef", kOnRun, &o->save_outputs_nnef,
              "write outputs as .dat to a folder"},
             {"--stream-steps", kOnRun, &o->stream_steps,
              "number of steps of each stream; 0: all of the input"},
             {"--per-turn-diff", kOnRun, &o->per_turn_diff,
              "print the largest difference of each step"},
             {"--assert-occupancy", kOnRun, &o->assert_occupancy,
              "fail below this number of streams per step"},
             {"--save-steps", kOnRun, &o->save_steps, "write every value to an npz"},
         });
}

void add(SessionOptions* o, std::vector<Option>* out) {
  append(
      out, "Stream",
      {
          {"--steps", kOnStream, &o->step_frames, "number of input frames per step"},
          {"--load-state", kOnStream, &o->load_state, "continue from the state in this file"},
          {"--save-state", kOnStream, &o->save_state,
           "write the state to this file instead of ending the stream"},
          {"--filler", kOnStream, &o->filler, "values after the end of the stream: zeros or nan"},
      });
}

void add(WriteOptions* o, std::vector<Option>* out) {
  append(out, "Files",
         {
             {"--nnef", kOnDump, &o->nnef, "write a .nnef.tgz"},
             {"--nnef-tar", kOnDump, &o->nnef_tar, "write a .nnef.tar"},
             {"--nnef-dir", kOnDump, &o->nnef_dir, "write a folder"},
             {"--nnef-graph", kOnDump, &o->nnef_graph, "write graph.nnef alone; - is stdout"},
             {"--nnef-override-output-name", kOnDump, &o->output_name, "name of the first output"},
             {"--nnef-deterministic", kOnDump, &o->nnef_deterministic,
              "write the same bytes on every machine"},
         });
}

void add(ViewOptions* o, std::vector<Option>* out) {
  append(
      out, "Views",
      {
          {"-q,--quiet", kOnAll | kOnInspect | kOnAudit | kOnCompile, &o->quiet,
           "print no graph and no summary"},
          {"--profile", kOnTract, &o->profile, "time every node"},
          {"--profile-html", kOnDump, &o->profile_html, "write the profile as a page"},
          {"--profile-trace", kOnDump, &o->profile_trace,
           "write a run's times as a trace, for Perfetto"},
          {"--cost", kOnTract, &o->cost, "count multiply-adds and bytes"},
          {"--plan", kOnDump, &o->plan, "show the plan, step by step"},
          {"--tmp-mem-usage", kOnTract, &o->tmp_mem_usage,
           "print the bytes of live wires at each node"},
          {"--mm", kOnTract, &o->mm, "report on matrix products"},
          {"--info", kOnTract, &o->info, "print details of operators"},
          {"-s,--summary", kOnDump, &o->summary, "print inputs, outputs and operators"},
          {"--json", kOnTract | kOnInspect | kOnCheck | kOnAudit | kOnHwBench | kOnCompile,
           &o->json, "print JSON"},
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
          {"--node-name", kOnTract, &o->node_name, "show nodes whose names begin so"},
          {"--op-name", kOnTract, &o->op_name, "show nodes whose operators begin so"},
          {"--successors", kOnTract, &o->successors, "show the nodes that read this one's output"},
          {"--axes", kOnDump, &o->axes, "show axes under letters, with --io-long"},
          {"--axes-names", kOnDump, &o->axes_names, "[node=]axis,axis,...: names for --axes"},
          {"--inner", kOnDump, &o->inner, "go into the body of this loop"},
          {"--svg", kOnInspect, &o->svg, "draw CPU time over latency, with --pulse auto"},
          {"--svg", kOnDump, &o->svg, "draw the memory over the steps, with --plan"},
          {"--svg", kOnHwBench, &o->svg, "draw the speed of each kernel relative to its bound"},
      });
}

void add(LoopOptions* o, std::vector<Option>* out) {
  append(out, "Timing",
         {
             {"--warmup-loops", kOnDump | kOnBench, &o->warmup_loops, "runs before timing"},
             {"--warmup-time", kOnDump | kOnBench, &o->warmup_ms, "ms before timing"},
             {"--max-loops,--max-iters", kOnDump | kOnBench, &o->max_loops, "at most N runs"},
             {"--max-time", kOnDump | kOnBench, &o->max_ms, "at most N ms"},
         });
}

void add(LoadOptions* o, std::vector<Option>* out) {
  append(out, "Many streams",
         {
             {"--streams", kOnRun | kOnDump | kOnBench, &o->streams, "N streams at a time"},
             {"--turn-period", kOnDump | kOnBench, &o->turn_period_ms,
              "ms of sound per step: streams keep to the clock"},
             {"--deadline", kOnDump | kOnBench, &o->deadline_ms, "ms until a step is late"},
             {"--deadline-quantile", kOnDump | kOnBench, &o->deadline_quantile,
              "share of steps that must be in time"},
             {"--capacity", kOnDump | kOnBench, &o->capacity,
              "search for the largest number of streams in time"},
             {"--session-duration", kOnDump | kOnBench, &o->session_ms,
              "ms after which a new stream replaces a stream"},
         });
}

void add(CompareOptions* o, std::vector<Option>* out) {
  append(out, "Reference",
         {
             {"--stream", kOnCompare, &o->stream, "compare streams with the whole run"},
             {"--twice", kOnCompare, &o->twice, "compare two runs"},
             {"--stage", kOnCompare, &o->stage, "compare with the graph at a stage"},
             {"--npz", kOnCompare, &o->npz, "compare with values of nodes in an npz"},
             {"--cumulative", kOnCompare, &o->cumulative, "let differences accumulate over nodes"},
         });
}

void add(InspectOptions* o, std::vector<Option>* out) {
  append(out, "Latency",
         {
             {"--frame-ms", kOnInspect, &o->frame_ms, "duration of an input frame in milliseconds"},
             {"--max-delay", kOnInspect, &o->max_delay,
              "fail above this delay, in input frames or as 60ms"},
         });
}

void add(ProofOptions* o, std::vector<Option>* out) {
  append(out, "Proof",
         {
             {"--pulses", kOnCheck, &o->pulses, "pulses to check, as in 1,8,16"},
             {"--seconds", kOnAudit | kOnDump | kOnCompile, &o->seconds,
              "time for the audit of a pulsed model"},
             {"--no-audit", kOnDump | kOnCompile, &o->no_audit,
              "write a pulsed model without an audit"},
         });
}

void add(CompileOptions* o, std::vector<Option>* out) {
  append(
      out, "Compile",
      {
          {"-o,--output", kOnCompile, &o->output, "write the compiled model to this file"},
          {"--target", kOnCompile, &o->targets, "CPUs, as in avx2,avx512; default: this CPU"},
          {"--embed", kOnCompile, &o->embed, "write the file as a C array as well"},
          {"--table", kOnCompile, &o->table, "write the table of kinds of steps in C as well"},
          {"--emit-c", kOnCompile, &o->emit,
           "write the plan as C that needs no library, with a header beside it"},
          {"--with", kOnCompile, &o->table_with,
           "add the kinds of steps of this compiled model to --table; repeatable"},
          {"--weights", kOnCompile, &o->weights,
           "quantise weights to f16, q8 or q4, which changes outputs"},
          {"--max-difference", kOnCompile, &o->max_difference,
           "keep layers in f32 until no output differs by more"},
          {"--keep-weights", kOnCompile, &o->keep_weights, "keep the weights of this node in f32"},
          {"--no-notes", kOnCompile, &o->no_notes,
           "omit names and costs that only profiles and dumps show"},
      });
}

void add(HwBenchOptions* o, std::vector<Option>* out) {
  append(out, "Kernels",
         {
             {"--kernels", kOnHwBench, &o->kernels,
              "time only kernels whose family or shape contains this text"},
             {"--check-choice", kOnHwBench, &o->check_choice,
              "fail if the kernel of plans is over 5 % slower than another"},
         });
}

void add(ProgramOptions* o, std::vector<Option>* out) {
  append(out, "Program",
         {
             {"-v,--verbose", kGlobal, &o->verbosity, "print more about each stage; repeatable"},
             {"-V,--version", kGlobal, &o->version, "print the version"},
             {"--color", kGlobal, &o->color, "auto, always or never"},
             {"--threads", kGlobal, &o->threads, "threads that share large steps; 0: one per core"},
             {"--timeout", kGlobal, &o->timeout_s, "give up after N seconds, status 124"},
             {"--readings", kGlobal, &o->readings, "record time and memory in readings.out"},
             {"--readings-heartbeat", kGlobal, &o->readings_heartbeat_ms, "ms between readings"},
             {"--emit-jsonl", kGlobal, &o->emit_jsonl, "bench prints one JSON object per metric"},
             {"--machine-friendly", kGlobal, &o->machine_friendly, "bench prints seconds only"},
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
    no_effect("--skip-order-opt-ram", kOnTract, "nodes always run in the order of need"),
    no_effect("--compress-submodels", kOnDump, "nested models are always written as one"),
    no_effect("--opt-ram-order", kOnTract, "nodes run in the order of the graph"),
    no_effect("--resilient", kOnCompare, "a failing node never stops the others"),
    no_effect("--threading-threshold", kGlobal, "a step knows whether it is worth a thread", true),
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

std::vector<Option> options_into(Args* args) {
  std::vector<Option> out;
  add(&args->model, &out);
  add(&args->streaming, &out);
  add(&args->limits, &out);
  add(&args->values, &out);
  add(&args->checks, &out);
  add(&args->run, &out);
  add(&args->stream, &out);
  add(&args->write, &out);
  add(&args->view, &out);
  add(&args->loop, &out);
  add(&args->load, &out);
  add(&args->compare, &out);
  add(&args->inspect, &out);
  add(&args->proof, &out);
  add(&args->compile, &out);
  add(&args->hwbench, &out);
  add(&args->program, &out);
  return out;
}

std::span<const TractOption> tract_options() { return kTractOptions; }

}  // namespace rill::cli
