#pragma once

#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/onnx.h"
#include "nnef_loader/syntax/ast.h"

namespace rill::onnx {

/// The newest opset of ai.onnx whose operators rill knows.
inline constexpr int64_t kNewestOpset = 28;

/// A form of an operator with its parsed declaration.
struct OnnxCallee {
  const nnef::FragmentDecl* decl = nullptr;
  OnnxLoadFn load = nullptr;
  Rounding rounding = Rounding::kEach;
};

/// Finds operators by domain, name and opset.
class OpIndex {
 public:
  explicit OpIndex(std::span<const OnnxModule* const> modules);

  /// Find the form of an operator in an opset. Errors: kUnsupported if there is none.
  Result<OnnxCallee> find(std::string_view domain, std::string_view name, int64_t opset);

 private:
  struct Form {
    const OnnxOp* op = nullptr;
    std::unique_ptr<const nnef::Document> declaration;  ///< parsed when first called
  };
  std::map<std::pair<std::string_view, std::string_view>, std::vector<Form>> ops_;
};

}  // namespace rill::onnx
