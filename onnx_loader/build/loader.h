#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/graph/onnx.h"
#include "nnef_loader/build/builder.h"
#include "onnx_loader/build/op_index.h"
#include "onnx_loader/load.h"
#include "onnx_loader/proto/model.h"
#include "onnx_loader/proto/tensor.h"

namespace rill::onnx {

/// Bounds the memory of sequences that grow by one tensor per node.
constexpr int64_t kMostInSequences = int64_t{1} << 20;

/// A sequence of tensors: single ones first, then the entries along the first axis of `rows`, if
/// valid.
struct Sequence {
  std::vector<OutletId> items;
  OutletId rows;
};

/// The environment of a graph's nodes: the values of names, and the environment of the outer graph.
struct Env {
  Env* outer = nullptr;         ///< null for the model's graph and for functions
  nnef::Scope* scope = nullptr;  ///< scope to which nodes are added
  std::vector<OutletId>* captured = nullptr;  ///< of a body: the wires of `outer` that it reads
  std::unordered_map<std::string_view, OutletId> values;
  std::unordered_map<std::string_view, const TensorProto*> constants;  ///< not read yet
  std::unordered_map<std::string_view, Sequence> lists;
  std::unordered_set<std::string_view> absent;  ///< optional values without a value
  std::map<OutletId, OnnxCtx::Quantised> quantised;
  const Opsets* opsets = nullptr;
  const std::vector<AttributeProto>* attributes = nullptr;  ///< of the call, in a function
  std::string prefix;  ///< of the names of nodes
  int depth = 0;

  Graph& graph() const { return scope->target->graph; }
};

/// Symbols and their replacements.
using Equalities = std::vector<std::pair<std::string, Dim>>;

/// Results of earlier attempts to build the graph.
struct Findings {
  Equalities equal;
  std::vector<std::string> known;  ///< inputs whose values are taken from `LoadOptions::values`
  bool clamps = true;              ///< the result of `OnnxCtx::clamps`
  bool meets = false;  ///< extents of clamped slices may be equal at some sizes only
};

/// A node as a call of its operator. The node and its name must outlive it.
struct NodeCalled {
  const NodeProto& node;
  int64_t version = 0;  ///< of the node's domain
  const std::string& name;
  OnnxCallee callee;
  std::vector<nnef::CallArgument> arguments;
};

/// Makes a graph of a model. Thread: one at a time.
class Loader {
 public:
  /// All arguments must outlive the loader.
  Loader(const ModelProto& model, ProtoBudget budget, TensorReader tensors, const Operators& ops,
         const LoadOptions& options, const Findings& findings);

  Result<Graph> build();
  /// Add the reasons why `build` failed if another loader may succeed with them: symbols that must
  /// equal other extents, or inputs whose values must be known.
  bool find_out(Findings* findings) const;
  /// Add the symbols that must equal other extents of a graph that was built, and return whether
  /// there are any.
  bool find_equal(Findings* findings) const;

  /// Add the nodes of a graph in a separate environment.
  Status run_graph(const GraphProto& graph, Env* env);
  Result<std::vector<OutletId>> outputs_of(const GraphProto& graph, Env* env);
  /// Find the value of a name. Errors: kParse if no earlier node produces it.
  Result<OutletId> find(std::string_view name, Env* env);
  /// Find the sequence of a name; null if the name has none.
  Result<const Sequence*> find_sequence(std::string_view name, Env* env);
  Status keep_sequence(std::string_view name, Sequence all, Env* env);
  /// Make an environment for a graph that is an attribute. Errors: kUnsupported if it is too deep.
  Result<Env> inner(Env* outer);
  Result<GraphProto> read(Bytes graph) { return read_graph(graph, &budget_); }
  const ProtoBudget& budget() const { return budget_; }
  Result<OutletId> add_const(std::string_view name, TensorPtr value, Env* env);
  /// Return the rank that the file declares for a value, or for elementwise results of it.
  std::optional<int> stated_rank(std::string_view name) const;
  Status take_as_equal(const Dim& a, const Dim& b, const Env& env);
  Status expect_equal(const Dim& a, const Dim& b, const Env& env);
  bool clamps() { return clamped_ = findings_.clamps; }
  /// Return whether a node asked `clamps` and got true.
  bool has_clamped() const { return clamped_; }
  /// Return whether extents that are equal at some sizes were refused.
  bool may_meet() const { return may_meet_; }
  const TensorReader& tensors() const { return tensors_; }
  nnef::Builder& builder() { return builder_; }
  std::span<const OpModule* const> modules() const { return modules_; }
  Result<std::vector<OutletId>> read_node(const NodeProto& node, int64_t version,
                                          const std::string& name, Env* env);
  Status bind_outputs(const NodeProto& node, const std::vector<OutletId>& outlets, Env* env);
  /// Count the tensors in sequences. Errors: kUnsupported beyond the limit of the file.
  Status take_tensors(int64_t count);

 private:
  /// Return the body's wire for a wire of the outer graph.
  Result<OutletId> captured(OutletId outside, std::string_view name, Env* env);
  Status add_inputs(const GraphProto& graph, Env* env);
  Result<Fact> input_fact(const ValueInfo& info, Env* env);
  Result<Dim> extent(const ValueInfo& info, size_t axis, Graph* graph);
  Status add_outputs(const GraphProto& graph, Env* env);
  void keep_metadata(const GraphProto& graph, Graph* out);
  Status check_opsets();

  /// Run nodes in dependency order, whatever the file's order.
  Status run_nodes(const std::vector<NodeProto>& nodes, Env* env);
  Status run_node(const NodeProto& node, Env* env);
  Status run_loop(const NodeProto& node, int64_t version, const std::string& name, Env* env);
  /// Refuse a selection that replaces the places of a mask if mask and values differ in shape.
  Status check_selection(const NodeProto& node, Env* env);
  Result<std::vector<OutletId>> run_function(const FunctionProto& function, const NodeProto& node,
                                             const std::string& name, Env* env);
  Result<std::vector<OutletId>> call_node(const NodeCalled& called, Env* env);
  /// Keep the real values of results that are numbers; for other results, record the numbers that
  /// the node reads. See `nnef::RealSizes`.
  Status follow_sizes(const NodeCalled& called, std::vector<OutletId>* outlets, Env* env);
  /// Record results that are numbers of 32 bits: where they would wrap, they are refused.
  Status keep_32_bits(const NodeCalled& called, std::span<const OutletId> wires,
                      std::vector<OutletId>* outlets, Env* env);
  bool is_of_32_bits(const NodeCalled& called, std::span<const OutletId> wires,
                     const Env& env) const;
  /// Repeat a call in another graph, with other wires.
  Result<Value> call_beside(const NodeCalled& called, const Env& env, nnef::Target* beside,
                            const std::map<OutletId, OutletId>& moves);
  /// Record the numbers that a node reads among its inputs.
  void take_inputs(const NodeProto& node, const std::string& name, Env* env);
  const FunctionProto* function_of(const NodeProto& node) const;
  const TensorPtr* constant_for(std::string_view input) const;
  /// Return an extent with the symbols replaced that the next attempt replaces.
  Dim replaced(Dim dim, const Env& env) const;
  void compare(const ValueInfo& info, const Fact& fact);
  void warn(std::string_view message);

  const ModelProto& model_;
  std::span<const OpModule* const> modules_;
  ProtoBudget budget_;
  TensorReader tensors_;
  const LoadOptions& options_;
  const Findings& findings_;
  /// The inputs of the refused node, and of enclosing nodes.
  std::vector<OutletId> read_by_refused_;
  std::optional<std::pair<std::string, Dim>> demanded_;
  Equalities expected_;
  bool dequantizes_ = false;  ///< whether the node that is read takes integers of 4 or 2 bits
  bool may_meet_ = false;
  bool clamped_ = false;
  OpIndex index_;
  // The empty document that NNEF's builder expects.
  nnef::Document no_document_;
  nnef::QuantInfo no_quant_;
  nnef::Resources no_resources_;
  nnef::OpIndex nnef_index_;
  nnef::Builder builder_;
  nnef::Target target_;
  std::unordered_set<std::string_view> extent_names_;  ///< of inputs
  std::unordered_map<std::string_view, const ValueInfo*> declared_;
  std::unordered_map<std::string_view, std::string_view> made_of_;  ///< by elementwise nodes
  int warnings_ = 0;
  int64_t in_sequences_ = 0;
};

}  // namespace rill::onnx
