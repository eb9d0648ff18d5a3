#include <algorithm>
#include <map>

#include "cli/commands.h"
#include "cli/compare.h"
#include "cli/exec.h"
#include "cli/op_counts.h"
#include "cli/reference.h"
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

/// Return the values of a graph's wires; model outputs also under their labels.
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

/// Return the values of a graph's wires. Each is computed from the reference values of its node's
/// inputs: a difference then only shows at the node where it arises.
Result<std::vector<NamedValue>> values_given(const Graph& graph, std::span<const Tensor> inputs,
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

Result<Tally> tally_of(const CheckOptions& checks, std::span<const NamedValue> values,
                       std::span<const NamedValue> references, std::string_view label,
                       const Log& log) {
  RILL_ASSIGN(const Tolerance tolerance, tolerance_of(checks));
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
    print_failure(value, *reference, label, log.tract() ? worded_for_tract(*wrong) : *wrong);
  }
  return tally;
}

/// The model and its inputs, ready for values of all wires.
struct Subject {
  Graph graph;  ///< symbols bound, optimised if requested
  InputValues inputs;
};

Result<Subject> subject_of(const CommonOptions& common, const Log& log, const Model& model) {
  Subject out;
  RILL_ASSIGN(const InputSource source, InputSource::make(common, log));
  RILL_ASSIGN(out.inputs, source.resolve(model.graph, 0, 1));
  RILL_ASSIGN(const Graph bound, bind_symbols(model.graph, out.inputs.bindings));
  RILL_ASSIGN(out.graph, final_graph(common, bound));
  return out;
}

/// Options of `compare`.
struct CompareOptions {
  CheckOptions checks;
  ViewOptions view;
  bool stream = false;
  bool twice = false;
  bool cumulative = false;
  std::string stage;
  std::string npz;
};

Result<std::vector<NamedValue>> subject_values(bool cumulative, const Subject& subject,
                                               std::span<const NamedValue> references) {
  if (cumulative) return values_of(subject.graph, subject.inputs.values);
  return values_given(subject.graph, subject.inputs.values, references);
}

Status compare_stage(const CommonOptions& common, const CompareOptions& options, const Log& log,
                     const Model& model) {
  const Graph* stage = model.stage(options.stage);
  if (stage == nullptr) {
    std::string names;
    for (const auto& [name, graph] : model.stages)
      names += str_cat(names.empty() ? "" : ", ", name);
    return fail(Code::kArg, "compare --stage ", options.stage, ": no such stage")
        .hint(str_cat("Stages of this command line: ", names));
  }
  RILL_ASSIGN(const Subject subject, subject_of(common, log, model));
  Graph reference = *stage;
  for (const auto& [symbol, value] : subject.inputs.bindings) {
    RILL_ASSIGN(reference, reference.with_symbol(symbol, Dim(value)));
  }
  RILL_ASSIGN(const auto references, values_of(reference, subject.inputs.values));
  RILL_ASSIGN(const auto values, subject_values(options.cumulative, subject, references));
  RILL_ASSIGN(const Tally tally, tally_of(options.checks, values, references, "reference", log));
  return tally.report(log);
}

Status compare_npz(const CommonOptions& common, const CompareOptions& options, const Log& log,
                   const Model& model) {
  const std::vector<std::string> paths{options.npz};
  RILL_ASSIGN(const Bundle bundle, Bundle::read(paths));
  std::vector<NamedValue> references;
  for (const Bundle::Item& item : bundle.items()) {
    references.push_back({item.name, item.turns[0], "", false});
  }
  RILL_ASSIGN(const Subject subject, subject_of(common, log, model));
  RILL_ASSIGN(const auto values, subject_values(options.cumulative, subject, references));
  RILL_ASSIGN(const Tally tally, tally_of(options.checks, values, references, "npz", log));
  return tally.report(log);
}

Status compare_twice(const CommonOptions& common, const Log& log, const Model& model) {
  RILL_ASSIGN(const Subject subject, subject_of(common, log, model));
  RILL_ASSIGN(const auto first, values_of(subject.graph, subject.inputs.values));
  RILL_ASSIGN(const auto second, values_of(subject.graph, subject.inputs.values));
  CheckOptions exact;
  exact.approx = "exact";
  RILL_ASSIGN(const Tally tally, tally_of(exact, second, first, "reference", log));
  return tally.report(log);
}

class CompareCommand final : public ModelCommand {
 public:
  CompareCommand()
      : ModelCommand({"compare", kOnCompare, "compare one mode of running with another",
                      "rill model.nnef.tgz --pulse S=8 compare --stream --input-from-bundle "
                      "io.npz"}) {}

  void add_options(std::vector<Option>* out) override {
    add(&options_.checks, out);
    add(&options_.view, out);
    append_options(
        out, "Reference",
        {
            {"--stream", kOnCompare, &options_.stream, "compare streams with the whole run"},
            {"--twice", kOnCompare, &options_.twice, "compare two runs"},
            {"--stage", kOnCompare, &options_.stage, "compare with the graph at a stage"},
            {"--npz", kOnCompare, &options_.npz, "compare with values of nodes in an npz"},
            {"--cumulative", kOnCompare, &options_.cumulative,
             "let differences accumulate over nodes"},
        });
  }
  std::optional<std::string> wrong_value(const CommonOptions& common) const override {
    if (auto wrong = cli::wrong_value(options_.checks)) return wrong;
    if (auto wrong = wrong_stage(common.model, "--stage", options_.stage)) return wrong;
    const int references =
        options_.stream + options_.twice + !options_.stage.empty() + !options_.npz.empty();
    if (references == 0) {
      return "the following required arguments were not provided: "
             "<--npz <npz>|--stage <stage>|--twice|--stream>";
    }
    if (references > 1) return "compare takes one of --npz, --stage, --twice and --stream";
    return std::nullopt;
  }

 protected:
  Demands demands(const CommonOptions&) const override {
    Demands out;
    out.keeps_stages = !options_.stage.empty();
    return out;
  }
  Status run_model(const CommonOptions& common, const Log& log, const Model& model) const override {
    RILL_TRY(check_output_facts(options_.checks, model.graph));
    RILL_ASSIGN(const Graph graph, final_graph(common, model.graph));
    RILL_TRY(check_ops(options_.checks, graph));
    if (options_.stream) return compare_stream(common, options_.checks, log, model);
    if (model.pulsed()) {
      return fail(Code::kUnsupported,
                  "compare takes a pulsed model only with --stream, which compares it with the "
                  "whole model");
    }
    if (!options_.stage.empty()) return compare_stage(common, options_, log, model);
    if (!options_.npz.empty()) return compare_npz(common, options_, log, model);
    return compare_twice(common, log, model);
  }

 private:
  CompareOptions options_;
};

}  // namespace

std::unique_ptr<Command> compare_command() { return std::make_unique<CompareCommand>(); }

}  // namespace rill::cli
