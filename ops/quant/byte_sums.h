#pragma once

#include <string_view>
#include <vector>

#include "core/base/bits.h"
#include "core/exec/lowering.h"
#include "core/graph/op.h"
#include "kernels/int8/int8_args.h"

namespace rill::ops {

/// Multiply a tensor of bytes by a constant matrix along one axis, both minus their zero points,
/// and convert the sums to an integer type. Made by `fuse` only.
/// Inputs: x; weights [columns, parts * k]; with `has_bias`, a bias [columns] of I32; with
/// `has_zero`, the zero point of x, an I32.
/// Output: axis i is axis from[i] of x, or the columns if from[i] is -1.
/// Types: U8, I8, QU8, QI8; weights I8.
/// Accuracy: exact sums modulo 2^32, and the operations of `Rounding`.
/// Errors: kUnsupported outside of a plan. Stream: `fuse` runs after pulsing, so no streaming rule
/// is needed.
/// Source: tract, `tract_core_einsum_q`; NNEF 1.0, `matmul`.
struct ByteSums final : OpBase<ByteSums> {
  int64_t summed = 0;  ///< the axis of x
  std::vector<int64_t> from;
  int64_t x_zero = 0;
  int64_t w_zero = 0;
  int64_t parts = 1;  ///< matrices that each multiply x, adjacent along k; their products are added
  bool has_bias = false;
  bool has_zero = false;  ///< whether the zero point of x is an input; then `x_zero` is 0
  bool rounds = false;
  kernels::Rounding rounding;
  DType to = DType::kI32;
  QParams q;

  std::string_view name() const override { return "EinSum"; }
  void fields(FieldVisitor& visitor) override {
    visitor.field("summed", summed);
    visitor.field("from", from);
    visitor.field("x_zero", x_zero);
    visitor.field("w_zero", w_zero);
    visitor.field("parts", parts);
    visitor.field("has_bias", has_bias);
    visitor.field("has_zero", has_zero);
    visitor.field("rounds", rounds);
    visitor.field("to", to);
    visitor.field("scale", q.scale);
    int64_t zero_point = q.zero_point;
    visitor.field("zero_point", zero_point);
    visitor.field("narrow", rounding.narrow);
    // Compare bits: nodes with different last bits are not equal.
    for (double* number : {&rounding.mul, &rounding.div, &rounding.before, &rounding.after}) {
      auto bits = bit_cast<int64_t>(*number);
      visitor.field("rounding", bits);
    }
  }
  Result<Facts> infer(FactSpan in) const override {
    Fact out{to, q, {}, {}};
    for (const int64_t axis : from) {
      out.shape.push_back(axis < 0 ? in[1].dim(0) : in[0].dim(static_cast<int>(axis)));
    }
    return one_fact(std::move(out));
  }
  Status eval(EvalCtx&) const override {
    return fail(Code::kUnsupported, "an int8 matmul outside of a plan");
  }
  Status lower(Lowering& lowering) const override;
  Cost cost(FactSpan in, FactSpan out) const override {
    Cost cost;
    cost.fma = volume(out[0].shape) * in[1].dim(1);
    cost.bytes = volume(in[0].shape) + volume(in[1].shape) + volume(out[0].shape);
    return cost;
  }
  Status save(SaveCtx&) const override {
    return fail(Code::kUnsupported, "an int8 matmul exists in plans only");
  }
};

}  // namespace rill::ops
