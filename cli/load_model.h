#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/options.h"
#include "nnef_loader/load.h"

namespace rill::cli {

/// Load the model that the command line names, whatever its format. Inputs that `--constantize` has
/// values for are constants of an ONNX model from the start, so that they decide its branches.
/// Errors: those of the loaders; kArg for values that are not numbers.
Result<Graph> load_model(const CommonOptions& common, const nnef::LoadOptions& options);

/// Refuse models of other programs by their file names, and files that are named like ONNX models
/// but have other contents. Errors: kUnsupported, kParse.
Status refuse_other_formats(const std::string& model);
/// Return whether the file is read by the loader for ONNX.
bool is_onnx_model(const std::string& path);

/// Return the name in "fragment conv<?>(...".
std::string declared_name(std::string_view declaration);

/// Return the ONNX operators that this build reads: their names, prefixed with the domain for other
/// domains, and the opsets from which each of their forms is valid.
std::map<std::string, std::vector<int>> onnx_operators();

/// Return the values of `--constantize NAME=VALUE,VALUE...` with rank 1, as integers if written as
/// integers; null for a name without values.
Result<std::vector<std::pair<std::string, TensorPtr>>> constant_inputs(const CommonOptions& common);

/// Convert such values to the type and shape of an input. Errors: kShape, kDType.
Result<Tensor> as_input(const Tensor& values, const Fact& fact);

}  // namespace rill::cli
