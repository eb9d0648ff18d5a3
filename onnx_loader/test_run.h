#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "onnx_loader/test_file.h"

namespace rill::onnx {

Result<Graph> loaded(const Message& model);

/// Run a model of one input [S, 3] whose first output is of floats; nothing, and a failed test,
/// where that is refused.
std::vector<float> run_on(const Message& model, const std::vector<float>& x);

/// What a model is refused with; "loaded" if it is not.
std::string refused(const Message& model);

}  // namespace rill::onnx
