#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/graph/graph.h"

namespace rill {

/// A value of the NNEF reader: a wire, an integer that may be symbolic, a float, a bool, a string,
/// or a list of values.
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

/// Return a wire as a value, or the error.
Result<Value> as_value(OutletId wire);
Result<Value> as_value(Result<OutletId> wire);

/// The interface of the loader to an op's NNEF reader: the op's arguments by name, with defaults,
/// and the graph that gets its nodes.
class LoadCtx {
 public:
  virtual ~LoadCtx() = default;

  /// Return whether the argument is given or has a default.
  virtual bool has(std::string_view name) const = 0;
  /// Return whether the call itself gives the argument, as opposed to a default.
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
  /// Read a list of pairs (before, after).
  virtual Result<Pads> pads(std::string_view name) = 0;
  // Overloads for literals, not inlined so that calls stay small.
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
  /// Add a node with the name that the statement assigns. Fold it if its inputs are constants.
  virtual Result<std::vector<OutletId>> add(OpPtr op, WireList inputs,
                                            std::string_view suffix = {}) = 0;
  /// Set the fields of an op from the arguments with the same names. A tensor keeps its value if
  /// its argument is omitted or `false`. Errors: kParse for a missing argument, or one of another
  /// type; kArg for a tensor that is not constant; kInternal for a `DType`, which the op's module
  /// must read.
  virtual Status fields(Op& op) = 0;
  /// As `fields`, but fail with kInternal unless the op has a field for each argument that is not a
  /// tensor.
  virtual Status all_fields(Op& op) = 0;
  /// Set the fields of an op, and add it with the tensors as inputs, in the order of the
  /// declaration.
  virtual Result<Value> add_declared(std::shared_ptr<Op> op) = 0;
  Result<OutletId> add1(OpPtr op, WireList inputs, std::string_view suffix = {});
  /// Add an op with one output, named after the statement's output.
  Result<Value> add_value(OpPtr op, WireList inputs, std::string_view suffix = {});
  virtual Result<OutletId> konst(Tensor value, std::string_view suffix = {}) = 0;

  struct QuantType {
    DType dtype;
    QParams q;
  };
  /// Return the type that graph.quant gives for output i of this statement; nothing if there is no
  /// entry.
  virtual std::optional<QuantType> quant(int output = 0) const = 0;
  /// Return the generic type of the call: "scalar" in `variable<scalar>(...)`, or empty.
  virtual std::string_view generic() const = 0;
  /// Return whether the call is written as an infix operator: "a / b".
  virtual bool infix() const { return false; }
  /// Return the name to which output i is assigned.
  virtual std::string assigned_name(int output = 0) const = 0;
  /// Return the tensor in `<label>.dat`.
  virtual Result<TensorPtr> resource(std::string_view label) = 0;
  struct BodyParameter {
    std::string name;
  };
  virtual Result<std::vector<std::string>> fragment_parameters(std::string_view fragment) = 0;
  virtual Result<std::vector<std::string>> fragment_results(std::string_view fragment) = 0;
  /// Translate a fragment of the document into a loop body whose sources are the parameters.
  /// `facts`: one per parameter, in order.
  virtual Result<Graph> fragment_graph(std::string_view fragment, std::span<const Fact> facts) = 0;
  virtual Graph& graph() = 0;
  virtual int line() const = 0;
  virtual int rank_error_line() const { return line(); }
};

using LoadFn = Result<Value> (*)(LoadCtx&);

/// Read an op whose declaration lists its inputs as tensors and its fields by name.
template <class T>
Result<Value> load_declared(LoadCtx& ctx) {
  return ctx.add_declared(draft_op<T>());
}

/// An operator of the dialect: its declaration in NNEF syntax, its registry and its reader.
struct NnefOp {
  const char* registry;
  const char* declaration;  ///< "fragment conv(input: tensor<scalar>, ...) -> (output: ...);"
  LoadFn load;
};

/// A fuse rule of a module for nodes with an operator of another module.
struct FuseRule {
  const void* of;  ///< the class of the operator, `&T::kKind`
  Status (*fuse)(Rewrite& rewrite);
};

/// The exports of an operator module: the operators of the dialect that it reads, and more.
struct OpModule {
  const char* name;
  std::span<const NnefOp> nnef;
  std::span<const OpClass> classes = {};  ///< classes whose `eval` plans may call
  std::span<const FuseRule> rules = {};   ///< for operators of other modules
};

/// The interface of the NNEF writer to an op's `save`: the names of its inputs, and the statements
/// that it emits.
class SaveCtx {
 public:
  virtual ~SaveCtx() = default;
  virtual const Graph& graph() const = 0;
  virtual const Node& node() const = 0;
  /// Return the expression for input i: a name, or a literal for small constants.
  virtual Result<std::string> in(int i) = 0;
  /// Return the NNEF literal of a constant.
  virtual Result<std::string> literal(const Tensor& tensor) = 0;
  /// Return an extent as an expression that the reader parses to an equal extent.
  virtual std::string dim(const Dim& value) = 0;
  std::string dims(std::span<const Dim> values);
  /// Write a constant as `<label>.dat` and a `variable` statement; return its name.
  virtual Result<std::string> variable(std::string_view label, const TensorPtr& tensor) = 0;
  /// Emit `name = expression;` for output i.
  virtual void assign(std::string_view expression, int output = 0) = 0;
  /// Emit `(a, b, ...) = expression;` for all outputs.
  virtual void assign_all(std::string_view expression) = 0;
  /// An argument whose text the op's module gives; if the text is empty, the argument is omitted.
  struct Argument {
    std::string_view name;
    std::string text;
  };
  /// Emit a call of the declared operator. Its arguments are those in `own`, the fields by name,
  /// and inputs for the remaining tensors. A tensor field that is null is omitted. Errors:
  /// kInternal for any other argument.
  virtual Status assign_declared(const NnefOp& form, std::span<const Argument> own) = 0;
  Status assign_declared(const NnefOp& form, std::initializer_list<Argument> own = {}) {
    return assign_declared(form, std::span(own.begin(), own.size()));
  }
  /// Emit a helper statement; return the name of its result.
  virtual std::string temp(std::string_view stem, std::string_view expression) = 0;
  virtual void need_registry(std::string_view registry) = 0;
  /// Write a loop body as a fragment, and return its name.
  virtual Result<std::string> body(const Graph& body) = 0;
  /// Return the names of the parameters and results in a loop body's fragment.
  virtual Result<std::string> body_input(const Graph& body, size_t index) = 0;
  virtual Result<std::string> body_output(const Graph& body, size_t index) = 0;
};

/// Format attribute values in NNEF syntax.
std::string nnef_text(int64_t value);
std::string nnef_text(bool value);
std::string nnef_text(float value);
std::string nnef_text(std::string_view value);
std::string nnef_text(std::span<const int64_t> values);
std::string nnef_text(const Pads& values);

}  // namespace rill
