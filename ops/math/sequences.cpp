#include "ops/math/sequences.h"

#include "ops/array/gather.h"
#include "ops/math/lengths.h"

namespace rill::ops {
namespace {

/// Return a list as one axis of a tensor of that rank.
OutletId on_axis(Formula& f, OutletId list, int64_t axis, int rank) {
  for (int64_t i = 0; i < axis; ++i) list = f.with_axis(list, 0);
  while (f.ok() && f.rank(list) < rank) list = f.with_axis(list, f.rank(list));
  return list;
}

OutletId positions(Formula& f, OutletId x, const Sequences& sequences) {
  const Dim count = f.dim(x, static_cast<int>(sequences.time));
  return on_axis(f, f.range(count), sequences.time, f.rank(x));
}

OutletId lengths(Formula& f, OutletId x, const Sequences& sequences) {
  return on_axis(f, f.cast(sequences.lengths, DType::kI64), sequences.batch, f.rank(x));
}

OutletId taken(Formula& f, OutletId x, OutletId indices, int64_t axis, std::vector<Dim> shape) {
  return f.add(make_op<GatherElements>(axis), {x, f.broadcast(indices, std::move(shape))});
}

}  // namespace

OutletId checked_lengths(Formula& f, OutletId lengths, const Dim& frames) {
  if (f.ok() && f.dtype(lengths) == DType::kDim) lengths = f.cast(lengths, DType::kI64);
  return f.add(make_op<Lengths>(frames), {lengths});
}

OutletId within(Formula& f, OutletId x, const Sequences& sequences) {
  return f.binary(BinaryKind::kLt, positions(f, x, sequences), lengths(f, x, sequences));
}

OutletId reversed_within(Formula& f, OutletId x, const Sequences& sequences) {
  const OutletId here = positions(f, x, sequences);
  const OutletId last = f.minus(lengths(f, x, sequences), f.number(1.0, here));
  const OutletId from = f.select(within(f, x, sequences), f.minus(last, here), here);
  return taken(f, x, from, sequences.time, f.fact(x).shape);
}

OutletId last_of(Formula& f, OutletId x, const Sequences& sequences) {
  OutletId last = lengths(f, x, sequences);
  last = f.minus(last, f.number(1.0, last));
  last = f.binary(BinaryKind::kMax, last, f.number(0.0, last));
  std::vector<Dim> shape = f.fact(x).shape;
  if (f.ok()) shape[static_cast<size_t>(sequences.time)] = Dim(1);
  return taken(f, x, last, sequences.time, std::move(shape));
}

}  // namespace rill::ops
