#pragma once

#include <span>

#include "core/graph/onnx.h"

namespace rill::ops {

/// List what reads the operators of ONNX in this build.
std::span<const OnnxModule* const> onnx_table();

}  // namespace rill::ops
