#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "cli/check.h"
#include "cli/commands.h"
#include "cli/dump_text.h"
#include "cli/exec.h"
#include "cli/json.h"
#include "nnef_loader/archive/archive.h"

namespace rill::cli {
namespace {

bool use_colors(const Args& args) {
  if (args.color == "always") return true;
  if (args.color == "never" || std::getenv("NO_COLOR") != nullptr) return false;
  return isatty(STDOUT_FILENO) == 1;
}

/// Say what was being written.
Status written(Status status, std::string_view what) {
  if (!status.ok()) {
    status.error().message = str_cat("Writing model to ", what, ": ", status.error().message);
  }
  return status;
}

Status write_files(const Args& args, const Graph& graph) {
  const nnef::SaveOptions options = save_options(args);
  struct Target {
    const std::string& path;
    nnef::Container container;
    const char* what;
  };
  const Target targets[] = {{args.nnef, nnef::Container::kTgz, "tgz"},
                            {args.nnef_tar, nnef::Container::kTar, "tar"},
                            {args.nnef_dir, nnef::Container::kFolder, "dir"}};
  for (const Target& target : targets) {
    if (target.path.empty()) continue;
    std::error_code error;
    if (target.container == nnef::Container::kFolder &&
        std::filesystem::exists(target.path, error)) {
      return fail(Code::kIo, "\"", target.path, "\" already exists. Won't overwrite.");
    }
    RILL_TRY(written(nnef::save(graph, target.path, target.container, options), target.what));
  }
  if (args.nnef_graph.empty()) return {};
  auto text = nnef::graph_text(graph, options);
  if (!text.ok()) return written(text.take_status(), "graph.nnef");
  if (args.nnef_graph == "-") {
    fmt::print("{}", *text);
    return {};
  }
  return written(nnef::write_file(args.nnef_graph, std::as_bytes(std::span(*text))), "graph.nnef");
}

/// The graph to show: optimised if asked for, symbols bound where it is to run.
struct Shown {
  Graph graph;
  InputValues inputs;
};

Result<Shown> shown_graph(const Args& args, const Log& log, const Model& model) {
  Shown out;
  if (!args.profile) {
    RILL_ASSIGN(out.graph, final_graph(args, model.graph));
    return out;
  }
  Args with_values = args;
  // There is nothing to go wrong with made-up values where only time counts.
  with_values.allow_random = true;
  RILL_ASSIGN(const InputSource source, InputSource::make(with_values, log));
  RILL_ASSIGN(out.inputs, source.resolve(model.graph, 0, 1));
  RILL_ASSIGN(const Graph bound, bind_symbols(model.graph, out.inputs.bindings));
  RILL_ASSIGN(out.graph, final_graph(args, bound));
  return out;
}

Status check_values(const Args& args, const Log& log, const Model& model) {
  RILL_ASSIGN(const Reference reference, Reference::read(args));
  if (!reference.any()) return {};
  return run_command(args, log, model);
}

}  // namespace

Status dump_command(const Args& args, const Log& log, const Model& model) {
  RILL_ASSIGN(const Shown shown, shown_graph(args, log, model));
  RILL_TRY(check_output_facts(args, model.graph));
  RILL_TRY(check_op_counts(args, shown.graph));
  RILL_TRY(check_values(args, log, model));
  Notes notes;
  notes.nodes.resize(shown.graph.nodes.size());
  if (args.cost) {
    notes.cost = true;
    for (size_t i = 0; i < shown.graph.nodes.size(); ++i) {
      notes.nodes[i].cost = cost_of(shown.graph, shown.graph.nodes[i]);
    }
  }
  if (args.profile) {
    if (!optimizes(args)) log.warn("Profiling a non-optimized model. Use -O or a runtime.");
    RILL_TRY(profile(args, shown.graph, shown.inputs, &notes));
  }
  RILL_TRY(write_files(args, model.graph));
  if (args.json) {
    fmt::print("{}", notes_json(shown.graph, notes));
    return {};
  }
  if (args.audit_json) {
    fmt::print("{}", audit_json(shown.graph, notes));
    return {};
  }
  if (args.summary) {
    fmt::print("{}", graph_summary(shown.graph, notes));
  } else if (!args.quiet && args.nnef_graph != "-") {
    fmt::print("{}", graph_drawing(shown.graph, args, notes, use_colors(args)));
  }
  if (args.cost && !args.summary) print_cost_summary(notes);
  if (args.profile) print_profile_summary(shown.graph, notes);
  return {};
}

}  // namespace rill::cli
