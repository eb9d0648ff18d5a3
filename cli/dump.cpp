#include "cli/dump.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "cli/audit.h"
#include "cli/commands.h"
#include "cli/dump_plan.h"
#include "cli/dump_text.h"
#include "cli/exec.h"
#include "cli/json.h"
#include "cli/op_counts.h"
#include "cli/plan_files.h"
#include "cli/profile_page.h"
#include "cli/reference.h"
#include "cli/reports.h"
#include "cli/run.h"
#include "cli/say_impl.h"
#include "cli/system/process.h"
#include "core/optim/optim.h"
#include "nnef_loader/archive/archive.h"

namespace rill::cli {
namespace {

bool use_colors(const std::string& color) {
  if (color == "always") return true;
  if (color == "never" || std::getenv("NO_COLOR") != nullptr) return false;
  return is_terminal(stdout);
}

/// Add the output file to an error.
Status written(Status status, std::string_view what) {
  if (!status.ok()) {
    status.error().message = str_cat("Writing model to ", what, ": ", status.error().message);
  }
  return status;
}

bool writes_archives(const WriteOptions& write) {
  return !write.nnef.empty() || !write.nnef_tar.empty() || !write.nnef_dir.empty();
}

Status write_files(const CommonOptions& common, const WriteOptions& write, Graph graph) {
  if (!write.output_name.empty() && !graph.output_names.empty()) {
    graph.output_names[0] = write.output_name;
  }
  const nnef::SaveOptions options = save_options(common);
  struct Target {
    const std::string& path;
    nnef::Container container;
    const char* what;
  };
  const Target targets[] = {{write.nnef, nnef::Container::kTgz, "tgz"},
                            {write.nnef_tar, nnef::Container::kTar, "tar"},
                            {write.nnef_dir, nnef::Container::kFolder, "dir"}};
  for (const Target& target : targets) {
    if (target.path.empty()) continue;
    std::error_code error;
    if (target.container == nnef::Container::kFolder &&
        std::filesystem::exists(target.path, error)) {
      return fail(Code::kIo, "\"", target.path, "\" already exists. Won't overwrite.");
    }
    RILL_TRY(written(nnef::save(graph, target.path, target.container, options), target.what));
  }
  if (write.nnef_graph.empty()) return {};
  auto text = nnef::graph_text(graph, options);
  if (!text.ok()) return written(text.take_status(), "graph.nnef");
  if (write.nnef_graph == "-") {
    put(stdout, {shown_nnef(*text)});
    return {};
  }
  return written(nnef::write_file(write.nnef_graph, std::as_bytes(std::span(*text))), "graph.nnef");
}

/// Return the model as readers of the written files get it, for the audit. A model that this
/// command did not pulse is not audited.
Result<Model> as_read_back(const CommonOptions& common, bool no_audit, const Model& model) {
  Model out = model;
  if (no_audit || model.stream_symbol.empty()) return out;
  auto again = nnef::read_back(model.graph, save_options(common));
  if (!again.ok()) return written(again.take_status(), "memory");
  RILL_ASSIGN(out.graph, declutter(*again));
  return out;
}

/// The graph to show: optimised if requested, with symbols bound if it runs.
struct Shown {
  Graph graph;
  InputValues inputs;
};

Result<Shown> shown_graph(const CommonOptions& common, const ViewOptions& view, const Log& log,
                          const Model& model) {
  Shown out;
  if (!view.profiles() && !view.plan) {
    RILL_ASSIGN(out.graph, final_graph(common, model.graph));
    return out;
  }
  CommonOptions with_values = common;
  // If only time counts, random values are good enough.
  with_values.values.allow_random = true;
  RILL_ASSIGN(const InputSource source, InputSource::make(with_values, log));
  RILL_ASSIGN(out.inputs, source.resolve(model.graph, 0, 1));
  RILL_ASSIGN(Graph bound, bind_symbols(model.graph, out.inputs.bindings));
  RILL_ASSIGN(auto shaped, shaped_by_values(bound, out.inputs.values));
  if (shaped) {
    bound = std::move(shaped->graph);
    out.inputs.values = std::move(shaped->inputs);
  }
  RILL_ASSIGN(out.graph, final_graph(common, bound));
  return out;
}

Status check_values(const CommonOptions& common, const DumpOptions& options, const Log& log,
                    const Model& model) {
  RILL_ASSIGN(const Reference reference, Reference::read(common, options.checks));
  if (!reference.any()) return {};
  RunOptions run;
  run.checks = options.checks;
  run.view = options.view;
  run.load = options.load;
  return run_model(common, run, log, model);
}

Status write_profiles(const std::string& file, const ViewOptions& view, const Graph& graph,
                      const Notes& notes) {
  if (!view.profile_html.empty()) {
    const std::string page = profile_page(file, graph, notes);
    RILL_TRY(nnef::write_file(view.profile_html, std::as_bytes(std::span(page))));
  }
  if (!view.profile_trace.empty()) {
    const std::string trace = profile_trace(graph, notes);
    RILL_TRY(nnef::write_file(view.profile_trace, std::as_bytes(std::span(trace))));
  }
  return {};
}

/// Return the body of a loop, nested if several loops are named.
Result<Graph> inner_graph(const std::vector<std::string>& loops, Graph graph) {
  for (const std::string& name : loops) {
    const auto node = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                   [&](const Node& each) { return each.name == name; });
    if (node == graph.nodes.end() || node->op->nested() == nullptr) {
      return fail(Code::kArg, "--inner ", name, ": no loop of that name");
    }
    graph = Graph(*node->op->nested());
  }
  return graph;
}

Status take_notes(const CommonOptions& common, const DumpOptions& options, const Log& log,
                  const Shown& shown, Notes* notes) {
  const ViewOptions& view = options.view;
  notes->nodes.resize(shown.graph.nodes.size());
  const bool page = !view.profile_html.empty();
  if (view.cost || view.summary || view.audit_json || page || !options.checks.assert_cost.empty()) {
    note_costs(shown.graph, notes);
    notes->cost = view.cost;
    RILL_ASSIGN(const InputSource source, InputSource::make(common, log));
    bind_costs(source.settings(), notes);
  }
  if (view.tmp_mem_usage || page) note_memory(shown.graph, notes);
  notes->memory = view.tmp_mem_usage;
  if (!view.profiles()) return {};
  if (!optimizes(common)) log.warn("Profiling a non-optimized model. Use -O or a runtime.");
  RILL_TRY(
      profile(common.program.threads, options.loop, view.folded, shown.graph, shown.inputs, notes));
  if (page || (view.json && view.cost)) note_reach(notes);
  return {};
}

/// Show the plan of a graph whose extents are numbers.
Status show_plan(const CommonOptions& common, const ViewOptions& view, const Graph& graph) {
  PrepareOptions options;
  options.optimize = optimizes(common);
  options.keep_uses = true;
  RILL_ASSIGN(const std::shared_ptr<const Plan> plan, prepare(graph, options));
  if (!view.quiet) put(stdout, {plan_text(*plan)});
  if (view.svg.empty()) return {};
  const std::string picture = arena_picture(*plan, common.file);
  return nnef::write_file(view.svg, std::as_bytes(std::span(picture)));
}

Status check_plan_options(const ViewOptions& view) {
  if (!view.plan) {
    if (view.svg.empty()) return {};
    return fail(Code::kArg, "--svg ", view.svg, ": dump draws the memory of a plan only")
        .hint("Add --plan");
  }
  if (!view.json && !view.audit_json && !view.summary && !view.profiles() && view.inner.empty()) {
    return {};
  }
  return fail(Code::kArg, "--plan shows a plan as text, and no other part of the model")
      .hint("Use it without --json, --audit-json, --summary, --profile and --inner");
}

void print_reports(const ViewOptions& view, const Graph& graph, const Notes& notes) {
  if (view.tmp_mem_usage) print_memory_summary(notes);
  if (view.cost) print_cost_summary(graph, notes);
  if (view.profiles()) print_profile_summary(graph, notes);
  if (view.mm) print_products(graph);
}

/// Check the path of a node: "3", or "3/0/5" in the bodies of loops.
Status check_path(const char* option, const std::string& path) {
  if (path.find_first_not_of("0123456789/") == std::string::npos) return {};
  return fail(Code::kArg, option, " ", path, ": expected the number of a node, or ID/ID in a loop");
}

}  // namespace

void DumpCommand::add_options(std::vector<Option>* out) {
  add(&options_.checks, out);
  append_options(out, "Files",
                 {
                     {"--nnef", kOnDump, &options_.write.nnef, "write a .nnef.tgz"},
                     {"--nnef-tar", kOnDump, &options_.write.nnef_tar, "write a .nnef.tar"},
                     {"--nnef-dir", kOnDump, &options_.write.nnef_dir, "write a folder"},
                     {"--nnef-graph", kOnDump, &options_.write.nnef_graph,
                      "write only graph.nnef; - is stdout"},
                     {"--nnef-override-output-name", kOnDump, &options_.write.output_name,
                      "name of the first output"},
                     {"--nnef-deterministic", kOnDump, &options_.write.nnef_deterministic,
                      "write the same bytes on every machine"},
                 });
  add(&options_.view, out);
  add(&options_.loop, out);
  add(&options_.load, out);
  add(&options_.proof, out);
}

std::optional<std::string> DumpCommand::wrong_value(const CommonOptions&) const {
  if (auto wrong = cli::wrong_value(options_.checks)) return wrong;
  if (auto wrong = cli::wrong_value(options_.load)) return wrong;
  if (auto wrong = cli::wrong_value(options_.proof)) return wrong;
  return cli::wrong_value(options_.loop);
}

/// Request the model in the file's form, unless it is changed or measured.
Demands DumpCommand::demands(const CommonOptions& common) const {
  const ViewOptions& view = options_.view;
  const bool changed = common.model.optimize || common.streaming.by_symbol() ||
                       !common.model.transforms.empty() || !common.model.set.empty() ||
                       !common.model.inner_graph.empty();
  const bool measured = view.profiles() || view.cost || view.summary || view.json ||
                        view.audit_json || view.mm || !options_.checks.assert_cost.empty() ||
                        view.tmp_mem_usage || !common.values.run_set.empty();
  Demands out;
  out.as_in_file = !changed && !measured;
  out.shows_batch = true;
  return out;
}

Status DumpCommand::run_model(const CommonOptions& common, const Log& log,
                              const Model& model) const {
  const ViewOptions& view = options_.view;
  RILL_TRY(check_path("--node-id", view.node_id));
  RILL_TRY(check_path("--successors", view.successors));
  RILL_TRY(check_plan_options(view));
  RILL_ASSIGN(Shown shown, shown_graph(common, view, log, model));
  RILL_TRY(check_output_facts(options_.checks, model.graph));
  RILL_TRY(check_ops(options_.checks, shown.graph));
  RILL_TRY(check_values(common, options_, log, model));
  if (!view.inner.empty() && view.profiles()) {
    return fail(Code::kArg, "--inner shows one loop, but --profile times the whole model")
        .hint("Leave out --inner: the profile includes the bodies of loops");
  }
  RILL_ASSIGN(shown.graph, inner_graph(view.inner, std::move(shown.graph)));
  Notes notes;
  RILL_TRY(take_notes(common, options_, log, shown, &notes));
  Graph written_graph = model.graph;
  if (writes_archives(options_.write)) {
    RILL_ASSIGN(const Model again, as_read_back(common, options_.proof.no_audit, model));
    RILL_TRY(audit_before_writing(common, options_.proof, options_.write.nnef_deterministic, log,
                                  again, &written_graph));
  }
  RILL_TRY(write_files(common, options_.write, std::move(written_graph)));
  RILL_TRY(write_profiles(common.file, view, shown.graph, notes));
  if (!options_.checks.assert_cost.empty())
    RILL_TRY(check_cost(options_.checks.assert_cost, shown.graph, notes));
  if (view.plan) return show_plan(common, view, shown.graph);
  if (view.summary) {
    put(stdout, {graph_summary(shown.graph, notes)});
    return {};
  }
  if (view.audit_json || view.json) {
    put(stdout,
        {view.audit_json ? audit_json(shown.graph, notes) : notes_json(shown.graph, notes)});
    if (view.mm) print_products(shown.graph);
    return {};
  }
  if (!view.quiet && options_.write.nnef_graph != "-") {
    AxisNames axes;
    if (view.axes || !view.axes_names.empty()) {
      RILL_ASSIGN(axes, AxisNames::of(shown.graph, view.axes_names));
    }
    put(stdout, {graph_drawing(shown.graph, view, notes, axes, use_colors(common.program.color))});
  }
  print_reports(view, shown.graph, notes);
  return {};
}

Status DumpCommand::run_plan_file(const CommonOptions& common, const Log&) const {
  RILL_ASSIGN(const plan_file::OpenedPlan opened, open_plan_file(common, true));
  return dump_plan_file(common, options_.view, options_.loop, opened);
}

std::unique_ptr<Command> dump_command() { return std::make_unique<DumpCommand>(); }

}  // namespace rill::cli
