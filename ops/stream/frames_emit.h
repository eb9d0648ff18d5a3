#pragma once

#include <string>

#include "emit_c/step_writer.h"

namespace rill::ops {

/// Write a copy into the frames [first, last) of an axis, which are C expressions. `from` lies at
/// `from_at` for every frame, and is stretched along the other axes by strides of 0. `from_at` may
/// mention the number of the frame, `t`.
void fill_frames(const PlacedView& view, const std::string& at, int axis, const std::string& first,
                 const std::string& last, const PlacedView& from, const std::string& from_at,
                 emit_c::StepWriter& to);

}  // namespace rill::ops
