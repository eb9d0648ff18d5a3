#pragma once

#include <memory>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/op.h"

namespace rill::ops {

/// Run a body once per chunk of its scanned inputs, carrying states between iterations. Inputs are
/// those of the body, in order: each is passed whole, scanned along an axis by chunks (backwards if
/// the chunk is negative), or the initial value of a state.
/// Shapes: a full output has the body's extent times the iterations on its axis; a last output
/// that of the body. Iterations: ceil(extent / |chunk|) of the first scanned input.
/// Types: all plain ones. Errors: kShape, kDType if body and inputs do not fit.
/// Stream: along the scanned axis forwards, with the states kept from pulse to pulse, if pulses
/// hold whole chunks; last outputs are known at the end. Backwards is refused, unless each pulse
/// may be its own future. Along an axis that the body carries frame by frame, the loop restarts in
/// each pulse.
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
  int64_t skip = 0;                ///< iterations of the stream that do not run
  /// Every evaluation begins with the initial values, and restarts the count
  bool reset_every_turn = false;
  /// The caller keeps the states between runs: it reads the last values, and passes them in again.
  bool external_state = false;
  /// No iteration runs after this one of the stream, so last outputs keep their values; 0: no
  /// limit. May mention the stream symbol.
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

  /// The fact of body input i, given that of the node's input.
  static Fact inner_fact(const Input& input, const Fact& outer);
  /// Iterations, given the facts of the inputs.
  Dim iterations(FactSpan in) const;

 private:
  bool is_its_body(const Rewrite& rewrite) const;
  Status dissolve(Rewrite& rewrite) const;

  /// The reason why the body is undefined for the value of a symbol; infer reports it
  Status misfit_;
  bool settled_ = false;  ///< the body is simplified
  bool fused_ = false;
};

}  // namespace rill::ops
