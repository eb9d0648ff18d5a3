#include <algorithm>
#include <map>

#include "cli/check.h"
#include "cli/commands.h"
#include "cli/exec.h"
#include "cli/op_counts.h"
#include "cli/say_impl.h"
#include "cli/watch.h"

namespace rill::cli {
namespace {

/// Normalise names for comparison: tract writes `_` for `.` and `-`.
std::string folded(std::string name) {
  std::replace(name.begin(), name.end(), '.', '_');
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

struct NamedValue {
  std::string name;
  Tensor value;
  std::string op;
  bool output = false;
};

/// The values of a graph's wires; model outputs also under their labels.
Result<std::vector<NamedValue>> values_of(const Graph& graph, std::span<const Tensor> inputs) {
  RILL_ASSIGN(std::vector<WatchedValue> watched, watch_all(graph, inputs));
  std::vector<NamedValue> out;
  for (WatchedValue& value : watched) {
    const Node& node = graph.node(value.outlet.node);
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      if (graph.outputs[i] != value.outlet) continue;
      out.push_back({graph.output_names[i], value.value, std::string(node.op->name()), true});
    }
    out.push_back({value.name, std::move(value.value), std::string(node.op->name()), false});
  }
  return out;
}

const Tensor* reference_named(std::span<const NamedValue> references, const std::string& name) {
  const std::string wanted = folded(name);
  for (const NamedValue& reference : references) {
    if (folded(reference.name) == wanted) return &reference.value;
  }
  return nullptr;
}

/// Run one node in a separate plan.
Result<std::vector<Tensor>> run_node(const Graph& graph, const Node& node,
                                     const std::map<OutletId, Tensor>& values) {
  Graph alone;
  alone.scope = graph.scope;
  std::vector<OutletId> wires;
  std::vector<Tensor> inputs;
  for (const OutletId input : node.inputs) {
    const Fact& fact = graph.fact(input);
    if (fact.konst) {
      wires.push_back(alone.add_const("constant", fact.konst));
      continue;
    }
    wires.push_back(alone.add_source("input", fact));
    inputs.push_back(values.at(input));
  }
  RILL_ASSIGN(const auto outlets, alone.add(node.name, node.op, std::move(wires)));
  for (const OutletId outlet : outlets) alone.add_output("output", outlet);
  PrepareOptions options;
  options.optimize = false;
  RILL_ASSIGN(const auto plan, prepare(alone, options));
  RILL_ASSIGN(const auto session, Session::make(plan));
  return run_once(session.get(), inputs);
}

/// Return the values of a graph's wires, each computed from the reference values of its inputs, so
/// that a difference only shows at the node where it arises.
Result<std::vector<NamedValue>> values_beside(const Graph& graph, std::span<const Tensor> inputs,
                                              std::span<const NamedValue> references) {
  std::map<OutletId, Tensor> values;
  std::vector<NamedValue> out;
  size_t next_input = 0;
  std::map<OutletId, Tensor> fed;
  for (const OutletId input : graph.inputs) fed[input] = inputs[next_input++];
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (node.op->as<Const>()) continue;
    std::vector<Tensor> made;
    if (node.op->as<Source>()) {
      made.push_back(fed.at({static_cast<int>(id), 0}));
    } else {
      RILL_ASSIGN(made, run_node(graph, node, values));
    }
    for (size_t slot = 0; slot < made.size(); ++slot) {
      const OutletId wire{static_cast<int>(id), static_cast<int>(slot)};
      const std::string name = slot == 0 ? node.name : str_cat(node.name, ":", slot);
      const Tensor* reference = reference_named(references, name);
      for (size_t i = 0; i < graph.outputs.size(); ++i) {
        if (graph.outputs[i] != wire) continue;
        if (reference == nullptr) reference = reference_named(references, graph.output_names[i]);
        out.push_back({graph.output_names[i], made[slot], std::string(node.op->name()), true});
      }
      out.push_back({name, made[slot], std::string(node.op->name()), false});
      const bool fits = reference != nullptr && reference->shape() == made[slot].shape() &&
                        reference->dtype() == made[slot].dtype();
      values[wire] = fits ? *reference : made[slot];
    }
  }
  return out;
}

/// The counts of a comparison, and its failures.
struct Tally {
  int64_t checked = 0;
  int64_t unchecked = 0;
  int64_t failed = 0;
  int64_t outputs = 0;

  Status report(const Log& log) const {
    if (failed > 0) return fail(Code::kState, failed, " error(s).");
    if (outputs == 0) {
      return fail(Code::kState, "no output of the model was compared, of ",
                  counted(unchecked, "value"), " without a reference");
    }
    say("{} node(s) passed the comparison.\n", checked);
    if (!log.tract())
      say("{} checked, {} unchecked, {} failed\n", checked, unchecked, failed);
    return {};
  }
};

void print_failure(const NamedValue& value, const Tensor& reference, std::string_view label,
                   const std::string& wrong) {
  say("{} {}\n  * Mismatch value\n  * At turn 0, wrong value for output 0, {}\n", value.op,
      value.name, wrong);
  say("  * {}: {}\n  * rill: {}\n", label, value_text(reference), value_text(value.value));
}

Result<Tally> tally_of(const Args& args, std::span<const NamedValue> values,
                       std::span<const NamedValue> references, std::string_view label) {
  RILL_ASSIGN(const Tolerance tolerance, tolerance_of(args));
  Tally tally;
  for (const NamedValue& value : values) {
    const Tensor* reference = reference_named(references, value.name);
    if (reference == nullptr) {
      ++tally.unchecked;
      continue;
    }
    ++tally.checked;
    tally.outputs += value.output ? 1 : 0;
    const auto wrong = mismatch(*reference, value.value, tolerance, true);
    if (!wrong) continue;
    ++tally.failed;
    print_failure(value, *reference, label, *wrong);
  }
  return tally;
}

/// The model and its inputs, ready for values of all wires.
struct Subject {
  Graph graph;  ///< symbols bound, optimised if asked for
  InputValues inputs;
};

Result<Subject> subject_of(const Args& args, const Log& log, const Model& model) {
  Subject out;
  RILL_ASSIGN(const InputSource source, InputSource::make(args, log));
  RILL_ASSIGN(out.inputs, source.resolve(model.graph, 0, 1));
  RILL_ASSIGN(const Graph bound, bind_symbols(model.graph, out.inputs.bindings));
  RILL_ASSIGN(out.graph, final_graph(args, bound));
  return out;
}

Result<std::vector<NamedValue>> subject_values(const Args& args, const Subject& subject,
                                               std::span<const NamedValue> references) {
  if (args.compare.cumulative) return values_of(subject.graph, subject.inputs.values);
  return values_beside(subject.graph, subject.inputs.values, references);
}

Status compare_stage(const Args& args, const Log& log, const Model& model) {
  const Graph* stage = model.stage(args.compare.stage);
  if (stage == nullptr) {
    std::string names;
    for (const auto& [name, graph] : model.stages)
      names += str_cat(names.empty() ? "" : ", ", name);
    return fail(Code::kArg, "compare --stage ", args.compare.stage, ": no such stage")
        .hint(str_cat("Stages of this command line: ", names));
  }
  RILL_ASSIGN(const Subject subject, subject_of(args, log, model));
  Graph reference = *stage;
  for (const auto& [symbol, value] : subject.inputs.bindings) {
    RILL_ASSIGN(reference, reference.with_symbol(symbol, Dim(value)));
  }
  RILL_ASSIGN(const auto references, values_of(reference, subject.inputs.values));
  RILL_ASSIGN(const auto values, subject_values(args, subject, references));
  RILL_ASSIGN(const Tally tally, tally_of(args, values, references, "reference"));
  return tally.report(log);
}

Status compare_npz(const Args& args, const Log& log, const Model& model) {
  const std::vector<std::string> paths{args.compare.npz};
  RILL_ASSIGN(const Bundle bundle, Bundle::read(paths));
  std::vector<NamedValue> references;
  for (const Bundle::Item& item : bundle.items()) {
    references.push_back({item.name, item.turns[0], "", false});
  }
  RILL_ASSIGN(const Subject subject, subject_of(args, log, model));
  RILL_ASSIGN(const auto values, subject_values(args, subject, references));
  RILL_ASSIGN(const Tally tally, tally_of(args, values, references, "npz"));
  return tally.report(log);
}

Status compare_twice(const Args& args, const Log& log, const Model& model) {
  RILL_ASSIGN(const Subject subject, subject_of(args, log, model));
  RILL_ASSIGN(const auto first, values_of(subject.graph, subject.inputs.values));
  RILL_ASSIGN(const auto second, values_of(subject.graph, subject.inputs.values));
  Args exact = args;
  exact.checks.approx = "exact";
  exact.checks.approx_custom.clear();
  RILL_ASSIGN(const Tally tally, tally_of(exact, second, first, "reference"));
  return tally.report(log);
}

}  // namespace

Status compare_command(const Args& args, const Log& log, const Model& model) {
  RILL_TRY(check_output_facts(args, model.graph));
  RILL_ASSIGN(const Graph graph, final_graph(args, model.graph));
  RILL_TRY(check_ops(args, graph));
  if (args.compare.stream) return compare_stream(args, log, model);
  if (model.pulsed()) {
    return fail(Code::kUnsupported, "a pulsed model is compared by --stream: to the whole one");
  }
  if (!args.compare.stage.empty()) return compare_stage(args, log, model);
  if (!args.compare.npz.empty()) return compare_npz(args, log, model);
  return compare_twice(args, log, model);
}

}  // namespace rill::cli
