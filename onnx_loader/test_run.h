#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "onnx_loader/test_file.h"

namespace rill::onnx {

Result<Graph> loaded(const Message& model);

/// Run a model with one input [S, 3] and a float first output; if it is refused, fail the test and
/// return nothing.
std::vector<float> run_on(const Message& model, const std::vector<float>& x);

/// Return the refusal of a model; "loaded" if it has none.
std::string refused(const Message& model);

}  // namespace rill::onnx
