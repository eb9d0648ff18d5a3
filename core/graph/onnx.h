#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/graph/nnef.h"

namespace rill {

/// The interface of the loader to an operator's ONNX reader: one node of the file as a call of the
/// operator's declaration, and the graph that gets its nodes.
/// `LoadCtx` works unchanged: `wire("X")` is the input that the declaration calls X, and
/// `integer("axis")` is an attribute. If an attribute of one opset is an input in another, one
/// reader serves both with `integers("axes")`: inputs that are known while loading convert like
/// attributes. `given` returns whether the node has the input or attribute. The loader adds the
/// node, the operator, its domain and its opset to errors.
class OnnxCtx : public LoadCtx {
 public:
  /// Return the version of the operator's domain that the file imports.
  virtual int opset() const = 0;
  /// Return the number of outputs that the node lists, including unnamed ones.
  virtual int outputs() const = 0;
  /// Return whether output i has a name, so that a node may read it.
  virtual bool wants(int output) const = 0;
  /// Return the rank that the file declares for output i, or for elementwise results of it. Nothing
  /// in nested graphs.
  virtual std::optional<int> stated_rank(int output) const = 0;
  /// Equate two extents that the operator requires to be equal, but that the file names
  /// differently: one symbol replaces the other in the whole graph. Errors: kShape if they cannot
  /// be equal.
  virtual Status take_as_equal(const Dim& a, const Dim& b) = 0;
  /// As above, for extents whose inequality does not prevent reading the node, since an extent of 1
  /// would be broadcast. The graph is built again with all such symbols replaced. If an expression
  /// must be a number, this becomes an assertion. Errors: kShape if two numbers differ.
  virtual Status expect_equal(const Dim& a, const Dim& b) = 0;
  /// Return whether ranges beyond an axis of symbolic extent are clamped, as in the standard:
  /// extents such as min(1000, S). False if the rest of the file does not allow such extents. Then
  /// axes are assumed to be long enough, and refused once they are known to be too short.
  virtual bool clamps() = 0;
  /// Return the value of an input that must be known at load time. Errors: kUnsupported.
  virtual Result<TensorPtr> constant(std::string_view name) = 0;
  /// Real numbers that are integer steps times a scale.
  struct Quantised {
    OutletId steps;  ///< I32, after subtraction of the zero point
    OutletId scale;
    OutletId stored;  ///< as stored in the file
    OutletId zero;    ///< the zero point, if any: a number or a list
  };
  /// Record the steps of a real wire for downstream nodes. `quantised` returns null for a wire
  /// without steps.
  virtual void keep_quantised(OutletId real, const Quantised& of) = 0;
  virtual const Quantised* quantised(OutletId real) const = 0;
  /// Call an operator of the NNEF dialect through the reader of its module; its nodes get this
  /// node's name. Arguments are named as in its declaration.
  struct Argument {
    std::string_view name;
    Value value;
  };
  virtual Result<Value> call(std::string_view nnef, std::span<const Argument> arguments) = 0;
  /// As above, for a single wire.
  Result<OutletId> call1(std::string_view nnef, std::initializer_list<Argument> arguments);
  /// Inline the nodes of a graph attribute, with these wires as its inputs; the branches of `If`
  /// have none. Return its outputs.
  virtual Result<std::vector<OutletId>> branch(std::string_view attribute,
                                               std::span<const OutletId> inputs = {}) = 0;
  /// Translate a graph attribute, such as that of `Loop`, into a separate graph. Its inputs are
  /// those of the attribute, with `facts`, then the wires that it captures from the outer graph.
  struct Body {
    Graph graph;
    std::vector<OutletId> captured;  ///< wires of the outer graph, for the inputs after those of
                                     ///< the attribute
  };
  virtual Result<Body> body(std::string_view attribute, std::span<const Fact> facts) = 0;
};

/// Read one node, and return the wires of its outputs in order, one or a list. An output without a
/// name may be an invalid outlet, or may be omitted at the end.
using OnnxLoadFn = Result<Value> (*)(OnnxCtx&);

/// Read a node as the reader of the NNEF operator does: the declarations have the same arguments.
template <LoadFn kRead>
Result<Value> read_as_nnef(OnnxCtx& ctx) {
  return kRead(ctx);
}

/// Where an operator on f16 or bf16 tensors rounds.
enum class Rounding : uint8_t {
  kEach,  ///< Each of its nodes rounds, apart from chains. See `Precision`.
  kOnce,  ///< Several nodes make up the operator: the reader casts its tensors to f32 before
          ///< it, and its results back. The nodes would round, and overflow, in between.
};

/// An operator of ONNX that a module reads.
/// `declaration`: a fragment in NNEF syntax, with the names of the standard. Its tensors are the
/// inputs in order; the last one may be an array for all further inputs. An optional input has a
/// default; `false` stands for no value. All other parameters are attributes: integer, scalar,
/// string, and arrays of these; `logical` for integers that are 0 or 1; `?` for tensors (a wire)
/// and graphs. Undeclared attributes are refused. Instead of a reader, the declaration may have a
/// body in NNEF over the operators of rill. In that body, broadcasting aligns ranks at the first
/// axis, as in NNEF, so it only suits scalars and equal ranks.
struct OnnxOp {
  const char* domain;  ///< "" stands for ai.onnx
  int since;  ///< first opset of this form; the latest form not beyond the file's opset is used
  const char* declaration;
  OnnxLoadFn load;  ///< null if the declaration has a body
  /// If the declaration has a body, `kOnce` is implied.
  Rounding rounding = Rounding::kEach;
};

/// The exports of a module's file `<module>_onnx.cpp`, which CMake finds by its name.
struct OnnxModule {
  const char* name;
  std::span<const OnnxOp> ops;
};

/// Return the type with this number in ONNX, as in `to` of `Cast`; nothing if rill lacks it.
std::optional<DType> onnx_type(int64_t number);
/// Return the name of a type of ONNX, for messages: "float8e4m3fn".
std::string_view onnx_type_name(int64_t number);

}  // namespace rill
