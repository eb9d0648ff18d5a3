#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/graph/graph.h"

namespace rill {

/// A value while an NNEF graph is being read: a wire, a number that may be symbolic, a float, a
/// truth value, a text, or a list of these.
struct Value {
  std::variant<std::monostate, OutletId, Dim, float, bool, std::string, std::vector<Value>> v;

  Value() = default;
  Value(OutletId wire) : v(wire) {}                          // NOLINT: by design
  Value(Dim dim) : v(std::move(dim)) {}                      // NOLINT: by design
  Value(float scalar) : v(scalar) {}                         // NOLINT: by design
  Value(bool truth) : v(truth) {}                            // NOLINT: by design
  Value(std::string text) : v(std::move(text)) {}            // NOLINT: by design
  Value(std::vector<Value> list) : v(std::move(list)) {}     // NOLINT: by design
  static Value of_wires(std::span<const OutletId> wires);

  template <class T>
  const T* get() const {
    return std::get_if<T>(&v);
  }
};

/// Return a wire as a value, or its error.
Result<Value> as_value(OutletId wire);
Result<Value> as_value(Result<OutletId> wire);

/// The view of an op's NNEF reader: its arguments by name, with defaults, and the graph to add
/// nodes to. Implemented by the loader.
class LoadCtx {
 public:
  virtual ~LoadCtx() = default;

  /// Return whether the argument is given or has a default.
  virtual bool has(std::string_view name) const = 0;
  /// Return whether the argument is written in the call, as opposed to a default.
  virtual bool given(std::string_view name) const = 0;
  virtual Result<Value> value(std::string_view name) = 0;
  /// Read an argument as a wire; numbers and lists become constants.
  virtual Result<OutletId> wire(std::string_view name) = 0;
  virtual Result<std::vector<OutletId>> wires(std::string_view name) = 0;
  virtual Result<Dim> dim(std::string_view name) = 0;
  virtual Result<std::vector<Dim>> dims(std::string_view name) = 0;
  virtual Result<int64_t> integer(std::string_view name) = 0;
  virtual Result<std::vector<int64_t>> integers(std::string_view name) = 0;
  virtual Result<float> number(std::string_view name) = 0;
  virtual Result<bool> boolean(std::string_view name) = 0;
  virtual Result<std::string> text(std::string_view name) = 0;
  /// Read a list of (before, after).
  virtual Result<Pads> pads(std::string_view name) = 0;
  // The same for literals, which are measured here: at every call that takes room.
  bool has(const char* name) const;
  bool given(const char* name) const;
  Result<Value> value(const char* name);
  Result<OutletId> wire(const char* name);
  Result<std::vector<OutletId>> wires(const char* name);
  Result<Dim> dim(const char* name);
  Result<std::vector<Dim>> dims(const char* name);
  Result<int64_t> integer(const char* name);
  Result<std::vector<int64_t>> integers(const char* name);
  Result<float> number(const char* name);
  Result<bool> boolean(const char* name);
  Result<std::string> text(const char* name);
  /// Return a wire with this value.
  virtual Result<OutletId> to_wire(const Value& value) = 0;
  virtual Result<Dim> to_dim(const Value& value) = 0;

  virtual const Fact& fact(OutletId outlet) const = 0;
  /// Add a node named after what the statement assigns; constants are folded.
  virtual Result<std::vector<OutletId>> add(OpPtr op, WireList inputs,
                                            std::string_view suffix = {}) = 0;
  /// Set the fields of an op from the arguments with the same names. A tensor keeps its value if
  /// its argument is left out, or false. Errors: kParse for a missing argument or one of another
  /// type; kArg for a tensor that is no constant; kInternal for a `DType`, which the op's module
  /// reads.
  virtual Status fields(Op& op) = 0;
  /// The same where the op has a field for each argument that is no tensor; else kInternal.
  virtual Status all_fields(Op& op) = 0;
  /// Set the fields of an op and add it; its inputs are the tensors in the declaration's order.
  virtual Result<Value> add_declared(std::shared_ptr<Op> op) = 0;
  Result<OutletId> add1(OpPtr op, WireList inputs, std::string_view suffix = {});
  /// The same, for the output of the statement.
  Result<Value> add_value(OpPtr op, WireList inputs, std::string_view suffix = {});
  virtual Result<OutletId> konst(Tensor value, std::string_view suffix = {}) = 0;

  /// The type that graph.quant asks of output i of this statement; nothing if it has no entry.
  struct QuantType {
    DType dtype;
    QParams q;
  };
  virtual std::optional<QuantType> quant(int output = 0) const = 0;
  /// The generic type of the call: "scalar" in `variable<scalar>(...)`, or empty.
  virtual std::string_view generic() const = 0;
  /// Return whether the call is written as an operator between its operands: "a / b".
  virtual bool infix() const { return false; }
  /// The name that output i is assigned to.
  virtual std::string assigned_name(int output = 0) const = 0;
  /// Find `<label>.dat`.
  virtual Result<TensorPtr> resource(std::string_view label) = 0;
  /// Translate a fragment of the document as the body of a loop, its parameters as sources.
  /// `facts`: the facts of the parameters, in their order.
  struct BodyParameter {
    std::string name;
  };
  virtual Result<std::vector<std::string>> fragment_parameters(std::string_view fragment) = 0;
  virtual Result<std::vector<std::string>> fragment_results(std::string_view fragment) = 0;
  virtual Result<Graph> fragment_graph(std::string_view fragment, std::span<const Fact> facts) = 0;
  virtual Graph& graph() = 0;
  virtual int line() const = 0;
  virtual int rank_error_line() const { return line(); }
};

using LoadFn = Result<Value> (*)(LoadCtx&);

/// Read an op whose declaration has the tensors that are its inputs, and its fields by name.
template <class T>
Result<Value> load_declared(LoadCtx& ctx) {
  return ctx.add_declared(draft_op<T>());
}

/// An operator of the dialect: its declaration in NNEF syntax, the registry that has it, and its
/// reader.
struct NnefOp {
  const char* registry;
  const char* declaration;  ///< "fragment conv(input: tensor<scalar>, ...) -> (output: ...);"
  LoadFn load;
};

/// A faster form that a module has for nodes which begin at an operator of another module.
struct FuseRule {
  const void* of;  ///< the class of that operator, `&T::kKind`
  Status (*fuse)(Rewrite& rewrite);
};

/// The exports of an operator module: the operators of the dialect that it reads.
struct OpModule {
  const char* name;
  std::span<const NnefOp> nnef;
  std::span<const OpClass> classes = {};  ///< whose `eval` plans may call
  std::span<const FuseRule> rules = {};   ///< for operators of other modules, which ask for them
};

/// The view of an op's writer: names of its inputs, and a place for statements. Implemented by the
/// loader's writer.
class SaveCtx {
 public:
  virtual ~SaveCtx() = default;
  virtual const Graph& graph() const = 0;
  virtual const Node& node() const = 0;
  /// The expression that stands for input i: a name, or a literal for small constants.
  virtual Result<std::string> in(int i) = 0;
  /// As `in`, with unit axes in front until the rank is reached.
  virtual Result<std::string> literal(const Tensor& tensor) = 0;
  /// Spell an extent as an expression that reads back as it.
  virtual std::string dim(const Dim& value) = 0;
  std::string dims(std::span<const Dim> values);
  /// Name a constant: writes `<label>.dat` and a `variable` statement.
  virtual Result<std::string> variable(std::string_view label, const TensorPtr& tensor) = 0;
  /// Emit `name = expression;` for output i.
  virtual void assign(std::string_view expression, int output = 0) = 0;
  /// Emit `(a, b, ...) = expression;` for all outputs.
  virtual void assign_all(std::string_view expression) = 0;
  /// An argument whose text the op's module gives; it is left out where that is empty.
  struct Argument {
    std::string_view name;
    std::string text;
  };
  /// Emit a call of the declared operator: `own` arguments, fields by their names for the others,
  /// and inputs for the tensors that are neither. A field without a tensor is left out. Errors:
  /// kInternal for an argument that is none of these.
  virtual Status assign_declared(const NnefOp& form, std::span<const Argument> own) = 0;
  Status assign_declared(const NnefOp& form, std::initializer_list<Argument> own = {}) {
    return assign_declared(form, std::span(own.begin(), own.size()));
  }
  /// Emit a helper statement; returns the name that it got.
  virtual std::string temp(std::string_view stem, std::string_view expression) = 0;
  virtual void need_registry(std::string_view registry) = 0;
  /// Write a loop body as a fragment; returns its name.
  virtual Result<std::string> body(const Graph& body) = 0;
  /// The names that the fragment of a loop body gives its parameters and results.
  virtual Result<std::string> body_input(const Graph& body, size_t index) = 0;
  virtual Result<std::string> body_output(const Graph& body, size_t index) = 0;
};

/// Spell attribute values in NNEF.
std::string nnef_text(int64_t value);
std::string nnef_text(bool value);
std::string nnef_text(float value);
std::string nnef_text(std::string_view value);
std::string nnef_text(std::span<const int64_t> values);
std::string nnef_text(const Pads& values);

}  // namespace rill
