#pragma once

#include <string>

#include "core/tensor/tensor.h"
#include "ops/array/walk.h"

namespace rill::ops {

RILL_NOT_IN_STEPS_BEGIN
template <class Visitor>
void visit_object(DType dtype, Visitor&& visitor) RILL_NONBLOCKING {
  if (dtype == DType::kString) {
    visitor(std::string{});
  } else {
    visitor(Dim{});
  }
}
RILL_NOT_IN_STEPS_END

/// As `visit_plain_size`, but also for strings and dims.
template <class Visitor>
void visit_size(DType dtype, Visitor&& visitor) {
  if (!is_plain(dtype)) return visit_object(dtype, visitor);
  visit_plain_size(dtype, visitor);
}

}  // namespace rill::ops
