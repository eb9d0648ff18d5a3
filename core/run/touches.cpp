#include "core/run/touches.h"

#include <algorithm>

#include "core/base/checked.h"

namespace rill {
namespace {

/// Beyond it a place is surely outside of its buffer.
constexpr int64_t kFarthest = int64_t{1} << 50;

bool is_near(int64_t element) { return element >= -kFarthest && element <= kFarthest; }

}  // namespace

Region Region::over(int64_t count, int64_t stride) const {
  Region out = *this;
  out.sane &= count >= 0;
  out.empty |= count <= 0;
  if (count <= 0) return out;
  const auto reach = checked_mul(count - 1, stride);
  if (!reach || !is_near(*reach)) {
    out.sane = false;
    return out;
  }
  out.first += std::min<int64_t>(0, *reach);
  out.last += std::max<int64_t>(0, *reach);
  out.sane &= is_near(out.first) && is_near(out.last);
  if (!out.sane) out.first = out.last = 0;
  out.visits = checked_mul(visits, count).value_or(INT64_MAX);
  return out;
}

Region Region::at(int64_t elements) const {
  Region out = *this;
  out.sane &= is_near(elements);
  if (!out.sane) return out;
  out.first += elements;
  out.last += elements;
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
  return out;
}

Region region(const PlacedView& operand) {
  Region out;
  out.ref = operand.ref;
  out.size = dtype_size(operand.dtype);
  // Numbers of 16 bytes are two of 8.
  out.align = std::min<int64_t>(out.size, 8);
  for (int axis = 0; axis < operand.rank; ++axis) {
    out = out.over(operand.extent(axis), operand.step(axis));
  }
  return out;
}

void StepTouches::units(int64_t slices, std::span<const int64_t> turns) {
  int64_t all = slices;
  bool sane = slices >= 0;
  for (const int64_t count : turns) {
    sane &= count >= 0;
    all = checked_mul(all, count).value_or(-1);
  }
  require(sane && all >= 0 && parts_.units == all, "as many units as its arguments make");
}

void StepTouches::alike(const PlacedView& a, const PlacedView& b, int64_t but) {
  bool same = a.dtype == b.dtype && a.rank == b.rank;
  for (int axis = 0; same && axis < a.rank; ++axis) {
    same = axis == but || a.extent(axis) == b.extent(axis);
  }
  require(same, "operands of one shape");
}

}  // namespace rill
