#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"
#include "onnx_loader/proto/model.h"

namespace rill::onnx {

/// Makes tensors of the constants of a file. Reads external data from the folder of the model, and
/// from nowhere else.
class TensorReader {
 public:
  /// `folder`: that of the model; empty for a model in memory, which has no files beside it.
  /// `max_bytes`: how much a tensor, and each file beside the model, may take.
  TensorReader(std::string folder, int64_t max_bytes)
      : folder_(std::move(folder)), max_bytes_(max_bytes) {}

  /// Errors: kParse where elements and shape do not fit; kUnsupported for types that rill lacks;
  /// kIo for data beside the model that is missing, cut short, or outside of its folder.
  Result<TensorPtr> read(const TensorProto& proto) const;
  /// Read a sparse tensor, and write out its zeros.
  Result<TensorPtr> read_sparse(const SparseTensorProto& proto) const;

 private:
  Status external(const TensorProto& proto, Tensor* out) const;

  std::string folder_;
  int64_t max_bytes_;
};

}  // namespace rill::onnx
