#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "onnx_loader/test_file.h"

namespace rill::onnx {

Result<Graph> loaded(const Message& model);

/// Run a model of one input [S, 3] whose first output is of floats; nothing, and a failed test, if
/// it is refused.
std::vector<float> run_on(const Message& model, const std::vector<float>& x);

/// Return the refusal of a model; "loaded" if it has none.
std::string refused(const Message& model);

}  // namespace rill::onnx
