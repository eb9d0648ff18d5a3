#pragma once

#include "core/graph/fields.h"

namespace rill::ops {

/// The limits [lo, hi] of an operator's result, made by `fuse` only; none by default.
struct Clip {
  bool on = false;
  float lo = 0;
  float hi = 0;

  void fields(FieldVisitor& visitor) {
    visitor.field("clip", on);
    visitor.field("lo", lo);
    visitor.field("hi", hi);
  }
};

}  // namespace rill::ops
