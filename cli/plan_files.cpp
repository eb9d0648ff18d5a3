#include <algorithm>
#include <chrono>
#include <iterator>

#include "cli/bench.h"
#include "cli/check.h"
#include "cli/commands.h"
#include "cli/dump_plan.h"
#include "cli/exec.h"
#include "cli/plan_report.h"
#include "cli/plan_sources.h"
#include "cli/say_impl.h"
#include "cli/stream_states.h"
#include "core/exec/extents.h"
#include "core/run/plan_format.h"
#include "kernels/target.h"
#include "nnef_loader/system/files.h"
#include "ops/op_table.h"
#include "ops/step_table.h"
#include "plan_file/map.h"
#include "plan_file/read.h"

namespace rill::cli {
namespace {

Result<plan_file::MappedFile> file_of(const Args& args) {
  return args.limits.read_file ? plan_file::read_file(args.file, plan_file::Limits().file_bytes())
                               : plan_file::map_file(args.file);
}

Result<plan_file::OpenedPlan> open_plan(const Args& args, bool whole) {
  const std::string& path = args.file;
  RILL_ASSIGN(const plan_file::MappedFile file, file_of(args));
  plan_file::Known known;
  known.steps = ops::step_table();
  known.modules = ops::op_table();
  known.rank = [](std::string_view target) {
    return kernels::target_rank(std::string(target).c_str());
  };
  known.cpu = kernels::target_name(kernels::running_target());
  if (whole) RILL_TRY(plan_file::verify(file.bytes).at(path, 0));
  plan_file::Limits limits;
  limits.max_session_bytes = args.limits.max_session_bytes;
  limits.max_step_work = args.limits.max_step_work;
  auto opened = plan_file::open(file.bytes, file.owner, known, limits);
  if (!opened.ok()) return opened.take_status().at(path, 0);
  return opened;
}

/// Return a graph with the inputs and outputs of a plan and nothing between them, which suffices to
/// find and compare values.
Graph faces_of(const Plan& plan) {
  Graph out;
  Streaming streaming;
  streaming.named = plan.stream_symbol;
  streaming.pulse = plan.stream_pulse;
  for (const PlanIo& io : plan.inputs) {
    Fact fact;
    fact.dtype = io.dtype;
    fact.q = io.q;
    fact.shape.assign(io.shape.begin(), io.shape.end());
    out.add_source(io.name, std::move(fact));
    streaming.input_axes.push_back(io.stream.axis);
  }
  for (const PlanIo& io : plan.outputs) {
    Fact fact;
    fact.dtype = io.dtype;
    fact.q = io.q;
    fact.shape.assign(io.shape.begin(), io.shape.end());
    const OutletId outlet = out.add_source(io.name, std::move(fact));
    out.inputs.pop_back();
    out.add_output(io.name, outlet);
    StreamingOutput told;
    told.axis = io.stream.axis;
    told.delay = io.stream.delay;
    if (io.stream.length.valid()) {
      told.length = dim_of(io.stream.length, plan.stream_symbol);
    }
    streaming.outputs.push_back(told);
  }
  if (plan.stream_pulse > 0) out.streaming = std::move(streaming);
  return out;
}

/// The time of some runs by node.
Status print_profile(const Args& args, const Plan& plan, Session* session) {
  std::vector<int64_t> sums(plan.nodes.size(), 0);
  const int64_t runs = std::min<int64_t>(args.loop.max_loops, 1000);
  int64_t all = 0;
  for (int64_t i = 0; i < runs; ++i) {
    session->step_timed([&](int node, int64_t ns) {
      all += ns;
      if (node >= 0) sums[static_cast<size_t>(node)] += ns;
    });
  }
  const double share = 100.0 / static_cast<double>(std::max<int64_t>(1, all));
  for (size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] == 0) continue;
    say("{:10.3f} us {:5.1f} % {} ({})\n",
        static_cast<double>(sums[i]) / static_cast<double>(runs) * 1e-3,
        share * static_cast<double>(sums[i]), plan.nodes[i].name.view(),
        plan.nodes[i].op.view());
  }
  say("{:10.3f} us in all, {} runs\n",
      static_cast<double>(all) / static_cast<double>(runs) * 1e-3, runs);
  return {};
}

Status dump(const Args& args, const plan_file::OpenedPlan& opened) {
  const Plan& plan = *opened.plan;
  if (args.view.profile) {
    RILL_ASSIGN(const auto session, Session::make(opened.plan));
    RILL_TRY(use_threads(args.program.threads, session.get()));
    return print_profile(args, plan, session.get());
  }
  if (args.view.json) {
    return fail(Code::kArg, "--json has no effect on the dump of a compiled model")
        .hint("Use inspect --json for its inputs, outputs, memory and properties");
  }
  if (!args.view.plan) {
    if (!args.view.quiet) print_plan(opened);
    return {};
  }
  if (plan.uses.size() != plan.steps.size()) {
    return fail(Code::kArg, args.file, " has no notes of what steps read and write")
        .hint("Compile the model without --no-notes");
  }
  if (!args.view.quiet) put(stdout, {plan_text(plan)});
  if (args.view.svg.empty()) return {};
  const std::string picture = arena_picture(plan, args.file);
  return nnef::write_file(args.view.svg, std::as_bytes(std::span(picture)));
}

Status inspect(const Args& args, const plan_file::OpenedPlan& opened) {
  if (args.view.json) {
    put(stdout, {plan_json(args, opened)});
  } else if (!args.view.quiet) {
    print_plan(opened);
  }
  return {};
}

/// The graph of a plan's inputs and outputs, under the name that bundles use, and the plan's
/// session.
Status run(const Args& args, const Log& log, const plan_file::OpenedPlan& opened) {
  const Plan& plan = *opened.plan;
  const Graph graph = faces_of(plan);
  RILL_ASSIGN(const InputSource source, InputSource::make(args, log));
  RILL_ASSIGN(const Reference reference, Reference::read(args));
  RILL_ASSIGN(const auto session, Session::make(opened.plan));
  RILL_TRY(use_threads(args.program.threads, session.get()));
  std::vector<std::vector<Tensor>> turns;
  Status found;
  if (plan.stream_pulse > 0) {
    RILL_ASSIGN(InputValues inputs, source.resolve(graph, 0));
    if (args.values.drop_partial_pulse) RILL_TRY(drop_partial_pulses(plan, &inputs.values));
    StreamOptions options;
    options.open_end = args.values.drop_partial_pulse;
    options.nan_filler = args.stream.filler == "nan";
    const int64_t frames = stream_frames(plan, inputs.values);
    const bool in_parts = !args.stream.load_state.empty() || !args.stream.save_state.empty();
    RILL_ASSIGN(const StreamResult result,
                in_parts ? stream_on(args, session.get(), inputs.values, frames)
                         : run_stream(session.get(), inputs.values, frames, options));
    turns.push_back(result.outputs);
    found = check_stream(reference, graph, plan, result, options.open_end, log);
  } else {
    for (size_t turn = 0; turn < source.turns(graph); ++turn) {
      RILL_ASSIGN(const InputValues inputs, source.resolve(graph, turn));
      RILL_ASSIGN(std::vector<Tensor> outputs, run_once(session.get(), inputs.values));
      turns.push_back(std::move(outputs));
      if (!reference.any()) continue;
      Status own = reference.check(graph, turns.back(), turn, log);
      if (found.ok()) found = std::move(own);
    }
  }
  // Save outputs even after a failed comparison.
  if (!args.values.save_outputs.empty()) {
    RILL_TRY(write_turns(args.values.save_outputs, graph.output_names, turns, log.tract()));
  }
  for (size_t i = 0; args.run.dump_outputs && i < graph.output_names.size(); ++i) {
    for (const std::vector<Tensor>& turn : turns) {
      say("output {}: {}\n", graph.output_names[i], tensor_text(turn[i]));
    }
  }
  return found;
}

/// Time steps of one session; opening it took from `before` on.
Status bench(const Args& args, const Log& log, const plan_file::OpenedPlan& opened,
             std::chrono::steady_clock::time_point before) {
  RILL_ASSIGN(const auto session, Session::make(opened.plan));
  const std::chrono::duration<double> opening = std::chrono::steady_clock::now() - before;
  RILL_TRY(use_threads(args.program.threads, session.get()));
  RILL_ASSIGN(const InputSource source, InputSource::make(args, log));
  RILL_ASSIGN(InputValues inputs, source.resolve(faces_of(*opened.plan), 0, 1));
  return bench_session(args, session.get(), &inputs.values, {"open", opening.count()});
}

/// Options that apply to a plan without a graph: how it runs, its inputs, the outputs that it is
/// compared with, and reports.
constexpr std::string_view kHonoured[] = {
    "--verbose", "--color", "--timeout", "--read-file", "--max-session-bytes", "--max-step-work",
    "--threads", "--machine-friendly", "--quiet",
    "--input-from-bundle", "--input-from-nnef", "--allow-random-input", "--random-range", "--seed",
    "--allow-float-casts", "--drop-partial-pulse", "--filler", "--assert-output-bundle",
    "--assert-output", "--allow-missing-outputs", "--approx", "--approx-custom", "--dump",
    "--save-outputs", "--load-state", "--save-state", "--profile", "--plan", "--svg",
    "--json", "--max-loops", "--max-time", "--warmup-loops", "--warmup-time", "--emit-jsonl",
    "--embed", "--table", "--with"};

/// Errors: kArg for an option without effect: a plan has these decisions built in.
Status refuse_unheard(const Args& args) {
  for (const std::string& option : args.given) {
    if (std::find(std::begin(kHonoured), std::end(kHonoured), option) != std::end(kHonoured)) {
      continue;
    }
    return fail(Code::kArg, option, " has no effect on ", args.file, ", which is a compiled model")
        .hint("Leave it out, or use the model that it was compiled from");
  }
  return {};
}

/// Write the sources that programs with an existing compiled model need.
Status sources(const Args& args) {
  RILL_TRY(refuse_unheard(args));
  if (args.compile.embed.empty() && args.compile.table.empty()) {
    return fail(Code::kArg, args.file, " is compiled already")
        .hint("Add --table FILE.c or --embed FILE.c, or name the model that it was compiled from");
  }
  RILL_ASSIGN(const plan_file::MappedFile file, file_of(args));
  RILL_TRY(plan_file::verify(file.bytes).at(args.file, 0));
  return write_plan_sources(args, file.bytes, {});
}

}  // namespace

bool names_plan_file(const Args& args) {
  std::byte head[sizeof(plan_file::Header)];
  return plan_file::is_plan_file({head, system::read_head(args.file, head)});
}

Status refuse_limits_of_plans(const Args& args) {
  for (const std::string& option : args.given) {
    if (option != "--max-session-bytes" && option != "--max-step-work") continue;
    return fail(Code::kArg, option, " is for compiled models, but ", args.file, " is not compiled")
        .hint("Leave it out, or compile the model");
  }
  return {};
}

Status plan_file_command(const Args& args, const Log& log) {
  if (args.command == Command::kCompile) return sources(args);
  constexpr Command kUseful[] = {Command::kRun, Command::kStream, Command::kBench,
                                 Command::kInspect, Command::kDump};
  if (std::find(std::begin(kUseful), std::end(kUseful), args.command) == std::end(kUseful)) {
    return fail(Code::kArg, args.file, " is a compiled model: there is no graph to ",
                args.command_name)
        .hint("Use run, stream, bench, inspect or dump, or the model that it was compiled from");
  }
  RILL_TRY(refuse_unheard(args));
  const auto before = std::chrono::steady_clock::now();
  const bool dumps = args.command == Command::kDump;
  RILL_ASSIGN(const plan_file::OpenedPlan opened, open_plan(args, dumps));
  if (dumps) return dump(args, opened);
  if (args.command == Command::kInspect) return inspect(args, opened);
  if (args.command == Command::kBench) return bench(args, log, opened, before);
  if (args.command == Command::kStream && opened.plan->stream_pulse == 0) {
    return fail(Code::kPulse, args.file, " does not stream")
        .hint("Compile the model with --pulse, or use run");
  }
  return run(args, log, opened);
}

}  // namespace rill::cli
