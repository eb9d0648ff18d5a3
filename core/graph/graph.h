#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/dim/scope.h"
#include "core/graph/fact.h"
#include "core/graph/op.h"
#include "core/graph/streaming.h"

namespace rill {

/// An operator in a graph, with the sources of its inputs and the facts of its outputs.
struct Node {
  std::string name;
  OpPtr op;
  std::vector<OutletId> inputs;
  Facts outputs;
  int line = 0;  ///< line of graph.nnef; 0 if the node comes from elsewhere
};

/// A model: nodes in topological order that are held by value and refer to each other by index. A
/// copy has its own nodes, and shares ops and weights.
/// Thread: one at a time.
class Graph {
 public:
  std::string name = "network";
  std::vector<Node> nodes;
  std::vector<OutletId> inputs;   ///< outlets of `Source` nodes
  std::vector<OutletId> outputs;
  std::vector<std::string> output_names;
  SymbolScope scope;
  /// The properties of the file, without those of `streaming`.
  std::map<std::string, Tensor> properties;
  std::optional<Streaming> streaming;  ///< of a pulsed graph
  /// Whether a symbol was bound to a number. A stream computes step by step even wires that are
  /// constant for this number alone. So folding skips operators that round: the plan runs them,
  /// with the same rounding as the stream's steps.
  bool numbers_bound = false;
  /// The number of elements that folding may still create in large constants. It starts as a
  /// multiple of the elements of the file's constants, so that a small file cannot use unbounded
  /// memory.
  int64_t large_folds = 0;

  /// Return whether rewrites must keep every rounding, as those of a pulsed or bound graph must: it
  /// can know a constant that the open graph computes, and both have the same bits.
  bool keeps_rounding() const noexcept { return numbers_bound || streaming.has_value(); }
  const Node& node(int id) const noexcept { return nodes[static_cast<size_t>(id)]; }
  const Fact& fact(OutletId outlet) const noexcept {
    return node(outlet.node).outputs[static_cast<size_t>(outlet.slot)];
  }
  Facts facts_of(std::span<const OutletId> outlets) const;
  std::vector<OutletId> outlets_of(int id) const;
  const std::string& input_name(size_t index) const { return node(inputs[index].node).name; }

  /// Append a node: infer its facts, simplify their dims, and make its name unique.
  /// Errors: those of the op, with the names of node and op.
  Result<std::vector<OutletId>> add(std::string_view name, OpPtr op, WireList inputs, int line = 0);
  /// As `add`, but if all inputs are constants, evaluate the op now.
  Result<std::vector<OutletId>> add_folded(std::string_view name, OpPtr op, WireList inputs,
                                           int line = 0);
  /// Append a node of another graph, with inputs that have the same facts, without inferring again.
  std::vector<OutletId> add_known(const Node& node, std::vector<OutletId> inputs);
  /// Append an input of the model.
  OutletId add_source(std::string_view name, Fact fact, int line = 0);
  OutletId add_const(std::string_view name, TensorPtr value, int line = 0);
  void add_output(std::string_view name, OutletId outlet);
  /// Record that the model reads the shape of a wire as data: its extents, and all extents from
  /// which these follow.
  void read_shape(OutletId wire);

  std::string unique_name(std::string_view stem) const;
  /// Return the number of uses of every outlet, by node and slot; an output of the model counts as
  /// one.
  std::vector<std::vector<int>> count_uses() const;
  /// Return the graph with a symbol replaced everywhere, and all facts inferred again. Errors:
  /// kShape if the shapes no longer fit.
  Result<Graph> with_symbol(std::string_view symbol, const Dim& by) const;
  /// Return the graph without stream states: its ops keep nothing between runs, except for caches
  /// and random generators.
  Graph stateless() const;
  /// Return whether outputs need all nodes other than inputs of the model.
  bool is_compact() const;
  /// Return the graph without nodes that no output needs; inputs of the model stay.
  Graph compacted() const&;
  Graph compacted() &&;

 private:
  Result<std::vector<OutletId>> add_inferred(std::string_view name, OpPtr op, WireList inputs,
                                             Result<Facts> inferred, int line);
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  OutletId append_const(std::string_view name, TensorPtr value, int line);
  /// Return a unique name like `unique_name`, and reserve it.
  std::string claim_name(std::string_view stem);

  std::vector<char> shape_read_;  ///< by node: whether its extents are recorded
  /// By name: the number to append at the next request for it.
  std::unordered_map<std::string, int, TextHash, std::equal_to<>> names_;
};

/// An input of the model. Its fact is given, not inferred.
class Source final : public OpBase<Source> {
 public:
  Fact fact;
  explicit Source(Fact f) : fact(std::move(f)) {}
  std::string_view name() const override { return "Source"; }
  void fields(FieldVisitor& visitor) override;
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  bool foldable() const override { return false; }
  Status lower(Lowering& lowering) const override;
  Status save(SaveCtx& ctx) const override;
};

/// A constant.
class Const final : public OpBase<Const> {
 public:
  TensorPtr value;
  explicit Const(TensorPtr v) : value(std::move(v)) {}
  std::string_view name() const override { return "Const"; }
  void fields(FieldVisitor& visitor) override;
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override;
  Status save(SaveCtx& ctx) const override;
};

/// Evaluate an op on constants. Errors: those of the op; kUnsupported if an input is not known.
Result<std::vector<Tensor>> evaluate(const Op& op, std::span<const TensorPtr> inputs,
                                     const Facts& outputs);

/// List the symbols that an input or an output of the graph mentions.
std::vector<std::string> symbols_of(const Graph& graph);

/// Return a copy of the graph's metadata, without nodes, inputs and outputs.
Graph empty_like(const Graph& graph);

/// Return the fact with a symbol replaced.
Fact substitute(const Fact& fact, std::string_view symbol, const Dim& by);

}  // namespace rill
