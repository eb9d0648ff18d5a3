#include <cstring>
#include <limits>
#include <string>

#include "nnef_loader/tensor_file/format.h"
#include "nnef_loader/tensor_file/tensor_file.h"

namespace rill::nnef {
namespace {

struct ItemType {
  uint16_t type = 0;
  uint16_t vendor = kKhronos;
  bool has_bits = true;
};

Result<ItemType> item_type(const Tensor& tensor) {
  if (tensor.block_format() == BlockFormat::kQ4_0) return ItemType{kQ40, kTract, false};
  if (tensor.block_format() == BlockFormat::kQ8_1) return ItemType{kQ81, kTract, false};
  const DType dtype = tensor.dtype();
  if (dtype == DType::kString) return ItemType{kStrings, kTract, false};
  if (dtype == DType::kBool) return ItemType{kBoolean};
  if (dtype == DType::kQU8) return ItemType{kQuantisedUnsigned};
  if (dtype == DType::kQI8 || dtype == DType::kQI32) return ItemType{kQuantisedSigned};
  if (is_unsigned_int(dtype)) return ItemType{kUnsigned};
  if (is_signed_int(dtype)) return ItemType{kSigned};
  if (is_float(dtype) && dtype != DType::kBF16) return ItemType{kFloat};
  Status refused =
      fail(Code::kUnsupported, "tensor files do not hold elements of type ", dtype_name(dtype));
  if (dtype == DType::kDim)
    return std::move(refused).hint("write dims as expressions in the graph");
  return refused;
}

/// Return the bytes of the elements in the file; -1 on overflow.
int64_t payload_size(const Tensor& tensor) {
  if (tensor.dtype() != DType::kString) return tensor.size_bytes();
  int64_t size = 0;
  for (const std::string& text : tensor.values<std::string>()) {
    if (text.size() > std::numeric_limits<uint32_t>::max()) return -1;
    size += static_cast<int64_t>(sizeof(uint32_t) + text.size());
  }
  return size;
}

void append(std::vector<std::byte>* out, const void* bytes, size_t size) {
  const auto* const first = static_cast<const std::byte*>(bytes);
  out->insert(out->end(), first, first + size);
}

void append_payload(std::vector<std::byte>* out, const Tensor& tensor) {
  if (tensor.dtype() != DType::kString) {
    append(out, tensor.raw(), static_cast<size_t>(tensor.size_bytes()));
    return;
  }
  for (const std::string& text : tensor.values<std::string>()) {
    const auto length = static_cast<uint32_t>(text.size());
    append(out, &length, sizeof length);
    append(out, text.data(), text.size());
  }
}

}  // namespace

Result<std::vector<std::byte>> write_tensor(const Tensor& tensor) {
  if (tensor.dtype() == DType::kBF16) {
    RILL_ASSIGN(const Tensor wider, cast(tensor, DType::kF32));
    return write_tensor(wider);
  }
  RILL_ASSIGN(const ItemType type, item_type(tensor));
  const int64_t size = payload_size(tensor);
  constexpr int64_t kMost = std::numeric_limits<uint32_t>::max();
  if (size < 0 || size > kMost) {
    return fail(Code::kUnsupported, "tensor of shape ", tensor.shape(),
                ": tensor files hold less than 4 GiB");
  }
  TensorHeader header;
  header.payload_bytes = static_cast<uint32_t>(size);
  header.rank = static_cast<uint32_t>(tensor.rank());
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    if (tensor.extent(axis) > kMost) {
      return fail(Code::kUnsupported, "tensor of shape ", tensor.shape(),
                  ": tensor files hold extents below 2^32");
    }
    header.extents[axis] = static_cast<uint32_t>(tensor.extent(axis));
  }
  header.item_type = type.type;
  header.vendor = type.vendor;
  header.bits_per_item =
      type.has_bits ? static_cast<uint32_t>(8 * dtype_size(tensor.dtype())) : kNoBits;
  std::vector<std::byte> out;
  out.reserve(sizeof header + static_cast<size_t>(size));
  append(&out, &header, sizeof header);
  append_payload(&out, tensor);
  return out;
}

}  // namespace rill::nnef
