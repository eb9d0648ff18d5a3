#include "core/run/touches.h"

#include <algorithm>

#include "core/base/checked.h"

namespace rill {
namespace {

/// A larger offset is outside every buffer.
constexpr int64_t kFarthest = int64_t{1} << 50;

}  // namespace

Region Region::over(Checked count, Checked stride) const noexcept {
  Region out = *this;
  const auto iterations = count.value(0, INT64_MAX);
  out.sane &= iterations.has_value();
  if (!out.sane) return out;
  // A loop takes time even if its inner loop has no iterations.
  out.visits = (checked(visits) * std::max<int64_t>(1, *iterations)).at_most(INT64_MAX);
  out.empty |= *iterations == 0;
  if (out.empty) return out;
  // Kernels also advance their pointers after the last iteration, without an access.
  const auto reach = ((count - 1) * stride).value(-kFarthest, kFarthest);
  if (!reach || !(count * stride).within(-kFarthest, kFarthest)) {
    out.sane = false;
    return out;
  }
  const auto lowest = (checked(first) + std::min<int64_t>(0, *reach)).value(-kFarthest, kFarthest);
  const auto highest = (checked(last) + std::max<int64_t>(0, *reach)).value(-kFarthest, kFarthest);
  out.sane = lowest && highest;
  out.first = out.sane ? *lowest : 0;
  out.last = out.sane ? *highest : 0;
  return out;
}

Region Region::at(Checked elements) const {
  Region out = *this;
  const auto lowest = (elements + first).value(-kFarthest, kFarthest);
  const auto highest = (elements + last).value(-kFarthest, kFarthest);
  out.sane &= lowest && highest;
  if (!out.sane) return out;
  out.first = *lowest;
  out.last = *highest;
  return out;
}

Region Region::aligned(int64_t bytes) const {
  Region out = *this;
  out.align = std::max(out.align, bytes);
  return out;
}

Region Region::with(const Region& other) const {
  Region out = *this;
  out.sane &= other.sane;
  if (other.empty) return out;
  if (empty) {
    out = other;
    out.sane &= sane;
    return out;
  }
  out.first = std::min(first, other.first);
  out.last = std::max(last, other.last);
  out.align = std::max(align, other.align);
  out.visits = (checked(visits) + other.visits).at_most(INT64_MAX);
  return out;
}

Region region(const PlacedView& operand) {
  Region out;
  out.ref = operand.ref;
  out.size = dtype_size(operand.dtype);
  // Elements of 16 bytes are two numbers of 8 bytes.
  out.align = std::min<int64_t>(out.size, 8);
  for (int axis = 0; axis < operand.rank; ++axis) {
    out = out.over(operand.extent(axis), operand.step(axis));
  }
  return out;
}

void StepTouches::units(int64_t slices, std::span<const int64_t> iterations) {
  Checked all = slices;
  bool sane = slices >= 0;
  for (const int64_t count : iterations) {
    sane &= count >= 0;
    all *= count;
  }
  require(sane && all == parts_.units, "the units that its arguments make");
}

void StepTouches::works(std::initializer_list<Checked> counts) {
  Checked all = 1;
  for (const Checked count : counts) all *= count;
  work(all.at_most(INT64_MAX));
}

void StepTouches::alike(const PlacedView& a, const PlacedView& b, int64_t but) {
  bool same = a.dtype == b.dtype && a.rank == b.rank;
  for (int axis = 0; same && axis < a.rank; ++axis) {
    same = axis == but || a.extent(axis) == b.extent(axis);
  }
  require(same, "operands of one shape");
}

}  // namespace rill
