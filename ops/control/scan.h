#pragma once

#include <memory>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/op.h"

namespace rill::ops {

/// Run a body once per chunk of its scanned inputs, carrying states between iterations. The inputs
/// are those of the body, in order. Each is passed whole, scanned along an axis in chunks
/// (backwards if the chunk is negative), or the initial value of a state.
/// Shapes: an output of all iterations has, on its axis, the body's extent times the iterations; a
/// last output has the body's shape. Iterations: ceil(extent / |chunk|) of the first scanned input.
/// Types: all plain ones. Errors: kShape, kDType if body and inputs do not fit.
/// Stream: along the scanned axis, forwards: the states carry over from pulse to pulse, and pulses
/// must hold whole chunks. Last outputs are known at the end. Backwards is refused, unless each
/// pulse may be its own future. Along an axis that the body maps frame by frame, the loop restarts
/// in each pulse.
/// Source: tract_core_scan.
struct Scan final : OpBase<Scan> {
  struct Input {
    enum class Kind : uint8_t { kFull, kState, kScan };
    Kind kind = Kind::kFull;
    int64_t axis = 0;
    int64_t chunk = 1;
  };
  struct Output {
    int result = 0;  ///< output of the body
    bool last = false;
    int64_t axis = 0;
    int64_t chunk = 1;
  };

  std::shared_ptr<const Graph> body;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  std::vector<int> state_results;  ///< per state input, in order: the output of the body
  int64_t skip = 0;                ///< iterations at the start of the stream that do not run
  /// Every evaluation begins with the initial values and iteration 0.
  bool reset_every_turn = false;
  /// The caller keeps the states between runs: it reads the last values, and passes them in again.
  bool external_state = false;
  /// The number of iterations in the stream. None runs after them, so last outputs keep their
  /// values. 0: no limit. May mention the stream symbol.
  Dim limit = 0;
  /// The operator that this loop implements, for dumps.
  std::string called = "Scan";

  std::string_view name() const override { return called; }
  void fields(FieldVisitor& visitor) override;
  std::string attributes() const override;
  OpPtr with_symbol(std::string_view symbol, const Dim& by) const override;
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  bool foldable() const override { return false; }
  bool repeatable() const override;
  OpPtr stateless() const override;
  Status lower(Lowering& lowering) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  Status pulsify(PulseBuilder& builder) const override;
  Status declutter(Rewrite& rewrite) const override;
  Status fuse(Rewrite& rewrite) const override;
  Cost cost(FactSpan in, FactSpan out) const override;
  Status save(SaveCtx& ctx) const override;
  const Graph* nested() const override { return body.get(); }

  /// Return the fact of a body input, given that of the node's input.
  static Fact inner_fact(const Input& input, const Fact& outer);
  /// Return the number of iterations, given the facts of the inputs.
  Dim iterations(FactSpan in) const;

 private:
  bool is_its_body(const Rewrite& rewrite) const;
  Status dissolve(Rewrite& rewrite) const;

  /// The reason why the body is invalid for the value of a symbol; `infer` reports it.
  Status misfit_;
  bool settled_ = false;  ///< the body is decluttered
  bool fused_ = false;
};

}  // namespace rill::ops
