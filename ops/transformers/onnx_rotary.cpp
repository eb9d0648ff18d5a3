#include "ops/transformers/onnx_rotary.h"

namespace rill::ops {
namespace {

/// Return every second element of the last axis, beginning with element `first`.
OutletId every_second(Formula& f, OutletId pairs, int64_t first) {
  return f.without_axis(f.slice(pairs, 4, Dim(first), Dim(first + 1)), 4);
}

}  // namespace

OutletId rotated(Formula& f, OutletId x, OutletId cos, OutletId sin, int64_t half,
                 bool interleaved) {
  const Dim rotated_size(2 * half);
  const Dim whole = f.dim(x, 3);
  const OutletId part = f.slice(x, 3, Dim(0), rotated_size);
  const std::vector<Dim> shape = f.fact(part).shape;
  OutletId first;
  OutletId second;
  if (interleaved) {
    std::vector<Dim> paired = shape;
    if (f.ok()) paired.back() = Dim(half);
    paired.emplace_back(2);
    const OutletId pairs = f.reshape(part, std::move(paired));
    first = every_second(f, pairs, 0);
    second = every_second(f, pairs, 1);
  } else {
    first = f.slice(part, 3, Dim(0), Dim(half));
    second = f.slice(part, 3, Dim(half), rotated_size);
  }
  const OutletId real = f.minus(f.times(cos, first), f.times(sin, second));
  const OutletId imaginary = f.plus(f.times(sin, first), f.times(cos, second));
  OutletId out;
  if (interleaved) {
    out = f.reshape(f.concat({f.with_axis(real, 4), f.with_axis(imaginary, 4)}, 4), shape);
  } else {
    out = f.concat({real, imaginary}, 3);
  }
  return rotated_size == whole ? out : f.concat({out, f.slice(x, 3, rotated_size, whole)}, 3);
}

}  // namespace rill::ops
