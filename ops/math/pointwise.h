#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "core/exec/lowering.h"
#include "core/graph/op.h"
#include "kernels/pointwise/pointwise.h"

namespace rill::ops {

/// Run one instruction or more over f32 views. Inputs are broadcast to the shape of the output.
/// Real-time: yes.
void run_pointwise(std::span<const kernels::PointwiseInstr> code, std::span<const View> in,
                   const View& out) noexcept RILL_NONBLOCKING;

/// Lower a node to a pointwise step; input v of the program is input inputs[v] of the node. The
/// program reads i32 as the nearest floats. f16 is upcast before the step, and the result is
/// downcast after it. The output keeps the physical order of the largest input.
Status lower_pointwise(Lowering& lowering, std::span<const kernels::PointwiseInstr> code,
                       std::span<const int> inputs);

/// Compute a tree of elementwise f32 ops in one pass. The operations and their order stay, and so
/// do the bits.
/// Shapes: inputs of one rank, extents equal or 1 -> the largest of each.
/// Types: f32; i32, rounded to the nearest floats.
/// Errors: kShape if ranks differ or extents clash; kDType.
/// Stream: pointwise. Never written to files.
/// Source: made by `fuse`.
class Pointwise final : public OpBase<Pointwise> {
 public:
  /// Value v is input v for v < inputs, else the result of code[v - inputs]; `dst` is not used.
  /// The last instruction computes the output.
  int64_t inputs = 0;
  std::vector<kernels::PointwiseInstr> code;

  std::string_view name() const override { return "Pointwise"; }
  void fields(FieldVisitor& visitor) override;
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  Status fuse(Rewrite& rewrite) const override;
  Cost cost(FactSpan in, FactSpan out) const override;
  OpTraits traits() const override {
    return {.per_element = true, .precision = Precision::kFollows};
  }
  Tolerance tolerance() const override { return Tolerance::kRounding; }
  std::vector<std::string> details() const override;

  /// The bounds, if the output is the input limited by constants: max(x, low), then min(.., high),
  /// or either alone. A missing bound is infinite.
  struct Clip {
    float low;
    float high;
  };
  std::optional<Clip> as_clip() const;
  /// As above for input 0 + input 1, clamped: a bias and an activation.
  std::optional<Clip> as_add_clip() const;
};

/// Assign registers to values, in `out`. Return false if there are too few registers.
bool assign_registers(int64_t inputs, std::span<const kernels::PointwiseInstr> code,
                      kernels::PointwiseInstr* out) noexcept RILL_NONBLOCKING;

/// Fuse the node under rewriting with its elementwise producers that have no other reader. Do
/// nothing if there are none, or if the program would be too long.
Status fuse_elementwise(Rewrite& rewrite);

/// Replace a cast of i32 sums to f32 by a program.
Status fuse_nearest_floats(Rewrite& rewrite);

}  // namespace rill::ops
