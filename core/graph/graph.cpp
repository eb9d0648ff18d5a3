#include "core/graph/graph.h"

#include <algorithm>
#include <charconv>

#include "core/base/search.h"
#include "core/graph/nnef.h"
#include "core/graph/walk.h"

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
  walk_before(*this, wire, [&](int id) {
    if (std::exchange(shape_read_[static_cast<size_t>(id)], 1) != 0) return false;
    for (const Fact& made : node(id).outputs) {
      for (const Dim& extent : made.shape) scope.take_as_length(extent);
    }
    return true;
  });
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
