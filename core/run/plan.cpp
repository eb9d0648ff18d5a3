#include "core/run/plan.h"

namespace rill {

int64_t PlacedView::volume() const {
  int64_t v = 1;
  for (int i = 0; i < rank; ++i) v *= extent(i);
  return v;
}

bool PlacedView::contiguous() const {
  int64_t expected = 1;
  for (int i = rank - 1; i >= 0; --i) {
    if (extent(i) != 1 && step(i) != expected) return false;
    expected *= extent(i);
  }
  return true;
}

}  // namespace rill
