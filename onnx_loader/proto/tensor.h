#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"
#include "onnx_loader/proto/model.h"

namespace rill::onnx {

/// Return whether a tensor has several elements per byte: integers of 4 or 2 bits.
bool is_packed(const TensorProto& proto);

/// Makes tensors of the constants of a file. Reads external data from the folder of the model only.
class TensorReader {
 public:
  /// `folder`: that of the model; empty for a model in memory, which has no external files.
  /// `max_bytes`: the maximum size of a tensor, and of each external file.
  /// `map_files`: whether the model is mapped, and large tensors of external files may be.
  TensorReader(std::string folder, int64_t max_bytes, bool map_files)
      : folder_(std::move(folder)), max_bytes_(max_bytes), map_files_(map_files) {}

  /// Read a constant. Errors: kParse if elements and shape do not fit; kUnsupported for types that
  /// rill lacks; kIo for external data that is missing, truncated, or outside the model's folder.
  Result<TensorPtr> read(const TensorProto& proto) const;
  /// Read integers of 4 or 2 bits as bytes. Errors: as above.
  Result<TensorPtr> read_packed(const TensorProto& proto) const;
  /// Read a sparse tensor as a dense one.
  Result<TensorPtr> read_sparse(const SparseTensorProto& proto) const;

 private:
  Result<Tensor> external(const TensorProto& proto, DType type, int64_t bytes) const;
  /// Map an external file, once. Nothing where that is not possible.
  Result<MappedBytes> mapped(std::string_view location) const;

  std::string folder_;
  int64_t max_bytes_;
  bool map_files_;
  mutable std::map<std::string, MappedBytes, std::less<>> mapped_;
};

}  // namespace rill::onnx
