#pragma once

#include <string_view>

namespace rill::onnx {

/// Return why rill does not compute an operator that the standard or onnxruntime has; empty for
/// names that neither has, or that are just not implemented.
std::string_view refused_because(std::string_view domain, std::string_view name);

}  // namespace rill::onnx
