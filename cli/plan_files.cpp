#include "cli/plan_files.h"

#include <algorithm>

#include "cli/dump_plan.h"
#include "cli/exec.h"
#include "cli/option_table.h"
#include "cli/plan_report.h"
#include "cli/reference.h"
#include "cli/say_impl.h"
#include "core/exec/extents.h"
#include "core/run/plan_format.h"
#include "nnef_loader/system/files.h"
#include "ops/op_table.h"
#include "ops/step_table.h"
#include "plan_file/check.h"

namespace rill::cli {

Result<plan_file::MappedFile> plan_file_bytes(const CommonOptions& common) {
  const plan_file::Limits& limits = common.limits.plan;
  RILL_ASSIGN(plan_file::MappedFile file,
              common.limits.read_file ? plan_file::read_file(common.file, limits.file_bytes())
                                      : plan_file::map_file(common.file));
  RILL_TRY(
      plan_file::check_size(static_cast<int64_t>(file.bytes.size()), limits).at(common.file, 0));
  return file;
}

Result<plan_file::OpenedPlan> open_plan_file(const CommonOptions& common, bool whole) {
  RILL_ASSIGN(const plan_file::MappedFile file, plan_file_bytes(common));
  const plan_file::Known known = plan_file::known_here(ops::step_table(), ops::op_table());
  if (whole) RILL_TRY(plan_file::verify(file.bytes).at(common.file, 0));
  auto opened = plan_file::open(file.bytes, file.owner, known, common.limits.plan);
  if (!opened.ok()) return opened.take_status().at(common.file, 0);
  return opened;
}

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
    StreamingOutput output;
    output.axis = io.stream.axis;
    output.delay = io.stream.delay;
    if (io.stream.length.valid()) {
      output.length = dim_of(io.stream.length, plan.stream_symbol);
    }
    streaming.outputs.push_back(output);
  }
  if (plan.stream_pulse > 0) out.streaming = std::move(streaming);
  return out;
}

Status run_plan(const CommonOptions& common, const CheckOptions& checks, const PlanRun& how,
                const Log& log, const plan_file::OpenedPlan& opened) {
  const Plan& plan = *opened.plan;
  const Graph graph = faces_of(plan);
  RILL_ASSIGN(const InputSource source, InputSource::make(common, log));
  RILL_ASSIGN(const Reference reference, Reference::read(common, checks));
  RILL_ASSIGN(const auto session, Session::make(opened.plan));
  RILL_TRY(use_threads(common.program.threads, session.get()));
  std::vector<std::vector<Tensor>> turns;
  Status found;
  if (plan.stream_pulse > 0) {
    RILL_ASSIGN(InputValues inputs, source.resolve(graph, 0));
    if (common.values.drop_partial_pulse) RILL_TRY(drop_partial_pulses(plan, &inputs.values));
    StreamOptions options;
    options.open_end = common.values.drop_partial_pulse;
    options.nan_filler = how.nan_filler;
    const int64_t frames = stream_frames(plan, inputs.values);
    const bool in_parts = !how.states.load.empty() || !how.states.save.empty();
    RILL_ASSIGN(
        const StreamResult result,
        in_parts ? stream_on(how.states, common.values.seed, session.get(), inputs.values, frames)
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
  if (!common.values.save_outputs.empty()) {
    RILL_TRY(write_turns(common.values.save_outputs, graph.output_names, turns, log.tract()));
  }
  for (size_t i = 0; how.dump_outputs && i < graph.output_names.size(); ++i) {
    for (const std::vector<Tensor>& turn : turns) {
      say("output {}: {}\n", graph.output_names[i], tensor_text(turn[i]));
    }
  }
  return found;
}

namespace {

/// Print the time of each node over some runs.
Status print_profile(const LoopOptions& loop, const Plan& plan, Session* session) {
  std::vector<int64_t> sums(plan.nodes.size(), 0);
  const int64_t runs = std::min<int64_t>(loop.max_loops, 1000);
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
        share * static_cast<double>(sums[i]), plan.nodes[i].name.view(), plan.nodes[i].op.view());
  }
  say("{:10.3f} us in all, {} runs\n", static_cast<double>(all) / static_cast<double>(runs) * 1e-3,
      runs);
  return {};
}

}  // namespace

Status dump_plan_file(const CommonOptions& common, const ViewOptions& view, const LoopOptions& loop,
                      const plan_file::OpenedPlan& opened) {
  const Plan& plan = *opened.plan;
  if (view.profiles()) {
    RILL_ASSIGN(const auto session, Session::make(opened.plan));
    RILL_TRY(use_threads(common.program.threads, session.get()));
    return print_profile(loop, plan, session.get());
  }
  if (view.json) {
    return fail(Code::kArg, "--json has no effect on the dump of a compiled model")
        .hint("Use inspect --json for its inputs, outputs, memory and properties");
  }
  if (!view.plan) {
    if (!view.quiet) print_plan(opened);
    return {};
  }
  if (plan.uses.size() != plan.steps.size()) {
    return fail(Code::kArg, common.file, " has no notes of what steps read and write")
        .hint("Compile the model without --no-notes");
  }
  if (!view.quiet) put(stdout, {plan_text(plan)});
  if (view.svg.empty()) return {};
  const std::string picture = arena_picture(plan, common.file);
  return nnef::write_file(view.svg, std::as_bytes(std::span(picture)));
}

Status refuse_options_of_graphs(const CommonOptions& common) {
  for (const GivenOption& option : common.given) {
    if (option.where & kOfPlanFiles) continue;
    return fail(Code::kArg, option.name, " has no effect on ", common.file,
                ", which is a compiled model")
        .hint("Leave it out, or use the model that it was compiled from");
  }
  return {};
}

bool names_plan_file(const std::string& file) {
  std::byte head[sizeof(plan_file::Header)];
  return plan_file::is_plan_file({head, system::read_head(file, head)});
}

}  // namespace rill::cli
