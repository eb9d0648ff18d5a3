#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/graph/graph.h"
#include "core/graph/onnx.h"
#include "nnef_loader/load.h"

namespace rill::onnx {

struct LoadOptions : nnef::LoadOptions {
  /// Values that take the place of inputs: constants of the graph from then on, so that they decide
  /// branches and shapes.
  std::span<const std::pair<std::string, TensorPtr>> constants;
  /// Values that inputs have in the runs that the model is loaded for. One that an operator has to
  /// know while loading, such as a shape, takes the place of the input, which is told.
  std::span<const std::pair<std::string, TensorPtr>> values;
  /// What holds of the symbols of the inputs, as in "S >= 16"; the graph's assertions from then on.
  std::span<const std::string> assertions;
};

/// The operators that files may use: those of rill, and what reads ONNX's as them.
struct Operators {
  std::span<const OpModule* const> modules;
  std::span<const OnnxModule* const> onnx;
};

/// List the operators of sequences and optional tensors, which make no nodes and are read by the
/// loader itself, and the opsets from which on they are there.
std::span<const std::pair<std::string_view, int>> sequence_operators();

/// Return whether a file is an ONNX model, by its content. False for what cannot be read.
bool is_onnx_file(const std::string& path);
bool is_onnx(std::span<const std::byte> bytes);

/// Load an ONNX model. Not simplified yet. Weights beside the model are read from its folder alone.
/// Errors: kIo, kParse, kUnsupported, kShape, kDType, with file, node, operator and opset.
Result<Graph> load(const std::string& path, const Operators& ops, const LoadOptions& options = {});
Result<Graph> load_memory(std::span<const std::byte> bytes, const Operators& ops,
                          const LoadOptions& options = {});

/// Load an ONNX model, or else what `nnef::load` loads.
Result<Graph> load_any(const std::string& path, const Operators& ops,
                       const LoadOptions& options = {});
Result<Graph> load_any_memory(std::span<const std::byte> bytes, const Operators& ops,
                              const LoadOptions& options = {});

}  // namespace rill::onnx
