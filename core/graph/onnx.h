#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/graph/nnef.h"

namespace rill {

/// What an operator's ONNX reader sees: one node of the file as a call of the operator's
/// declaration, and the graph to add nodes to. Implemented by the loader.
///
/// All of `LoadCtx` serves: `wire("X")` is the input that the declaration calls X,
/// `integer("axis")` an attribute. What was an attribute in one opset and is an input in another
/// has one reader, which asks for `integers("axes")`: inputs that are known while loading convert
/// as attributes do. `given` tells whether the node has an input or attribute at all.
/// Errors name the node, the operator, its domain and its opset, which the loader adds.
class OnnxCtx : public LoadCtx {
 public:
  /// Return the version of the operator's domain that the file imports.
  virtual int opset() const = 0;
  /// Count the outputs that the node lists, unnamed ones among them included.
  virtual int outputs() const = 0;
  /// Return whether output i has a name, so that somebody may read it.
  virtual bool wants(int output) const = 0;
  /// Return the rank that the file states for output i, or for what elementwise nodes make of it.
  /// Nothing in graphs in graphs.
  virtual std::optional<int> stated_rank(int output) const = 0;
  /// Take two extents as equal, as the operator demands of its inputs, whose files may have names
  /// of their own for each: one symbol takes the place of the other in the whole graph.
  /// Errors: kShape if they cannot be.
  virtual Status take_as_equal(const Dim& a, const Dim& b) = 0;
  /// Return whether frames that a file asks for beyond an axis of open extent are cut off, as the
  /// standard has it: extents are min(1000, S) then. False where the rest of the file cannot do
  /// with such extents: axes are taken to be long enough, and refused once they are known not to.
  virtual bool clamps() = 0;
  /// Give the value of an input that has to be known while loading. Errors: kUnsupported.
  virtual Result<TensorPtr> constant(std::string_view name) = 0;
  /// Real numbers that are steps times a scale. What multiplies them may multiply the steps.
  struct Quantised {
    OutletId steps;  ///< I32, less the zero point
    OutletId scale;
    OutletId stored;  ///< as the file has them
    OutletId zero;    ///< the zero point, if there is one: a number or a list
  };
  /// Remember what a wire of this graph was made of, and tell it to nodes behind; null if it is of
  /// no steps.
  virtual void keep_quantised(OutletId real, const Quantised& of) = 0;
  virtual const Quantised* quantised(OutletId real) const = 0;
  /// Call an operator of the NNEF dialect, whose module reads it: its nodes are named after this
  /// one. Arguments are those of its declaration, by name.
  struct Argument {
    std::string_view name;
    Value value;
  };
  virtual Result<Value> call(std::string_view nnef, std::span<const Argument> arguments) = 0;
  /// As above, for one wire.
  Result<OutletId> call1(std::string_view nnef, std::initializer_list<Argument> arguments);
  /// Add the nodes of a graph that is an attribute in place, with these wires as its inputs, none
  /// as those of `If`. Gives its outputs.
  virtual Result<std::vector<OutletId>> branch(std::string_view attribute,
                                               std::span<const OutletId> inputs = {}) = 0;
  /// Translate a graph that is an attribute, as that of `Loop`, into a graph of its own. Its inputs
  /// are those of the attribute, with `facts`, then what it reads of the graph around it.
  struct Body {
    Graph graph;
    std::vector<OutletId> captured;  ///< the wires around it, for the inputs behind its own
  };
  virtual Result<Body> body(std::string_view attribute, std::span<const Fact> facts) = 0;
};

/// Read one node. Gives the wires of its outputs in their order, one or a list; an outlet that is
/// not wanted may be invalid, and be left out at the end.
using OnnxLoadFn = Result<Value> (*)(OnnxCtx&);

/// Read a node as the reader of the NNEF operator does: the declarations have the same arguments.
template <LoadFn kRead>
Result<Value> read_as_nnef(OnnxCtx& ctx) {
  return kRead(ctx);
}

/// Where an operator on f16 or bf16 tensors rounds.
enum class Rounding : uint8_t {
  kEach,  ///< Each of its nodes rounds, apart from chains. See `Precision`.
  kOnce,  ///< Several nodes make up the operator: the reader casts its tensors to f32 in front of
          ///< it, and its results back. The nodes would round, and overflow, in between.
};

/// An operator of ONNX that a module reads.
///
/// `declaration`: a fragment in NNEF syntax, with the names of the standard. Its tensors are the
/// inputs in their order, the last one perhaps an array for all that follow; an input that may be
/// left out has a default, `false` if there is no value that means the same. All other parameters
/// are attributes: integer, scalar, string, and arrays of these; `logical` for integers that are 0
/// or 1; `?` for tensors (a wire) and graphs. What is not declared is refused.
/// Instead of a reader, the declaration may have a body in NNEF over the operators of rill. There,
/// lower ranks are aligned in front, as NNEF does, which suits scalars and equal ranks alone.
struct OnnxOp {
  const char* domain;  ///< "" stands for ai.onnx
  int since;  ///< first opset of this form; the largest that is not beyond the file's is taken
  const char* declaration;
  OnnxLoadFn load;  ///< null where the declaration has a body
  /// A declaration with a body needs not say `kOnce`.
  Rounding rounding = Rounding::kEach;
};

/// What a module's file `<module>_onnx.cpp` exports; CMake finds it there.
struct OnnxModule {
  const char* name;
  std::span<const OnnxOp> ops;
};

/// Find the type that ONNX numbers so, as `to` of `Cast` does; nothing if rill lacks it.
std::optional<DType> onnx_type(int64_t number);
/// Name a type of ONNX, for messages: "float8e4m3fn".
std::string_view onnx_type_name(int64_t number);

}  // namespace rill
