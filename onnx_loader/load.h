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
  /// Values that replace inputs: they become constants of the graph, and can decide branches and
  /// shapes.
  std::span<const std::pair<std::string, TensorPtr>> constants;
  /// Values of inputs in the intended runs. If an operator needs a value at load time, such as a
  /// shape, this value replaces the input, and a warning reports it.
  std::span<const std::pair<std::string, TensorPtr>> values;
  /// Assertions on the symbols of the inputs, such as "S >= 16"; the graph keeps them.
  std::span<const std::string> assertions;
};

/// The operators that files may use: rill's own, and the readers of ONNX's.
struct Operators {
  std::span<const OpModule* const> modules;
  std::span<const OnnxModule* const> onnx;
};

/// List the operators on sequences and optional tensors, which the loader itself reads, and the
/// opset that introduces each.
std::span<const std::pair<std::string_view, int>> sequence_operators();

/// Return whether a file is an ONNX model, by its content. False for unreadable files.
bool is_onnx_file(const std::string& path);
bool is_onnx(std::span<const std::byte> bytes);

/// Load an ONNX model, without simplifying it. External weights are read from the model's folder
/// only. Errors: kIo, kParse, kUnsupported, kShape, kDType, with file, node, operator and opset.
Result<Graph> load(const std::string& path, const Operators& ops, const LoadOptions& options = {});
Result<Graph> load_memory(std::span<const std::byte> bytes, const Operators& ops,
                          const LoadOptions& options = {});

/// Load an ONNX model, or any file that `nnef::load` accepts.
Result<Graph> load_any(const std::string& path, const Operators& ops,
                       const LoadOptions& options = {});
Result<Graph> load_any_memory(std::span<const std::byte> bytes, const Operators& ops,
                              const LoadOptions& options = {});

}  // namespace rill::onnx
