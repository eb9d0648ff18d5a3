#pragma once

#include <string>

#include "emit_c/step_writer.h"

namespace rill::ops {

/// Write a copy into the frames [first, last) of an axis; `first` and `last` are C expressions.
/// `from_at` is the address of the source per frame; it may mention the frame number `t`. Strides
/// of 0 broadcast `from` along other axes.
void fill_frames(const PlacedView& view, const std::string& at, int axis, const std::string& first,
                 const std::string& last, const PlacedView& from, const std::string& from_at,
                 emit_c::StepWriter& to);

}  // namespace rill::ops
