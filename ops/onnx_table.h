#pragma once

#include <span>

#include "core/graph/onnx.h"

namespace rill::ops {

/// List the modules of this build that read ONNX operators.
std::span<const OnnxModule* const> onnx_table();

}  // namespace rill::ops
