#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nnef_loader/build/builder.h"

namespace rill::onnx {

/// Reads an operator of `Rounding::kOnce` in f32: casts its f16 or bf16 inputs up, and casts its
/// results down once. Other calls stay unchanged.
class CallInF32 {
 public:
  /// Both must outlive it. `name` is that of the node.
  CallInF32(nnef::Builder* builder, nnef::Scope* scope, std::string name)
      : builder_(*builder), scope_(*scope), name_(std::move(name)) {}

  /// Upcast the tensors among the arguments.
  Status upcast(std::vector<nnef::CallArgument>* arguments);
  /// Rename the f32 results, so that the rounded ones get the original names.
  void rename(nnef::Naming* naming);
  /// Cast each f32 result back to the type of the arguments.
  Status narrow(std::vector<OutletId>* results);

 private:
  Result<OutletId> cast(OutletId wire, DType to, const nnef::Naming& naming);
  Status upcast_one(Value* value);

  nnef::Builder& builder_;
  nnef::Scope& scope_;
  std::string name_;
  bool narrows() const { return type_ == DType::kF16 || type_ == DType::kBF16; }

  std::optional<DType> type_;  ///< of the first float argument; the first result gets it
  bool one_type_ = true;       ///< whether all float arguments were upcast
  std::vector<std::string> targets_;
};

}  // namespace rill::onnx
