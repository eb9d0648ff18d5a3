#pragma once

#include "core/graph/op.h"
#include "core/graph/pulse.h"

namespace rill::ops {

/// Overwrite the frames of a stream outside [begin, end) with a number or a frame.
/// Shapes: x -> x. Types: all plain ones.
/// Errors: kShape for a missing axis, kDType for a value of another type.
/// Stream: positions count from the start of the stream; `end` may mention the stream symbol, and
/// is infinite until the end of the stream is known.
/// Source: tract_pulse_mask.
struct PulseMask final : OpBase<PulseMask> {
  int64_t axis = 0;
  Dim begin = 0;
  Dim end;
  TensorPtr value;  ///< a number, or a frame of extent 1 on the axis; of the input's type
  bool padding = false;  ///< the masked frames are requested padding
  int64_t overlap = 0;   ///< earlier frames that precede the pulse

  std::string_view name() const override { return "PulseMask"; }
  void fields(FieldVisitor& visitor) override;
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  bool foldable() const override { return false; }
  Status lower(Lowering& lowering) const override;
  OpTraits traits() const override { return {.precision = Precision::kMoves}; }
  Status save(SaveCtx& ctx) const override;
};

/// Make a mask of the positions before a stream's first frame and after its last. Return null if
/// there are none. Errors: kDType if the wire's type cannot represent the value.
Result<std::shared_ptr<PulseMask>> mask_around(const Fact& wire, const StreamFact& stream,
                                               bool begin, bool end, const Tensor& value);

}  // namespace rill::ops
