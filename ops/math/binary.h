#pragma once

#include <optional>

#include "core/graph/nnef.h"
#include "core/graph/op.h"
#include "ops/array/cast.h"
#include "ops/math/kinds.h"

namespace rill::ops {

/// Combine two tensors element by element.
/// Shapes: two of one rank, extents equal or 1 -> the larger of each.
/// Types: both inputs of one type: numbers, dims or quantised; equality: also bool and strings;
/// logic: bool, integers and dims. Some kinds are for floats only (`BinaryKind`). The output has
/// the type of the inputs, or bool for comparisons. Quantised types compute on the real numbers.
/// Errors: kShape if ranks differ or extents clash; kDType if types differ or are not supported.
/// Stream: pointwise.
/// Source: NNEF 1.0, `add` and similar operators; tract, `tract_core_xor`, `tract_core_bitand`,
/// `tract_shl`.
class Binary final : public OpBase<Binary> {
 public:
  BinaryKind kind_of = BinaryKind::kAdd;
  QParams q;  ///< of the output, if it is quantised
  Binary() = default;
  explicit Binary(BinaryKind which, QParams params = {}) : kind_of(which), q(params) {}
  std::string_view name() const override;
  void fields(FieldVisitor& visitor) override;
  void all_fields(FieldVisitor& visitor);
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  Course course() const override;
  OpTraits traits() const override;
  std::optional<SizeRatio> size(const SizeTrace& trace) const override;
  Status declutter(Rewrite& rewrite) const override;
  Status fuse(Rewrite& rewrite) const override;
  Cost cost(FactSpan in, FactSpan out) const override;
  Status save(SaveCtx& ctx) const override;
};

bool is_comparison(BinaryKind kind);
/// Return whether elements are integers or sizes.
inline bool is_whole(DType t) { return is_int(t) || t == DType::kDim; }
/// Return whether the kind is a minimum or a maximum.
bool is_limit(BinaryKind kind);
/// Return whether the result for a NaN and a number is the number; all other kinds return NaN.
bool takes_number(BinaryKind kind);

/// Return the value of a constant f32 tensor whose elements are all the same, bit for bit.
std::optional<float> uniform_f32(const Fact& fact);

/// Add a binary operation while loading: promote the types, and append unit axes to the operand of
/// lower rank. Errors: kDType if there is no common type.
Result<OutletId> load_binary(LoadCtx& ctx, BinaryKind kind, OutletId a, OutletId b,
                             std::string_view suffix = {});
/// As above, for an operation that the file writes; its nodes get tract's names.
Result<OutletId> load_written_binary(LoadCtx& ctx, BinaryKind kind, OutletId a, OutletId b);
/// Align the ranks of wires by appending unit axes.
Result<std::vector<OutletId>> align_ranks(LoadCtx& ctx, std::vector<OutletId> wires);

}  // namespace rill::ops
