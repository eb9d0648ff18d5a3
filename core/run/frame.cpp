#include "core/run/plan.h"

namespace rill {

View Frame::view(const PlacedView& placed) const {
  return placed.at(base[placed.ref.buffer] + placed.ref.offset);
}

}  // namespace rill
