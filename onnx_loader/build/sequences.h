#pragma once

#include <string>

#include "onnx_loader/build/loader.h"

namespace rill::onnx {

/// Return whether a node makes or reads a sequence of tensors, or an optional one. Graphs have no
/// sequence values: the file determines the number of tensors, so each tensor is a value.
bool is_of_sequences(const NodeProto& node, const Env& env);

/// Name the results of such a node. Errors: kUnsupported if data determines the number of tensors
/// or the selected one; kArg for a place that the sequence does not have.
Status run_sequences(const NodeProto& node, int64_t version, const std::string& name,
                     Loader* loader, Env* env);

/// Return whether a name denotes a sequence.
bool is_sequence(std::string_view name, const Env& env);

}  // namespace rill::onnx
