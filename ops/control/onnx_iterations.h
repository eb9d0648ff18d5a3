#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "core/graph/onnx.h"
#include "ops/control/scan.h"

namespace rill::ops {

/// Makes a `Scan` from the body of an ONNX `Loop` or `Scan`. That body has no axis of iterations:
/// the new loop's body removes this axis from inputs, and adds it to outputs.
class Iterations {
 public:
  /// `body` must outlive the object. `copy` resolves the wires that the body captures from the
  /// outer graph.
  Iterations(OnnxCtx& ctx, const OnnxCtx::Body& body);

  const Graph& given() const { return body_.graph; }
  /// Find the copy of a wire of the body.
  OutletId of(OutletId given) const { return copied_.at(given); }

  /// Pass a wire of the outer graph to the input `given` of the body, as a whole or as the initial
  /// value of a state. An invalid `given` adds a state that the body does not have: whether the
  /// loop still runs.
  void take(OutletId given, OutletId outer, Scan::Input input);
  /// Pass one entry along an axis to each iteration, without that axis.
  Status take_by_iteration(OutletId given, OutletId outer, int64_t axis, int64_t chunk);
  void take_constant(OutletId given, Tensor value);
  /// If the body gathers by its iteration number from an array with one entry per iteration, pass
  /// it the entries one by one. Then the array may stream.
  Status take_rows_of(OutletId number, const Dim& count);
  /// Copy the nodes of the body. Inputs that got no wire are read from the outer graph.
  Status copy();

  OutletId state(size_t index) const { return states_[index]; }
  Result<OutletId> add(OpPtr op, WireList inputs);
  /// Add a selection between two values of one type by a scalar.
  Result<OutletId> chosen(OutletId condition, OutletId yes, OutletId no);
  /// Set the next value of the next state. Errors: kShape if its type changes.
  Status give_state(OutletId next);
  /// Add an output with the values of all iterations along a new axis.
  Status give_list(OutletId given, int64_t axis, int64_t chunk);
  /// Add the loop to the outer graph. Return the last states, then the lists.
  Result<Value> run(std::string_view called);

 private:
  /// Return whether a wire is an output, or an input of a node that is still to be copied.
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
