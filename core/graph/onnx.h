#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace rill {

/// What an operator's ONNX reader sees: one node of the file, and the graph to add nodes to.
/// Implemented by the loader.
///
/// Inputs and outputs are counted as the operator's schema counts them; an input that is absent or
/// has an empty name is not given. Errors name the node, the operator, its domain and its opset,
/// which the loader adds: readers say what was found and what was expected.
class OnnxCtx {
 public:
  virtual ~OnnxCtx() = default;

  /// Tell the version of the operator's domain that the file imports.
  virtual int opset() const = 0;

  virtual int inputs() const = 0;
  virtual bool has_input(int i) const = 0;
  /// Read a required input; kShape if it is not given.
  virtual Result<OutletId> input(int i) = 0;
  /// Read all inputs from `first` on; absent ones are an error.
  virtual Result<std::vector<OutletId>> inputs_from(int first) = 0;
  /// Read the value of an input that is known while loading: constants and what is computed from
  /// constants; kUnsupported names the input if it depends on data.
  virtual Result<TensorPtr> constant(int i) = 0;
  /// Read a vector or scalar of integers that may be symbolic, as shapes of `Shape` are.
  virtual Result<std::vector<Dim>> dims(int i) = 0;

  virtual int outputs() const = 0;
  /// Tell whether output i has a name, so that somebody may read it.
  virtual bool wants(int i) const = 0;

  virtual bool has(std::string_view attribute) const = 0;
  virtual Result<int64_t> integer(std::string_view attribute, std::optional<int64_t> absent) = 0;
  virtual Result<float> number(std::string_view attribute, std::optional<float> absent) = 0;
  virtual Result<std::string> text(std::string_view attribute,
                                   std::optional<std::string_view> absent) = 0;
  /// Read a list; empty if the attribute is absent.
  virtual Result<std::vector<int64_t>> integers(std::string_view attribute) = 0;
  virtual Result<std::vector<float>> numbers(std::string_view attribute) = 0;
  virtual Result<std::vector<std::string>> texts(std::string_view attribute) = 0;
  virtual Result<TensorPtr> tensor(std::string_view attribute) = 0;

  virtual const Fact& fact(OutletId outlet) const = 0;
  /// Add a node named after the ONNX node; constants are folded.
  virtual Result<std::vector<OutletId>> add(OpPtr op, std::vector<OutletId> inputs,
                                            std::string_view suffix = "") = 0;
  Result<OutletId> add1(OpPtr op, std::vector<OutletId> inputs, std::string_view suffix = "");
  virtual Result<OutletId> konst(Tensor value, std::string_view suffix = "") = 0;
  virtual Graph& graph() = 0;
};

/// Read one node; gives one outlet for each output of the schema that is wanted, in their order
/// (an outlet that nobody wants may be left out only at the end).
using OnnxLoadFn = Result<std::vector<OutletId>> (*)(OnnxCtx&);

/// An operator of ONNX that a room reads. `since` is the first opset whose form `load` reads;
/// of several entries of one name the one with the largest `since` that is not beyond the file's
/// opset is taken.
struct OnnxOp {
  const char* domain;  ///< "" stands for ai.onnx
  const char* name;
  int since;
  OnnxLoadFn load;
};

/// What a room's file `<room>_onnx.cpp` exports; listed by `rill_onnx(<group>/<room>)` in CMake.
struct OnnxRoom {
  const char* name;
  std::span<const OnnxOp> ops;
};

}  // namespace rill
