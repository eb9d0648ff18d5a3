#pragma once

#include "ops/math/wiring.h"

namespace rill::ops {

/// Wire (u + 1) * g * sigmoid(alpha * g), g = min(gate, limit), u = clamp(up, -limit, limit), in
/// f32.
OutletId clamped_swiglu(Wiring& w, OutletId gate, OutletId up, float alpha, float limit);

}  // namespace rill::ops
