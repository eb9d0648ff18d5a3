#include "transforms/float_precision.h"

#include <map>

#include "core/base/search.h"
#include "core/graph/graph_copy.h"
#include "core/graph/some_fields.h"
#include "core/graph/walk.h"
#include "core/optim/precision.h"
#include "ops/array/cast.h"
#include "ops/control/loop_sum.h"
#include "ops/control/scan.h"
#include "ops/rnn/recognise.h"

namespace rill::transforms {
namespace {

TensorPtr converted(const TensorPtr& value, DType from, DType to) {
  if (!value || value->dtype() != from || value->block_format() != BlockFormat::kNone) return value;
  auto out = cast(*value, to);
  return out.ok() ? std::make_shared<const Tensor>(std::move(out).value()) : value;
}

/// Replaces the type, and constants of that type, in the attributes of an op.
class Converter final : public SomeFields {
 public:
  using SomeFields::field;
  Converter(DType from, DType to) : from_(from), to_(to) {}
  void field(const char*, DType& value) override {
    if (value == from_) value = to_;
  }
  void field(const char*, TensorPtr& value) override { value = converted(value, from_, to_); }

 private:
  DType from_;
  DType to_;
};

const ops::Scan* loop_of(const Node& node) { return node.op->as<ops::Scan>(); }

/// Copies a graph with another float type.
class Translation final : public GraphCopy {
 public:
  Translation(const Graph& graph, DType from, DType to, const NodeFilter& filter,
              std::vector<std::string>* notes)
      : GraphCopy(graph), from_(from), to_(to), filter_(filter), notes_(notes) {}

  Result<Graph> translated();

 private:
  Status visit(int id) override;
  Status copy(int id) override;
  Result<OutletId> whole(OutletId old) override;
  Result<OutletId> input(const Node& node, size_t index, bool selected);
  Result<OpPtr> op_of(const Node& node) const;
  bool takes(const Node& node, const Op& op) const;
  bool selects(int id) const;
  void keep_recurrent_layers();

  DType from_;
  DType to_;
  const NodeFilter& filter_;
  std::vector<std::string>* notes_;
  std::vector<bool> chained_;  ///< nodes of chains, where `to` is narrow
  std::vector<bool> recurrent_;  ///< nodes of recurrent layers, which keep the old type
  /// Constants in their old type for unconverted nodes, with or without rounding to the new type.
  std::map<std::pair<OutletId, bool>, OutletId> exact_;
};

/// Return the wire for an input of a node that is converted (`selected`) or not.
Result<OutletId> Translation::input(const Node& node, size_t index, bool selected) {
  const OutletId old = node.inputs[index];
  const OutletId wire = mapped_.at(old);
  const auto id = static_cast<size_t>(&node - graph_.nodes.data());
  const bool rounds = !recurrent_.empty() && recurrent_[id];
  if (graph_.fact(old).dtype != from_) return wire;
  const DType wanted = selected ? to_ : from_;
  if (out_.fact(wire).dtype == wanted) return wire;
  const TensorPtr& value = graph_.fact(old).konst;
  if (value && value->block_format() != BlockFormat::kNone) return wire;
  if (!selected && value) {
    // Weights of recurrent layers are rounded to the new type, so that the kernel can store them in
    // it.
    auto [it, added] = exact_.try_emplace({old, rounds});
    if (added) {
      const TensorPtr kept = rounds ? converted(converted(value, from_, to_), to_, from_) : value;
      it->second = out_.add_const(graph_.node(old.node).name, kept, node.line);
    }
    return it->second;
  }
  RILL_ASSIGN(const auto cast, out_.add_folded(str_cat(node.name, ".cast-", index),
                                               make_op<ops::Cast>(wanted), {wire}, node.line));
  return cast[0];
}

Result<OpPtr> Translation::op_of(const Node& node) const {
  if (const ops::Scan* scan = loop_of(node)) {
    auto copy = draft_op<ops::Scan>(*scan);
    RILL_ASSIGN(Graph body, with_float_type(*scan->body, from_, to_, {}, notes_));
    copy->body = std::make_shared<const Graph>(std::move(body));
    return OpPtr(copy);
  }
  if (node.op->nested() != nullptr) {
    return fail(Code::kUnsupported, "its float type cannot change once it is pulsed")
        .in_node(node.name, node.op->name())
        .hint("Change the type before pulsing: -t f32_to_f16 -t 'pulse(pulse: \"8\")'");
  }
  const std::shared_ptr<Op> copy = node.op->clone();
  Converter converter(from_, to_);
  copy->fields(converter);
  return OpPtr(copy);
}

/// Return whether the op works on inputs of the new type.
bool Translation::takes(const Node& node, const Op& op) const {
  Facts in;
  for (const OutletId& input : node.inputs) {
    Fact fact = graph_.fact(input);
    const bool packed = fact.konst && fact.konst->block_format() != BlockFormat::kNone;
    if (fact.dtype == from_ && !packed) {
      fact.dtype = to_;
      fact.konst = converted(fact.konst, from_, to_);
    }
    in.push_back(std::move(fact));
  }
  return op.infer(in).ok();
}

bool Translation::selects(int id) const {
  const bool chained = !chained_.empty() && chained_[static_cast<size_t>(id)];
  return !chained && filter_.matches(graph_.node(id).name);
}

Status Translation::visit(int id) {
  const Node& node = graph_.node(id);
  if (const Fact* source = source_of(*node.op)) {
    Fact fact = *source;
    if (fact.dtype == from_) fact.dtype = to_;
    mapped_.set(id, {out_.add_source(node.name, std::move(fact), node.line)});
  } else if (TensorPtr value = constant_of(*node.op)) {
    if (selects(id)) value = converted(value, from_, to_);
    mapped_.set(id, {out_.add_const(node.name, std::move(value), node.line)});
  } else {
    return copy(id);
  }
  return {};
}

Status Translation::copy(int id) {
  const Node& node = graph_.node(id);
  bool selected = selects(id);
  OpPtr op = node.op;
  if (selected) {
    RILL_ASSIGN(op, op_of(node));
    selected = takes(node, *op);
    if (!selected) op = node.op;
  }
  std::vector<OutletId> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    RILL_ASSIGN(const OutletId wire, input(node, i, selected));
    inputs.push_back(wire);
  }
  return append_folded(id, std::move(op), inputs);
}

Result<OutletId> Translation::whole(OutletId old) {
  const OutletId wire = mapped_.at(old);
  if (graph_.fact(old).dtype != from_ || out_.fact(wire).dtype != from_) return wire;
  const std::string name = str_cat(graph_.node(old.node).name, ".cast-out-", old.slot);
  RILL_ASSIGN(const auto cast, out_.add_folded(name, make_op<ops::Cast>(to_), {wire}));
  return cast[0];
}

/// Keep recurrent layers in the old type, which has kernels for them: rounding in every step would
/// cost more time than the smaller type saves.
void Translation::keep_recurrent_layers() {
  std::vector<const ops::Scan*> loops;
  for (const Node& each : graph_.nodes) loops.push_back(loop_of(each));
  recurrent_ = ops::recurrent_layers(graph_, loops);
  for (size_t id = 0; id < recurrent_.size(); ++id) {
    if (recurrent_[id]) chained_[id] = true;
  }
}

Result<Graph> Translation::translated() {
  if (is_reduced_float(to_) && !is_reduced_float(from_)) {
    Chains chains = chains_of(graph_, to_);
    chained_ = std::move(chains.nodes);
    if (notes_) notes_->insert(notes_->end(), chains.notes.begin(), chains.notes.end());
    keep_recurrent_layers();
  }
  return std::move(*this).run();
}

std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    if (c == ',') {
      out.emplace_back();
    } else if (c != ' ') {
      out.back().push_back(c);
    }
  }
  return out;
}

bool has_any(std::string_view name, const std::vector<std::string>& pieces) {
  return any_of(
      pieces, [&](const std::string& piece) { return name.find(piece) != std::string_view::npos; });
}

}  // namespace

bool NodeFilter::matches(std::string_view name) const {
  return (!include || has_any(name, *include)) && !has_any(name, exclude);
}

NodeFilter filter_from_text(std::string_view text) {
  NodeFilter out;
  if (text.starts_with("==")) out.include = split_names(text.substr(2));
  if (text.starts_with("!=")) out.exclude = split_names(text.substr(2));
  return out;
}

Result<Graph> with_float_type(const Graph& graph, DType from, DType to, const NodeFilter& filter,
                              std::vector<std::string>* notes) {
  if (!is_reduced_float(to) || is_reduced_float(from)) {
    return Translation(graph, from, to, filter, notes).translated();
  }
  // A loop would round its sum in every iteration.
  RILL_ASSIGN(const Graph sums, ops::sum_loops(graph));
  return Translation(sums, from, to, filter, notes).translated();
}

}  // namespace rill::transforms
