#pragma once

#include "core/tensor/dtype.h"
#include "kernels/int8/int8_args.h"

namespace rill::ops {

/// Return a rounding that only clamps to the range of an integer type.
inline kernels::Rounding rounding_within(DType to) {
  kernels::Rounding rounding;
  if (to == DType::kQI8 || to == DType::kI8) {
    rounding.lo = -128;
    rounding.hi = 127;
  } else if (to == DType::kI16) {
    rounding.lo = -32768;
    rounding.hi = 32767;
  } else if (to == DType::kU16) {
    rounding.hi = 65535;
  } else if (to == DType::kQI32 || to == DType::kI32) {
    rounding.lo = -2147483648.0;
    rounding.hi = 2147483647.0;
  }
  return rounding;
}

}  // namespace rill::ops
