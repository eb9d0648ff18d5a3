#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "cli/check.h"
#include "cli/commands.h"
#include "cli/dump_plan.h"
#include "cli/dump_text.h"
#include "cli/exec.h"
#include "cli/json.h"
#include "cli/op_counts.h"
#include "cli/profile_page.h"
#include "cli/reports.h"
#include "cli/say_impl.h"
#include "cli/system/process.h"
#include "core/optim/optim.h"
#include "nnef_loader/archive/archive.h"

namespace rill::cli {
namespace {

bool use_colors(const Args& args) {
  if (args.program.color == "always") return true;
  if (args.program.color == "never" || std::getenv("NO_COLOR") != nullptr) return false;
  return is_terminal(stdout);
}

/// Add the output file to an error.
Status written(Status status, std::string_view what) {
  if (!status.ok()) {
    status.error().message = str_cat("Writing model to ", what, ": ", status.error().message);
  }
  return status;
}

bool writes_archives(const Args& args) {
  return !args.write.nnef.empty() || !args.write.nnef_tar.empty() || !args.write.nnef_dir.empty();
}

Status write_files(const Args& args, Graph graph) {
  if (!args.write.output_name.empty() && !graph.output_names.empty()) {
    graph.output_names[0] = args.write.output_name;
  }
  const nnef::SaveOptions options = save_options(args);
  struct Target {
    const std::string& path;
    nnef::Container container;
    const char* what;
  };
  const Target targets[] = {{args.write.nnef, nnef::Container::kTgz, "tgz"},
                            {args.write.nnef_tar, nnef::Container::kTar, "tar"},
                            {args.write.nnef_dir, nnef::Container::kFolder, "dir"}};
  for (const Target& target : targets) {
    if (target.path.empty()) continue;
    std::error_code error;
    if (target.container == nnef::Container::kFolder &&
        std::filesystem::exists(target.path, error)) {
      return fail(Code::kIo, "\"", target.path, "\" already exists. Won't overwrite.");
    }
    RILL_TRY(written(nnef::save(graph, target.path, target.container, options), target.what));
  }
  if (args.write.nnef_graph.empty()) return {};
  auto text = nnef::graph_text(graph, options);
  if (!text.ok()) return written(text.take_status(), "graph.nnef");
  if (args.write.nnef_graph == "-") {
    put(stdout, {shown_nnef(*text)});
    return {};
  }
  return written(nnef::write_file(args.write.nnef_graph, std::as_bytes(std::span(*text))),
                 "graph.nnef");
}

/// Return the model that was read back from the written files, so that the audit runs what readers
/// get. A model that this command did not pulse is not audited.
Result<Model> as_read_back(const Args& args, const Model& model) {
  Model out = model;
  if (args.proof.no_audit || model.stream_symbol.empty()) return out;
  auto again = nnef::read_back(model.graph, save_options(args));
  if (!again.ok()) return written(again.take_status(), "memory");
  RILL_ASSIGN(out.graph, declutter(*again));
  return out;
}

/// The graph to show: optimised if asked for, symbols bound where it is to run.
struct Shown {
  Graph graph;
  InputValues inputs;
};

Result<Shown> shown_graph(const Args& args, const Log& log, const Model& model) {
  Shown out;
  if (!args.view.profile && !args.view.plan) {
    RILL_ASSIGN(out.graph, final_graph(args, model.graph));
    return out;
  }
  Args with_values = args;
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
  RILL_ASSIGN(out.graph, final_graph(args, bound));
  return out;
}

Status check_values(const Args& args, const Log& log, const Model& model) {
  RILL_ASSIGN(const Reference reference, Reference::read(args));
  if (!reference.any()) return {};
  return run_command(args, log, model);
}

Status write_profiles(const Args& args, const Graph& graph, const Notes& notes) {
  if (!args.view.profile_html.empty()) {
    const std::string page = profile_page(args.file, graph, notes);
    RILL_TRY(nnef::write_file(args.view.profile_html, std::as_bytes(std::span(page))));
  }
  if (!args.view.profile_trace.empty()) {
    const std::string trace = profile_trace(graph, notes);
    RILL_TRY(nnef::write_file(args.view.profile_trace, std::as_bytes(std::span(trace))));
  }
  return {};
}

/// Return the body of a loop, nested if several loops are named.
Result<Graph> inner_graph(const Args& args, Graph graph) {
  for (const std::string& name : args.view.inner) {
    const auto node = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                   [&](const Node& each) { return each.name == name; });
    if (node == graph.nodes.end() || node->op->nested() == nullptr) {
      return fail(Code::kArg, "--inner ", name, ": no loop of that name");
    }
    graph = Graph(*node->op->nested());
  }
  return graph;
}

Status take_notes(const Args& args, const Log& log, const Shown& shown, Notes* notes) {
  notes->nodes.resize(shown.graph.nodes.size());
  const bool page = !args.view.profile_html.empty();
  if (args.view.cost || args.view.summary || args.view.audit_json || page ||
      !args.checks.assert_cost.empty()) {
    note_costs(shown.graph, notes);
    notes->cost = args.view.cost;
    RILL_ASSIGN(const InputSource source, InputSource::make(args, log));
    bind_costs(source.settings(), notes);
  }
  if (args.view.tmp_mem_usage || page) note_memory(shown.graph, notes);
  notes->memory = args.view.tmp_mem_usage;
  if (!args.view.profile) return {};
  if (!optimizes(args)) log.warn("Profiling a non-optimized model. Use -O or a runtime.");
  RILL_TRY(profile(args, shown.graph, shown.inputs, notes));
  if (page || (args.view.json && args.view.cost)) note_reach(notes);
  return {};
}

/// Shows the plan of a graph whose extents are numbers.
Status show_plan(const Args& args, const Graph& graph) {
  PrepareOptions options;
  options.optimize = optimizes(args);
  options.keep_uses = true;
  RILL_ASSIGN(const std::shared_ptr<const Plan> plan, prepare(graph, options));
  if (!args.view.quiet) put(stdout, {plan_text(*plan)});
  if (args.view.svg.empty()) return {};
  const std::string picture = arena_picture(*plan, args.file);
  return nnef::write_file(args.view.svg, std::as_bytes(std::span(picture)));
}

Status check_plan_options(const Args& args) {
  if (!args.view.plan) {
    if (args.view.svg.empty()) return {};
    return fail(Code::kArg, "--svg ", args.view.svg, ": there is a picture of the plan only")
        .hint("Add --plan");
  }
  if (!args.view.json && !args.view.audit_json && !args.view.summary && !args.view.profile &&
      args.view.inner.empty()) {
    return {};
  }
  return fail(Code::kArg, "--plan shows a plan as text, and nothing else of the model")
      .hint("Use it without --json, --audit-json, --summary, --profile and --inner");
}

void print_reports(const Args& args, const Graph& graph, const Notes& notes) {
  if (args.view.tmp_mem_usage) print_memory_summary(notes);
  if (args.view.cost) print_cost_summary(graph, notes);
  if (args.view.profile) print_profile_summary(graph, notes);
  if (args.view.mm) print_products(graph);
}

}  // namespace

namespace {

/// "3", or "3/0/5".
Status check_path(const char* option, const std::string& path) {
  if (path.find_first_not_of("0123456789/") == std::string::npos) return {};
  return fail(Code::kArg, option, " ", path, ": expected the number of a node, or ID/ID in a loop");
}

}  // namespace

Status dump_command(const Args& args, const Log& log, const Model& model) {
  RILL_TRY(check_path("--node-id", args.view.node_id));
  RILL_TRY(check_path("--successors", args.view.successors));
  RILL_TRY(check_plan_options(args));
  RILL_ASSIGN(Shown shown, shown_graph(args, log, model));
  RILL_TRY(check_output_facts(args, model.graph));
  RILL_TRY(check_ops(args, shown.graph));
  RILL_TRY(check_values(args, log, model));
  if (!args.view.inner.empty() && args.view.profile) {
    return fail(Code::kArg, "--inner shows a part, --profile times the whole")
        .hint("The profile of the whole has the bodies of loops too");
  }
  RILL_ASSIGN(shown.graph, inner_graph(args, std::move(shown.graph)));
  Notes notes;
  RILL_TRY(take_notes(args, log, shown, &notes));
  Graph written_graph = model.graph;
  if (writes_archives(args)) {
    RILL_ASSIGN(const Model again, as_read_back(args, model));
    RILL_TRY(audit_before_writing(args, log, again, &written_graph));
  }
  RILL_TRY(write_files(args, std::move(written_graph)));
  RILL_TRY(write_profiles(args, shown.graph, notes));
  if (!args.checks.assert_cost.empty())
    RILL_TRY(check_cost(args.checks.assert_cost, shown.graph, notes));
  if (args.view.plan) return show_plan(args, shown.graph);
  if (args.view.summary) {
    put(stdout, {graph_summary(shown.graph, notes)});
    return {};
  }
  if (args.view.audit_json || args.view.json) {
    put(stdout,
        {args.view.audit_json ? audit_json(shown.graph, notes) : notes_json(shown.graph, notes)});
    if (args.view.mm) print_products(shown.graph);
    return {};
  }
  if (!args.view.quiet && args.write.nnef_graph != "-") {
    AxisNames axes;
    if (args.view.axes || !args.view.axes_names.empty()) {
      RILL_ASSIGN(axes, AxisNames::of(shown.graph, args.view.axes_names));
    }
    put(stdout, {graph_drawing(shown.graph, args, notes, axes, use_colors(args))});
  }
  print_reports(args, shown.graph, notes);
  return {};
}

}  // namespace rill::cli
