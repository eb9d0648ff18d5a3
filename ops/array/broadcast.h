#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "core/graph/op.h"

namespace rill::ops {

/// Broadcast to a shape: repeat along unit axes; missing axes are prepended.
/// Shapes: input that NumPy's rule broadcasts to `shape` -> `shape`; extents of the input other
/// than 1 stay.
/// Types: all except block-quantised constants.
/// Errors: kShape if the rank is above that of `shape`, or extents do not match.
/// Stream: pointwise on the axes that the input has. A static value that is broadcast to the length
/// of a stream is the same in all frames.
/// Source: tract, `tract_core_broadcast`.
class Broadcast final : public OpBase<Broadcast> {
 public:
  std::vector<Dim> shape;
  Broadcast() = default;
  explicit Broadcast(std::vector<Dim> to) : shape(std::move(to)) {}
  std::string_view name() const override { return "MultiBroadcastTo"; }
  void fields(FieldVisitor& visitor) override { visitor.field("shape", shape); }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  Course course() const override;
  std::optional<SizeRatio> size(const SizeTrace& trace) const override;
  Status pulsify(PulseBuilder& builder) const override;
  Status absorb(const Node& producer, Rewrite& consumer, int input) const override;
  Status declutter(Rewrite& rewrite) const override;
  OpTraits traits() const override { return {.precision = Precision::kMoves}; }
  Status save(SaveCtx& ctx) const override;
};

/// Return the input of the `Broadcast` that makes an outlet; nothing for other outlets.
std::optional<OutletId> repeated_wire(const Graph& graph, OutletId outlet);

/// Return whether an outlet is constant along an axis: a broadcast along it, or elementwise
/// operations on such outlets.
bool is_repeated(const Graph& graph, OutletId outlet, int axis);

/// Repeat the whole tensor along each axis: out[i] = in[i modulo extent].
/// Shapes: [D0..Dn] -> [D0 * repeats[0]..Dn * repeats[n]]; repeats may be symbolic.
/// Types: all except block-quantised constants.
/// Errors: kShape if `repeats` does not fit the rank or is negative.
/// Stream: pointwise on the axes that are not repeated; repeating the streaming axis is refused.
/// Source: NNEF 1.0, `tile`.
class Tile final : public OpBase<Tile> {
 public:
  std::vector<Dim> repeats;
  Tile() = default;
  explicit Tile(std::vector<Dim> times) : repeats(std::move(times)) {}
  std::string_view name() const override { return "Tile"; }
  void fields(FieldVisitor& visitor) override { visitor.field("repeats", repeats); }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  Status pulsify(PulseBuilder& builder) const override;
  Status declutter(Rewrite& rewrite) const override;
  Course course() const override;
  OpTraits traits() const override { return {.precision = Precision::kMoves}; }
  Status save(SaveCtx& ctx) const override;
};

}  // namespace rill::ops
