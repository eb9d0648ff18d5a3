#pragma once

#include <string>

#include "onnx_loader/build/loader.h"

namespace rill::onnx {

/// Return whether a node makes or reads a sequence of tensors, or an optional one. None of these is
/// a value of a graph: how many tensors there are follows from the file, so that each is a value.
bool is_of_sequences(const NodeProto& node, const Env& env);

/// Give names to what such a node makes. Errors: kUnsupported where data decides how many tensors
/// there are or which one is meant; kArg for a place that the sequence does not have.
Status run_sequences(const NodeProto& node, int64_t version, const std::string& name,
                     Loader* loader, Env* env);

/// Return whether a name stands for a sequence.
bool is_sequence(std::string_view name, const Env& env);

}  // namespace rill::onnx
