#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/nnef.h"
#include "nnef_loader/build/limits.h"
#include "nnef_loader/build/names.h"
#include "nnef_loader/build/op_index.h"
#include "nnef_loader/build/real_sizes.h"
#include "nnef_loader/build/resources.h"
#include "nnef_loader/build/values.h"
#include "nnef_loader/load.h"
#include "nnef_loader/statements.h"
#include "nnef_loader/syntax/ast.h"
#include "nnef_loader/syntax/quant.h"

namespace rill::nnef {

inline constexpr std::string_view kGraphFile = "graph.nnef";
/// The property with a model name that is not an identifier.
inline constexpr std::string_view kGraphNameKey = "tract.name";

/// A graph under construction, the names of its nodes, and its sizes where wires are empty.
struct Target {
  Graph graph;
  NameTable names;
  RealSizes sizes;
  size_t audited = 0;  ///< nodes that count against the limits already
};

/// The environment of a body while its statements run.
struct Scope {
  Target* target = nullptr;
  std::map<std::string, Value, std::less<>> values;
  std::map<std::string, Value, std::less<>> lists_of_one;  ///< of names in `values`, for subscripts
  bool from_document = true;                               ///< places are places in graph.nnef
  bool is_graph_body = false;                              ///< not that of a fragment
  bool is_inlined = false;  ///< nodes go to the caller's graph, under separate names
  std::string prefix;       ///< of inlined ones: prefix of the names of nodes
  std::map<std::string, std::string, std::less<>> result_names;  ///< names that the caller assigns
  bool exact_results = false;
  std::map<const RValue*, Value> parts;  ///< of a tall expression, evaluated before the whole
};

using QuantType = LoadCtx::QuantType;

/// The names of a statement's nodes: the assigned name for the outermost call,
/// `<assigned>_<operator>` for the others.
struct Naming {
  std::string statement;
  bool root = false;                 ///< for the outermost call
  bool exact = false;                ///< the name is an identifier of the graph's own body
  std::vector<std::string> targets;  ///< of a root: the names of all results
  std::string parts;  ///< in a fragment: the stem of the names of the statement's parts
  std::vector<std::optional<QuantType>> quant;  ///< of a root: the types from graph.quant

  Naming nested() const { return {statement, false, false, {}, {}, {}}; }
  std::string node_name(std::string_view callee) const {
    return root ? statement : str_cat(statement, "_", callee);
  }
};

/// An argument of a call: an expression, or a value.
struct CallArgument {
  std::string_view name;
  const RValue* expression = nullptr;
  Value value;
};

struct Call {
  std::string_view callee;
  std::span<const CallArgument> arguments;
  std::string_view generic;
  bool infix = false;
};

/// Find the argument for a parameter: by name, else by position if all before it are positional.
const CallArgument* find_argument(const FragmentDecl& decl, const Call& call,
                                  std::string_view parameter);

class CallCtx;

/// Turns a document into a graph.
class Builder {
 public:
  /// All arguments must outlive the builder.
  Builder(const Document& document, const QuantInfo& quant, Resources* resources, OpIndex* index,
          const LoadOptions& options)
      : document_(document),
        quant_(quant),
        resources_(*resources),
        index_(*index),
        options_(options) {}

  Result<Graph> build();
  /// Run the statements of the document's graph on the wires of a model.
  Result<Statements> statements(const Graph& model);

  /// Evaluate an expression; with `creates_symbols`, undeclared names become symbols.
  Result<Value> eval(const RValue& expression, Scope& scope, const Naming& naming,
                     bool creates_symbols = false);
  /// Convert a value to a wire: a constant becomes a node called `name`, and lists of wires are
  /// concatenated.
  Result<OutletId> to_wire(const Value& value, Scope& scope, std::string_view name,
                           bool exact = false);
  /// Call an operator for the loader itself, whether or not its registry is enabled.
  Result<OutletId> invoke_needed(std::string_view name, std::span<const CallArgument> arguments,
                                 Scope& scope, const Naming& naming);
  /// Call an operator or a standard fragment, with values as arguments.
  Result<Value> call(const Call& call, Scope& scope, const Naming& naming) {
    return invoke(call, scope, naming);
  }
  /// Run the body of a fragment in place.
  Result<Value> expand(const Callee& callee, const Call& call, Scope& scope, const Naming& naming);
  /// Translate a fragment as a separate graph.
  Result<Graph> body_graph(std::string_view fragment, std::span<const Fact> facts, Target* outer);

  const OpIndex& index() const { return index_; }
  Resources& resources() { return resources_; }
  const LoadOptions& options() const { return options_; }
  /// Set the options for nested models: the operator modules, and the depth of nesting.
  void set_nesting(std::span<const OpModule* const> modules, int nesting) {
    modules_ = modules;
    nesting_ = nesting;
    eval_depth_ = nesting * kLevelsOfAModel;
  }
  std::span<const OpModule* const> modules() const { return modules_; }
  int nesting() const { return nesting_; }
  /// Return the current place in graph.nnef.
  Place place() const { return place_; }
  /// Fill in the place where it is unknown.
  Status placed(Status status) const;
  void warn(std::string_view message) const;
  /// Check the number of added nodes against the limits. Errors: kUnsupported beyond them.
  Status audit(Target* target);

 private:
  Status apply_extensions();
  Status apply_extension(const Extension& extension, std::vector<const Extension*>* scenarios);
  Status check_symbols(const Graph& graph) const;
  Status check_input_shapes(const Graph& graph) const;

  Status run_statement(const Assignment& statement, Scope& scope);
  /// Choose the names of a statement's nodes.
  Status name_results(const Assignment& statement, const Scope& scope, Naming* naming);
  Status bind_results(const Assignment& statement, const Value& value, Scope& scope,
                      const Naming& naming);
  Naming naming_for(std::vector<std::string> names, const Scope& scope) const;
  Status quant_types(std::span<const std::string> names, Naming* naming) const;
  bool keeps_list(const RValue& right);
  Status bind(const LValue& left, const Value& value, bool keep_list, Scope& scope,
              const Naming& naming, size_t* position);
  Status bind_name(const std::string& identifier, const Value& value, bool keep_list, Scope& scope,
                   const Naming& naming, size_t position);
  Result<OutletId> quantised(OutletId wire, const QuantType& type, const std::string& name,
                             Scope& scope);
  Result<Value> parameter_value(const FragmentDecl& decl, const Parameter& parameter,
                                const Call& call, Scope& scope, const Naming& naming);
  /// Make the environment for the body of a called fragment.
  Status enter(const Callee& callee, const Call& call, Scope& scope, const Naming& naming,
               Scope* inner);
  /// Run the body of a fragment and bind all its results.
  Status run_body(const FragmentDecl& decl, Scope& scope);

  /// Evaluate an expression; parts without a stored value are evaluated recursively.
  Result<Value> eval_at_once(const RValue& expression, Scope& scope, const Naming& naming,
                             bool creates_symbols);
  /// Evaluate the parts first, then the whole.
  Result<Value> eval_tall(const RValue& expression, Scope& scope, const Naming& naming,
                          bool creates_symbols);
  /// Evaluate the taken branch of a part, and keep its value.
  Status keep_part(const RValue& asked, const RValue& taken, Scope& scope, const Naming& naming,
                   bool creates_symbols);
  Result<Value> eval_node(const RValue& expression, Scope& scope, const Naming& naming);
  Result<Value> resolve(const std::string& name, Scope& scope);
  Result<Value> eval_list(const std::vector<RValue>& items, Scope& scope, const Naming& naming);
  Result<Value> eval_binary(const BinaryExpr& expression, Scope& scope, const Naming& naming);
  Result<Value> combine(BinaryOp op, Value left, Value right, Scope& scope, const Naming& naming);
  Result<Value> eval_unary(const UnaryExpr& expression, Scope& scope, const Naming& naming);
  Result<Value> eval_subscript(const SubscriptExpr& expression, Scope& scope, const Naming& naming);
  Result<Value> eval_if(const IfElseExpr& expression, Scope& scope, const Naming& naming);
  /// Return the branch that the condition selects.
  Result<const RValue*> branch_of(const IfElseExpr& expression, Scope& scope, const Naming& naming);
  Result<Value> eval_invocation(const Invocation& invocation, Scope& scope, const Naming& naming);
  Result<Value> invoke(const Call& call, Scope& scope, const Naming& naming);
  Result<Value> invoke_op(const Callee& callee, const Call& call, Scope& scope,
                          const Naming& naming);
  /// See `RealSizes::follow`.
  Value with_real_sizes(const Callee& callee, const Call& call, const CallCtx& ctx,
                        const Value& value, const Scope& scope, const Naming& naming);
  /// Record the numbers, or the one at a place of a list, that an expression reads.
  void take_numbers(const Value& value, std::string_view reader, const Scope& scope,
                    std::optional<int64_t> place = {});
  Result<OutletId> concatenate(const List& list, Scope& scope, std::string_view name, bool exact);
  Status charge(int64_t steps);
  /// Count an expression, and check its depth.
  Status check_depth();

  const Document& document_;
  const QuantInfo& quant_;
  Resources& resources_;
  OpIndex& index_;
  const LoadOptions& options_;
  std::span<const OpModule* const> modules_;
  int nesting_ = 0;
  Target main_;
  Place place_;
  std::vector<const FragmentDecl*> active_;  ///< fragments under expansion, outermost first
  bool creates_symbols_ = false;
  int eval_depth_ = 0;
  int64_t steps_ = 0;
  int64_t nodes_ = 0;
  int64_t folded_bytes_ = 0;
  int64_t assertions_ = 0;
};

/// Return the operators that the loader reads itself: `external`, `tract_core_external`,
/// `variable`.
const OpModule& source_module();

/// Read `tract_core_properties`. Skip unreadable properties, with a warning. Errors: kParse if they
/// describe how the model streams.
Status read_properties(const Document& document, const Builder& builder, Graph* graph);

}  // namespace rill::nnef
