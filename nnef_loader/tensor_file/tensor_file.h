#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/tensor/tensor.h"

namespace rill::nnef {

/// Read a `.dat` file. Quantised integers are returned as plain ones: scale and zero point are in
/// `graph.quant`. Complex numbers come back as a trailing axis of 2; bools as 0 and 1;
/// block-quantised payloads unchanged, in GGML order.
/// Errors: kParse if the header or the payload is wrong; `name` is named in them.
/// Source: docs/nnef-dialect.md, tensor files.
Result<Tensor> read_tensor(std::span<const std::byte> bytes, std::string_view name);

/// Read a mapped `.dat` file as above. Plain elements at a multiple of 64 bytes stay in it.
Result<Tensor> read_mapped_tensor(const MappedBytes& file, std::string_view name);

/// Write a `.dat` file. bf16 is written as f32; quantised tensors as quantised integers.
/// Errors: kUnsupported for dims and blobs, which the format lacks, and from 4 GiB on.
Result<std::vector<std::byte>> write_tensor(const Tensor& tensor);

}  // namespace rill::nnef
