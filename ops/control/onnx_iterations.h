#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "core/graph/onnx.h"
#include "ops/control/scan.h"

namespace rill::ops {

/// Makes a loop from the body of a file, whose inputs and outputs have no axis of iterations:
/// removes this axis before the copied body, and adds it after the body.
class Iterations {
 public:
  /// `body` must outlive it. `copy` resolves the wires that the body captures from the outer graph.
  Iterations(OnnxCtx& ctx, const OnnxCtx::Body& body);

  const Graph& given() const { return body_.graph; }
  /// Find the copy of a wire of the body.
  OutletId of(OutletId given) const { return copied_.at(given); }

  /// Pass a wire of the outer graph as a whole, or as the initial value of a state, for an input of
  /// the body; for the iteration number if the input is invalid.
  void take(OutletId given, OutletId outer, Scan::Input input);
  /// Pass entry after entry along an axis, which the body does not have.
  Status take_by_iteration(OutletId given, OutletId outer, int64_t axis, int64_t chunk);
  void take_constant(OutletId given, Tensor value);
  /// If the body gathers by its iteration number from an array with one entry per iteration, pass
  /// the entries one by one, so that the array may stream.
  Status take_rows_of(OutletId number, const Dim& count);
  /// Copy the nodes of the body. Inputs without a passed wire come from the outer graph.
  Status copy();

  OutletId state(size_t index) const { return states_[index]; }
  Result<OutletId> add(OpPtr op, WireList inputs);
  /// Choose between two values of one type by a scalar.
  Result<OutletId> chosen(OutletId condition, OutletId yes, OutletId no);
  /// Set the next value of a state, in their order. Errors: kShape if its type changes.
  Status give_state(OutletId next);
  /// Set a value that becomes a list of all iterations along a new axis.
  Status give_list(OutletId given, int64_t axis, int64_t chunk);
  /// Add the loop. Return the last states, then the lists.
  Result<Value> run(std::string_view called);

 private:
  /// Return whether a node that is still to be copied reads a wire, or it is an output.
  bool is_read(OutletId given) const;

  OnnxCtx& ctx_;
  const OnnxCtx::Body& body_;
  Graph loop_body_;
  Scan scan_;
  std::vector<OutletId> outer_;
  std::vector<OutletId> states_;
  std::map<OutletId, OutletId> copied_;
};

}  // namespace rill::ops
