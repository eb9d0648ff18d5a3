#include "core/graph/graph.h"

#include <algorithm>
#include <charconv>

#include "core/base/search.h"
#include "core/graph/nnef.h"
#include "core/graph/walk.h"
#include "core/graph/written.h"
#include "core/tensor/small.h"

namespace rill {
namespace {

// Folding may create larger constants only within the budget `Graph::large_folds`.
constexpr int64_t kSmallFoldElements = int64_t{1} << 22;
// Folds per large constant of a file that the budget allows: a cast, a scale, a transposition and
// one spare.
constexpr int64_t kFoldsOfLargeConstant = 4;

}  // namespace

Facts one_fact(Fact fact) {
  Facts out;
  out.push_back(std::move(fact));
  return out;
}

Fact Fact::of_tensor(const TensorPtr& tensor) {
  Fact fact{tensor->dtype(), tensor->qparams(), {}, tensor};
  fact.shape.assign(tensor->shape().begin(), tensor->shape().end());
  return fact;
}

bool Fact::mentions(std::string_view symbol) const {
  return any_of(shape, [&](const Dim& d) { return d.mentions(symbol); });
}

Result<std::vector<int64_t>> Fact::concrete_shape() const {
  std::vector<int64_t> out;
  for (const Dim& extent : shape) {
    const auto value = extent.to_int();
    if (!value) return fail(Code::kSymbol, "Expected concrete shape, found: ", to_string());
    out.push_back(*value);
  }
  return out;
}

std::string Fact::to_string() const {
  std::string out;
  for (const Dim& extent : shape) out += str_cat(extent, ",");
  if (shape.empty()) out += ",";
  out += dtype_name(dtype);
  if (is_quantised(dtype)) out += str_cat("(Z:", q.zero_point, " S:", q.scale, ")");
  return out;
}

Fact substitute(const Fact& fact, std::string_view symbol, const Dim& by) {
  Fact out = fact;
  for (Dim& extent : out.shape) extent = extent.substitute(symbol, by);
  return out;
}

std::string Graph::unique_name(std::string_view stem) const {
  const auto it = names_.find(stem);
  if (it == names_.end()) return std::string(stem);
  for (int i = it->second;; ++i) {
    std::string candidate = str_cat(stem, "_", i);
    if (names_.find(candidate) == names_.end()) return candidate;
  }
}

std::string Graph::claim_name(std::string_view stem) {
  std::string claimed = unique_name(stem);
  if (claimed.size() > stem.size()) {
    // Smaller numbers were tried before and are taken, so start after the last one.
    int next = 0;
    std::from_chars(claimed.data() + stem.size() + 1, claimed.data() + claimed.size(), next);
    names_.find(stem)->second = next + 1;
  }
  names_.emplace(claimed, 1);
  return claimed;
}

std::vector<OutletId> Graph::outlets_of(int id) const {
  std::vector<OutletId> outlets;
  const int slots = static_cast<int>(node(id).outputs.size());
  outlets.reserve(static_cast<size_t>(slots));
  for (int slot = 0; slot < slots; ++slot) outlets.push_back({id, slot});
  return outlets;
}

std::vector<OutletId> Graph::add_known(const Node& node, std::vector<OutletId> node_inputs) {
  nodes.push_back(
      {claim_name(node.name), node.op, std::move(node_inputs), node.outputs, node.line});
  return outlets_of(static_cast<int>(nodes.size()) - 1);
}

Facts Graph::facts_of(std::span<const OutletId> outlets) const {
  Facts facts;
  facts.reserve(outlets.size());
  for (const OutletId& outlet : outlets) facts.push_back(fact(outlet));
  return facts;
}

Result<std::vector<OutletId>> Graph::add(std::string_view node_name, OpPtr op, WireList node_inputs,
                                         int line) {
  auto inferred = op->infer(facts_of(node_inputs));
  return add_inferred(node_name, std::move(op), node_inputs, std::move(inferred), line);
}

Result<std::vector<OutletId>> Graph::add_inferred(std::string_view node_name, OpPtr op,
                                                  WireList node_inputs, Result<Facts> inferred,
                                                  int line) {
  if (!inferred.ok()) {
    return std::move(inferred).take_status().in_node(node_name, op->name()).at("", line);
  }
  Node node{std::string(), std::move(op), node_inputs.to_vector(), std::move(inferred).value(),
            line};
  for (Fact& output : node.outputs) {
    if (output.rank() > kMaxRank) {
      return fail(Code::kShape, "rank ", output.rank(), ": at most ", kMaxRank, " axes")
          .in_node(node_name, node.op->name());
    }
    for (Dim& extent : output.shape) {
      extent = scope.simplify(extent);
      if (!extent.valid()) {
        return fail(Code::kShape,
                    "an extent of the output is out of range, or extents clash: ", output)
            .in_node(node_name, node.op->name())
            .at("", line);
      }
      const auto number = extent.to_int();
      if (number && *number < 0) {
        return fail(Code::kShape, "the output would have a negative extent: ", output)
            .in_node(node_name, node.op->name())
            .at("", line);
      }
    }
  }
  node.name = claim_name(node_name);
  nodes.push_back(std::move(node));
  return outlets_of(static_cast<int>(nodes.size()) - 1);
}

Result<std::vector<Tensor>> evaluate(const Op& op, std::span<const TensorPtr> inputs,
                                     const Facts& outputs) {
  std::vector<Tensor> results;
  std::vector<View> in;
  std::vector<View> out;
  for (const TensorPtr& input : inputs) in.push_back(input->view());
  for (const Fact& fact : outputs) {
    RILL_ASSIGN(std::vector<int64_t> shape, fact.concrete_shape());
    RILL_ASSIGN(Tensor tensor, Tensor::zeros(fact.dtype, std::move(shape), fact.q));
    results.push_back(std::move(tensor));
  }
  if (all_of(results, [](const Tensor& tensor) { return tensor.volume() == 0; })) return results;
  for (Tensor& tensor : results) out.push_back(tensor.view());
  EvalCtx ctx;
  ctx.in = in;
  ctx.out = out;
  RILL_TRY(op.eval(ctx));
  return results;
}

namespace {

/// Return the constant with other extents if the operator changes only the extents; the elements
/// are shared.
std::optional<Tensor> reshaped_value(const Op& op, std::span<const OutletId> inputs,
                                     const Graph& graph, const Facts& outputs) {
  const bool keeps = op.traits().keeps_order && inputs.size() == 1 && outputs.size() == 1;
  if (!keeps) return std::nullopt;
  const TensorPtr& value = graph.fact(inputs[0]).konst;
  auto shape = outputs[0].concrete_shape();
  const bool same_type = value->dtype() == outputs[0].dtype && value->qparams() == outputs[0].q;
  if (!shape.ok() || !is_plain(value->dtype()) || !same_type) return std::nullopt;
  auto out = value->reshaped(std::move(shape).value());
  return out.ok() ? std::optional(std::move(out).value()) : std::nullopt;
}

bool can_fold(const Graph& graph, const Op& op, std::span<const OutletId> inputs,
              const Facts& outputs) {
  if (!op.foldable() || inputs.empty()) return false;
  int64_t input_elements = 0;
  for (const OutletId& input : inputs) {
    const TensorPtr& value = graph.fact(input).konst;
    if (!value || value->block_format() != BlockFormat::kNone) return false;
    input_elements = std::max(input_elements, value->volume());
  }
  for (const Fact& fact : outputs) {
    const auto count = volume(fact.shape).to_int();
    if (!count) return false;
    // A few bytes of a file can request a large constant, so folding a large constant must not
    // enlarge it.
    if (*count > kSmallFoldElements && (*count > input_elements || *count > graph.large_folds)) {
      return false;
    }
    const bool rounds = is_float(fact.dtype) && op.tolerance() == Tolerance::kRounding;
    if (rounds && graph.numbers_bound) return false;
  }
  return true;
}

}  // namespace

Result<std::vector<OutletId>> Graph::add_folded(std::string_view node_name, OpPtr op,
                                                WireList node_inputs, int line) {
  auto inferred = op->infer(facts_of(node_inputs));
  const auto as_node = [&] {
    return add_inferred(node_name, std::move(op), node_inputs, std::move(inferred), line);
  };
  if (!inferred.ok() || !can_fold(*this, *op, node_inputs, *inferred)) return as_node();
  if (auto value = reshaped_value(*op, node_inputs, *this, *inferred)) {
    auto shared = std::make_shared<const Tensor>(std::move(*value));
    return std::vector{append_const(node_name, std::move(shared), line)};
  }
  std::vector<TensorPtr> values;
  for (const OutletId& input : node_inputs) values.push_back(fact(input).konst);
  auto results = evaluate(*op, values, *inferred);
  // A value that is still undecided, such as S >= 3, stays in the graph.
  if (!results.ok()) return as_node();
  std::vector<OutletId> outlets;
  for (size_t i = 0; i < results->size(); ++i) {
    Tensor& value = (*results)[i];
    if (value.dtype() == DType::kDim) {
      for (int64_t k = 0; k < value.volume(); ++k) {
        Dim& dim = value.mutable_data<Dim>()[k];
        dim = scope.simplify(dim);
        if (!dim.valid()) {
          return fail(Code::kSymbol, "a symbolic value is out of range")
              .in_node(node_name, op->name())
              .at("", line);
        }
      }
    }
    if (value.volume() > kSmallFoldElements) large_folds -= value.volume();
    outlets.push_back(append_const(i == 0 ? std::string(node_name) : str_cat(node_name, "_", i),
                                   std::make_shared<const Tensor>(std::move(value)), line));
  }
  return outlets;
}

OutletId Graph::add_source(std::string_view source_name, Fact source_fact, int line) {
  const OutletId outlet{static_cast<int>(nodes.size()), 0};
  nodes.push_back({claim_name(source_name), make_op<Source>(source_fact), {}, {source_fact}, line});
  inputs.push_back(outlet);
  return outlet;
}

OutletId Graph::add_const(std::string_view const_name, TensorPtr value, int line) {
  if (value->volume() > kSmallFoldElements) large_folds += kFoldsOfLargeConstant * value->volume();
  return append_const(const_name, std::move(value), line);
}

OutletId Graph::append_const(std::string_view const_name, TensorPtr value, int line) {
  const OutletId outlet{static_cast<int>(nodes.size()), 0};
  Node node{claim_name(const_name), make_op<Const>(value), {}, {Fact::of_tensor(value)}, line};
  nodes.push_back(std::move(node));
  return outlet;
}

void Graph::add_output(std::string_view output_name, OutletId outlet) {
  outputs.push_back(outlet);
  output_names.emplace_back(output_name);
}

void Graph::read_shape(OutletId wire) {
  for (const Dim& extent : fact(wire).shape) scope.take_as_extent(extent);
  shape_read_.resize(nodes.size(), 0);
  std::vector<int> open{wire.node};
  while (!open.empty()) {
    const auto id = static_cast<size_t>(open.back());
    open.pop_back();
    if (std::exchange(shape_read_[id], 1) != 0) continue;
    for (const Fact& made : nodes[id].outputs) {
      for (const Dim& extent : made.shape) scope.take_as_length(extent);
    }
    for (const OutletId& input : nodes[id].inputs) open.push_back(input.node);
  }
}

std::vector<std::vector<int>> Graph::count_uses() const {
  std::vector<std::vector<int>> uses(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) uses[i].assign(nodes[i].outputs.size(), 0);
  const auto use = [&](const OutletId& outlet) {
    ++uses[static_cast<size_t>(outlet.node)][static_cast<size_t>(outlet.slot)];
  };
  for (const Node& each : nodes) std::for_each(each.inputs.begin(), each.inputs.end(), use);
  std::for_each(outputs.begin(), outputs.end(), use);
  return uses;
}

namespace {

TensorPtr substitute(const TensorPtr& tensor, std::string_view symbol, const Dim& by) {
  if (!tensor || tensor->dtype() != DType::kDim) return tensor;
  Tensor out = small_zeros(DType::kDim, tensor->shape());
  for (int64_t i = 0; i < out.volume(); ++i) {
    out.mutable_data<Dim>()[i] = tensor->data<Dim>()[i].substitute(symbol, by);
  }
  return std::make_shared<const Tensor>(std::move(out));
}

}  // namespace

std::vector<std::string> symbols_of(const Graph& graph) {
  std::vector<std::string> out;
  for (const std::vector<OutletId>* ends : {&graph.inputs, &graph.outputs}) {
    for (const OutletId end : *ends) {
      for (const Dim& extent : graph.fact(end).shape) extent.collect_symbols(&out);
    }
  }
  return out;
}

Graph empty_like(const Graph& graph) {
  Graph out;
  out.name = graph.name;
  out.scope = graph.scope;
  out.properties = graph.properties;
  out.streaming = graph.streaming;
  out.numbers_bound = graph.numbers_bound;
  out.large_folds = graph.large_folds;
  return out;
}

namespace {

/// Finds wires whose length expression differs from their extent, because an upstream window is
/// longer than its input: the wire then has no frames, but the expression is negative. In an
/// attribute, for example of a slice, the expression would select wrong frames. As data, the length
/// would be negative.
class ExtentsCheck {
 public:
  ExtentsCheck(std::string_view symbol, const Dim& by) : symbol_(symbol), by_(by) {}

  void look_at(const Node& node, const Graph& bound, const std::vector<OutletId>& outlets,
               bool written_with_symbol) {
    // The node whose attribute contains a wrong length comes after the node of that wire.
    if (written_with_symbol && !wrong_.ok() && written_.empty()) written_ = node.name;
    for (size_t slot = 0; slot < node.outputs.size() && wrong_.ok(); ++slot) {
      const Fact& declared = node.outputs[slot];
      const Fact& real = bound.fact(outlets[slot]);
      for (int axis = 0; axis < std::min(declared.rank(), real.rank()); ++axis) {
        if (!declared.dim(axis).mentions(symbol_)) continue;
        const auto count = declared.dim(axis).substitute(symbol_, by_).to_int();
        const auto extent = real.dim(axis).to_int();
        if (!count || !extent || *count == *extent) continue;
        const bool is_empty = *count < 0 && *extent == 0;
        if (is_empty && !empty_.ok()) continue;
        Status& found = is_empty ? empty_ : wrong_;
        found = fail(Code::kShape, "axis ", axis, " has ", counted(*extent, "element"), " with ",
                     symbol_, "=", by_, ", where its length ", declared.dim(axis), " is ", *count)
                    .in_node(node.name, node.op->name())
                    .at(node.line > 0 ? "graph.nnef" : "", node.line);
        if (!is_empty) return;
      }
    }
  }

  /// Check a node that turns the length of an earlier wire into data.
  void look_at_data(const Node& node) {
    has_data_ = true;
    if (wrong_.ok()) wrong_ = empty_;
    if (!wrong_.ok() && written_.empty()) written_ = node.name;
  }

  /// Return whether a length is read as data anywhere, and not only used as an extent.
  bool has_data() const { return has_data_; }

  Status verdict() const {
    if (wrong_.ok() || written_.empty()) return {};
    return Status(wrong_).hint(str_cat("Use a larger ", symbol_,
                                       ": a window is longer than its input, and node \"", written_,
                                       "\" assumes that every window fits"));
  }

 private:
  std::string_view symbol_;
  const Dim& by_;
  bool has_data_ = false;
  std::string written_;  ///< the first later node whose attribute contains the symbol
  Status wrong_;
  Status empty_;  ///< the error for the first wire with a negative number of frames
};

Status check_assertions(const SymbolScope& scope, std::string_view symbol, const Dim& by) {
  for (const SymbolScope::Assertion& assertion : scope.assertions()) {
    for (const Dim& dim : assertion.non_negative) {
      const auto value = dim.mentions(symbol) ? dim.substitute(symbol, by).to_int() : std::nullopt;
      if (!value || *value >= 0) continue;
      return fail(Code::kSymbol, "The model asserts ", assertion.text, ", which ", symbol, "=", by,
                  " does not meet")
          .hint("Give a size that it allows");
    }
  }
  return {};
}

/// Check lengths that the model reads as data. A slice whose end is before its begin is empty, but
/// its length expression is negative.
Status check_lengths(const SymbolScope& scope, std::string_view symbol, const Dim& by) {
  std::vector<Dim> lengths = scope.lengths();
  for (const SymbolScope::Assertion& extent : scope.extents()) {
    lengths.push_back(extent.non_negative.front());
  }
  for (const Dim& dim : lengths) {
    const auto value = dim.mentions(symbol) ? dim.substitute(symbol, by).to_int() : std::nullopt;
    if (!value || *value >= 0) continue;
    return fail(Code::kShape, "The model reads the length ", dim, " of a wire, which is ", *value,
                " with ", symbol, "=", by)
        .hint(str_cat("Use a larger ", symbol,
                      ": a slice or a window is longer than its "
                      "input"));
  }
  return {};
}

/// Check numbers that nodes read: for an empty wire, the graph may compute with fewer than 0
/// frames.
Status check_numbers(const SymbolScope& scope, std::string_view symbol, const Dim& by) {
  for (const SymbolScope::Taken& each : scope.taken()) {
    if (!each.counted.mentions(symbol) && !each.real.mentions(symbol)) continue;
    const Dim counted = each.counted.substitute(symbol, by);
    const Dim real = each.real.substitute(symbol, by);
    const bool known = counted.is_const() && (real.is_const() || !real.valid());
    if (!known || counted == real) continue;
    const bool wraps = *counted.to_int() > INT32_MAX || *counted.to_int() < INT32_MIN;
    const std::string found = real.valid() ? real.to_string() : "undefined";
    Status status =
        each.counted.is_const()
            ? fail(Code::kShape, "the node takes the number ", each.real, " of lengths for ",
                   each.counted, ", but it is ", found, " with ", symbol, "=", by)
            : fail(Code::kShape, "the node reads the number ", each.counted,
                   " of lengths, which is ", counted, " with ", symbol, "=", by, ", but ", found,
                   " as the file computes it");
    return std::move(status)
        .in_node(each.node, each.op)
        .hint(wraps ? str_cat("Give less of ", symbol, ": the file computes it in 32 bits")
                    : str_cat("Give more of ", symbol,
                              ": a slice or a window is longer than its input"));
  }
  return {};
}

/// Bind a symbol in the lengths of streams, unless it is the stream symbol itself.
void bind_lengths(std::string_view symbol, const Dim& by, Streaming* streaming) {
  if (streaming->symbol() == symbol) return;
  for (StreamingOutput& output : streaming->outputs) {
    if (output.length) output.length = output.length->substitute(symbol, by);
  }
  for (std::optional<Dim>& length : streaming->input_lengths) {
    if (length) length = length->substitute(symbol, by);
  }
}

}  // namespace

Result<Graph> Graph::with_symbol(std::string_view symbol, const Dim& by) const {
  RILL_TRY(check_assertions(scope, symbol, by));
  Graph out = empty_like(*this);
  out.numbers_bound = out.numbers_bound || by.is_const();
  out.scope.substitute(symbol, by);
  if (out.streaming) bind_lengths(symbol, by, &*out.streaming);
  std::vector<std::vector<OutletId>> mapped(nodes.size());
  ExtentsCheck check(symbol, by);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& each = nodes[i];
    if (const Fact* source = source_of(*each.op)) {
      mapped[i] = {out.add_source(each.name, rill::substitute(*source, symbol, by), each.line)};
      continue;
    }
    if (const TensorPtr constant = constant_of(*each.op)) {
      mapped[i] = {out.add_const(each.name, substitute(constant, symbol, by), each.line)};
      continue;
    }
    std::vector<OutletId> node_inputs;
    for (const OutletId& input : each.inputs) {
      node_inputs.push_back(
          mapped[static_cast<size_t>(input.node)][static_cast<size_t>(input.slot)]);
    }
    OpPtr op = each.op->with_symbol(symbol, by);
    const bool written_with_symbol = op != nullptr;
    if (!op) op = each.op;
    auto made = out.add_folded(each.name, std::move(op), node_inputs, each.line);
    if (!made.ok()) {
      // A number that the graph computes wrong there is the cause, and its error names a node of
      // the file.
      RILL_TRY(check_numbers(scope, symbol, by));
      return made.take_status();
    }
    mapped[i] = std::move(made).value();
    if (mapped[i].size() == each.outputs.size()) {
      check.look_at(each, out, mapped[i], written_with_symbol);
    }
    if (reads_lengths(*this, each, symbol)) check.look_at_data(each);
  }
  for (const OutletId& output : outputs) {
    if (value_mentions(fact(output).konst, symbol)) check.look_at_data(node(output.node));
  }
  RILL_TRY(check.verdict());
  if (check.has_data()) RILL_TRY(check_lengths(scope, symbol, by));
  RILL_TRY(check_numbers(scope, symbol, by));
  out.inputs.clear();
  for (const OutletId& input : inputs)
    out.inputs.push_back(mapped[static_cast<size_t>(input.node)][0]);
  for (const OutletId& output : outputs) {
    out.outputs.push_back(
        mapped[static_cast<size_t>(output.node)][static_cast<size_t>(output.slot)]);
  }
  out.output_names = output_names;
  return std::move(out).compacted();
}

Graph Graph::stateless() const {
  Graph out = *this;
  for (Node& each : out.nodes) {
    if (OpPtr op = each.op->stateless()) each.op = std::move(op);
  }
  return out;
}

Graph Graph::compacted() const& { return Graph(*this).compacted(); }

namespace {

/// Return, by node, whether an output needs it. Inputs always count as needed.
std::vector<char> needed_nodes(const Graph& graph) {
  std::vector<char> needed(graph.nodes.size(), 0);
  for (const OutletId& output : graph.outputs) needed[static_cast<size_t>(output.node)] = 1;
  for (const OutletId& input : graph.inputs) needed[static_cast<size_t>(input.node)] = 1;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const OutletId& input : graph.nodes[i].inputs) {
      needed[static_cast<size_t>(input.node)] = 1;
    }
  }
  return needed;
}

}  // namespace

bool Graph::is_compact() const {
  const std::vector<char> needed = needed_nodes(*this);
  return !contains(needed, 0);
}

Graph Graph::compacted() && {
  const std::vector<char> needed = needed_nodes(*this);
  std::vector<int> mapped(nodes.size(), -1);
  const auto move = [&](OutletId& outlet) {
    outlet.node = mapped[static_cast<size_t>(outlet.node)];
  };
  const bool all = !contains(needed, 0);
  if (all) return std::move(*this);
  names_.clear();
  size_t left = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!needed[i]) continue;
    mapped[i] = static_cast<int>(left);
    std::for_each(nodes[i].inputs.begin(), nodes[i].inputs.end(), move);
    // Names from the caller may not be unique.
    nodes[i].name = claim_name(nodes[i].name);
    if (i != left) nodes[left] = std::move(nodes[i]);
    ++left;
  }
  nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(left), nodes.end());
  std::for_each(inputs.begin(), inputs.end(), move);
  std::for_each(outputs.begin(), outputs.end(), move);
  return std::move(*this);
}

}  // namespace rill
