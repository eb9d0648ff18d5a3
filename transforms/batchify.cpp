#include "transforms/batchify.h"

#include <algorithm>
#include <optional>
#include <set>

#include "core/base/search.h"
#include "core/graph/some_fields.h"
#include "ops/array/axis_ops.h"
#include "ops/array/broadcast.h"
#include "transforms/moves.h"

namespace rill::transforms {
namespace {

/// Shifts the axes in attributes by one for a new first axis. The tracked axes of the result verify
/// this.
class Shift final : public SomeFields {
 public:
  using SomeFields::field;
  Shift(Dim batch, std::vector<bool> batched)
      : batch_(std::move(batch)), batched_(std::move(batched)) {}

  void field(const char* name, int64_t& value) override {
    if (std::string_view(name) == "axis" || std::string_view(name) == "bias_axis") ++value;
  }
  void field(const char* name, std::string& value) override {
    if (std::string_view(name) == "expr") value = batched_expr(value);
  }
  void field(const char* name, std::vector<int64_t>& value) override {
    const std::string_view key = name;
    if (key != "axes" && key != "perm" && key != "repeats") return;
    for (int64_t& axis : value) axis += key == "repeats" ? 0 : 1;
    if (key == "perm") value.insert(value.begin(), 0);
    if (key == "repeats") value.insert(value.begin(), 1);
  }
  void field(const char* name, std::vector<Dim>& value) override {
    if (std::string_view(name) == "shape") value.insert(value.begin(), batch_);
  }
  void field(const char* name, Pads& value) override {
    if (std::string_view(name) == "pads") value.insert(value.begin(), {0, 0});
  }

 private:
  /// Return an expression such as "mk,kn->mn" with a new letter prepended to the batched operands
  /// and to the result.
  std::string batched_expr(const std::string& expr) const {
    char letter = 'a';
    while (expr.find(letter) != std::string::npos && letter < 'z') ++letter;
    std::string out;
    size_t operand = 0;
    bool begins = true;
    for (size_t i = 0; i < expr.size(); ++i) {
      const bool result = i >= 2 && expr[i - 1] == '>' && expr[i - 2] == '-';
      if (begins && operand < batched_.size() && batched_[operand]) out.push_back(letter);
      if (result) out.push_back(letter);
      begins = expr[i] == ',';
      operand += begins ? 1 : 0;
      out.push_back(expr[i]);
    }
    return expr.ends_with("->") ? out + letter : out;
  }

  Dim batch_;
  std::vector<bool> batched_;
};

class Batch {
 public:
  Batch(const Graph& graph, std::string_view symbol, std::span<const std::string> shared)
      : graph_(graph), symbol_(symbol), batch_(Dim::symbol(symbol)), shared_(shared) {}

  Result<Graph> run();

 private:
  bool is_shared(const std::string& name) const { return contains(shared_, name); }
  /// Return the axis that already is the batch, or -1.
  int carrier(const Fact& fact) const {
    for (int axis = 0; axis < fact.rank(); ++axis) {
      if (fact.dim(axis).mentions(symbol_)) return axis;
    }
    return -1;
  }
  Status source(int id);
  Status node(int id);
  Result<OutletId> input_of(const Node& node, size_t index, int rank);
  Status check(const Node& node, const Op& op, const std::vector<OutletId>& inputs,
               const std::vector<OutletId>& outputs) const;
  static Status refuse(const Node& node, std::string_view why);
  Status finish();

  const Graph& graph_;
  std::string_view symbol_;
  Dim batch_;
  std::span<const std::string> shared_;
  Graph out_;
  std::vector<std::vector<OutletId>> mapped_;
  std::vector<OutletId> inputs_;  ///< by node, of sources
  std::set<int> batched_;         ///< nodes of the old graph that gained the axis
  bool joins_ = false;            ///< whether some input has the batch already
};

Status Batch::source(int id) {
  const Node& node = graph_.node(id);
  Fact fact = node.outputs[0];
  const int axis = carrier(fact);
  const auto own = static_cast<size_t>(id);
  const auto add = [&] { return out_.add_source(node.name, fact, node.line); };
  if (is_shared(node.name) || axis == 0) {
    inputs_[own] = add();
    mapped_[own] = {inputs_[own]};
    return {};
  }
  if (axis < 0 && joins_ && fact.rank() > 0 && fact.dim(0) == Dim(1)) {
    fact.shape[0] = batch_;
    inputs_[own] = add();
    mapped_[own] = {inputs_[own]};
    return {};
  }
  if (axis < 0) {
    fact.shape.insert(fact.shape.begin(), batch_);
    inputs_[own] = add();
    mapped_[own] = {inputs_[own]};
    batched_.insert(id);
    return {};
  }
  const Dim extent = fact.dim(axis);
  fact.shape.erase(fact.shape.begin() + axis);
  fact.shape.insert(fact.shape.begin(), extent);
  inputs_[own] = add();
  std::vector<int64_t> perm;
  for (int i = 1; i < fact.rank(); ++i) perm.push_back(i);
  perm.insert(perm.begin() + axis, 0);
  RILL_ASSIGN(mapped_[own], out_.add(str_cat(node.name, ".batchify.move"),
                                     make_op<ops::Transpose>(perm), {inputs_[own]}));
  return {};
}

/// Return an input for the batched op: with a leading axis if ranks must agree, and repeated over
/// the batch if extents must agree.
Result<OutletId> Batch::input_of(const Node& node, size_t index, int rank) {
  const OutletId old = node.inputs[index];
  OutletId wire = mapped_[static_cast<size_t>(old.node)][static_cast<size_t>(old.slot)];
  if (batched_.contains(old.node) || node.op->name() == "EinSum") return wire;
  if (graph_.fact(old).rank() != rank) return wire;
  RILL_ASSIGN(auto added, out_.add_folded(str_cat(node.name, ".batchify.rank.", index),
                                          make_op<ops::AddAxis>(0), {wire}));
  wire = added[0];
  if (node.op->name() != "Concat") return wire;
  std::vector<Dim> shape = out_.fact(wire).shape;
  shape[0] = batch_;
  RILL_ASSIGN(added, out_.add(str_cat(node.name, ".batchify.broadcast.", index),
                              make_op<ops::Broadcast>(shape), {wire}));
  return added[0];
}

/// Check that the op carries the first axis from the batched inputs to all results.
Status Batch::check(const Node& node, const Op& op, const std::vector<OutletId>& inputs,
                    const std::vector<OutletId>& outputs) const {
  const Facts in = out_.facts_of(inputs);
  const Facts out = out_.facts_of(outputs);
  for (const AxisTrack& track : op.axes(in, out)) {
    bool through = all_of(track.out, [](int axis) { return axis == 0; });
    for (size_t i = 0; i < inputs.size() && through; ++i) {
      if (batched_.contains(node.inputs[i].node)) through = track.in[i] == 0;
    }
    if (through) return {};
  }
  return refuse(node, "it does not carry an extra leading axis through, so that the batch would be "
                      "mixed");
}

Status Batch::refuse(const Node& node, std::string_view why) {
  return fail(Code::kUnsupported, "Giving it a batch axis: ", why)
      .in_node(node.name, node.op->name())
      .hint("Export the model with a batch axis");
}

Status Batch::node(int id) {
  const Node& node = graph_.node(id);
  const auto own = static_cast<size_t>(id);
  if (node.op->as<Source>()) return source(id);
  if (const auto* constant = node.op->as<Const>()) {
    mapped_[own] = {out_.add_const(node.name, constant->value, node.line)};
    return {};
  }
  std::vector<bool> batched;
  int rank = 0;
  for (const OutletId input : node.inputs) {
    batched.push_back(batched_.contains(input.node));
    if (batched.back()) rank = std::max(rank, graph_.fact(input).rank());
  }
  const bool any = contains(batched, true);
  std::vector<OutletId> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const OutletId old = node.inputs[i];
    OutletId wire = mapped_[static_cast<size_t>(old.node)][static_cast<size_t>(old.slot)];
    if (any) {
      RILL_ASSIGN(wire, input_of(node, i, rank));
    }
    inputs.push_back(wire);
  }
  OpPtr op = node.op;
  if (any) {
    if (op->nested() != nullptr) return refuse(node, "its body would need one too");
    const std::shared_ptr<Op> shifted = op->clone();
    Shift shift(batch_, batched);
    shifted->fields(shift);
    op = shifted;
  }
  auto made = out_.add_folded(node.name, op, inputs, node.line);
  if (!made.ok()) return any ? refuse(node, made.error().message) : made.status();
  mapped_[own] = std::move(made).value();
  if (!any) return {};
  batched_.insert(id);
  return check(node, *op, inputs, mapped_[own]);
}

Status Batch::finish() {
  Streaming* streaming = out_.streaming ? &*out_.streaming : nullptr;
  const auto shift = [&](int* axis, OutletId old) {
    if (*axis >= 0 && batched_.contains(old.node)) ++*axis;
  };
  out_.inputs.clear();
  for (size_t i = 0; i < graph_.inputs.size(); ++i) {
    const OutletId old = graph_.inputs[i];
    out_.inputs.push_back(inputs_[static_cast<size_t>(old.node)]);
    if (streaming && i < streaming->input_axes.size()) shift(&streaming->input_axes[i], old);
  }
  bool carried = false;
  for (size_t i = 0; i < graph_.outputs.size(); ++i) {
    const OutletId old = graph_.outputs[i];
    OutletId wire = mapped_[static_cast<size_t>(old.node)][static_cast<size_t>(old.slot)];
    if (streaming && i < streaming->outputs.size()) shift(&streaming->outputs[i].axis, old);
    const int axis = carrier(out_.fact(wire));
    if (axis > 0) {
      std::vector<int64_t> perm{axis};
      for (int k = 0; k < out_.fact(wire).rank(); ++k) {
        if (k != axis) perm.push_back(k);
      }
      RILL_ASSIGN(const auto moved, out_.add(str_cat("batchify.move.output.", i),
                                             make_op<ops::Transpose>(perm), {wire}));
      wire = moved[0];
    }
    carried |= axis >= 0;
    out_.add_output(graph_.output_names[i], wire);
  }
  if (carried) return {};
  return fail(Code::kArg, "No output carries the batch axis ", symbol_);
}

Result<Graph> Batch::run() {
  out_ = empty_like(graph_);
  out_.scope.declare(symbol_);
  mapped_.resize(graph_.nodes.size());
  inputs_.resize(graph_.nodes.size());
  for (const std::string& name : shared_) {
    const bool listed =
        any_of(graph_.inputs, [&](OutletId input) { return graph_.node(input.node).name == name; });
    if (!listed) {
      return fail(Code::kArg, name, " is listed as a shared input but is not a model input");
    }
  }
  for (const OutletId input : graph_.inputs) {
    joins_ |= !is_shared(graph_.node(input.node).name) && carrier(graph_.fact(input)) >= 0;
  }
  for (size_t id = 0; id < graph_.nodes.size(); ++id) RILL_TRY(node(static_cast<int>(id)));
  RILL_TRY(finish());
  return joins_ ? with_moves_absorbed(out_.compacted()) : out_.compacted();
}

}  // namespace

Result<Graph> with_batch(const Graph& graph, std::string_view symbol,
                         std::span<const std::string> shared) {
  return Batch(graph, symbol, shared).run();
}

}  // namespace rill::transforms
