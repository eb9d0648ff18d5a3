#include <cstring>
#include <optional>
#include <string>

#include "core/base/checked.h"
#include "core/base/utf8.h"
#include "nnef_loader/tensor_file/format.h"
#include "nnef_loader/tensor_file/tensor_file.h"

namespace rill::nnef {
namespace {

constexpr size_t kQ40BlockBytes = 18;
constexpr size_t kQ40ScaleBytes = 2;
constexpr size_t kQ40NibbleBytes = 16;
constexpr int64_t kQ81BlockBytes = 36;
constexpr int64_t kBlockItems = 32;

struct File {
  TensorHeader header;
  std::vector<int64_t> shape;
  int64_t items = 0;
  std::span<const std::byte> payload;  ///< the bytes that really follow the header
  MappedBytes mapped;                  ///< the same bytes, if they are in a mapped file
};

Result<File> read_header(std::span<const std::byte> bytes, const MappedBytes& mapped) {
  File file;
  TensorHeader& header = file.header;
  if (bytes.size() < sizeof header) {
    return fail(Code::kParse, "tensor file of ", counted(bytes.size(), "byte"),
                ", expected at least ", sizeof header);
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic[0] != 0x4E || header.magic[1] != 0xEF) {
    return fail(Code::kParse, "wrong magic number, expected 4E EF");
  }
  if (header.version_major != 1 && header.version_minor != 0) {
    return fail(Code::kParse, "version ", header.version_major, ".", header.version_minor,
                ", expected 1.0");
  }
  if (header.rank > kMaxRank) {
    return fail(Code::kParse, "rank ", header.rank, ", expected at most ", kMaxRank);
  }
  file.shape.assign(header.extents, header.extents + header.rank);
  const auto items = checked_volume(file.shape);
  if (!items) return fail(Code::kParse, "shape ", file.shape, " is too large");
  file.items = *items;
  file.payload = bytes.subspan(sizeof header);
  if (mapped.data) file.mapped = mapped.part(sizeof header, file.payload.size());
  return file;
}

/// Return the integer type of that width; nothing if there is none.
std::optional<DType> unsigned_type(uint32_t bits) {
  switch (bits) {
    case 8:
      return DType::kU8;
    case 16:
      return DType::kU16;
    case 32:
      return DType::kU32;
    case 64:
      return DType::kU64;
    default:
      return std::nullopt;
  }
}

std::optional<DType> signed_type(uint32_t bits) {
  switch (bits) {
    case 8:
      return DType::kI8;
    case 16:
      return DType::kI16;
    case 32:
      return DType::kI32;
    case 64:
      return DType::kI64;
    default:
      return std::nullopt;
  }
}

std::optional<DType> float_type(uint32_t bits) {
  switch (bits) {
    case 16:
      return DType::kF16;
    case 32:
      return DType::kF32;
    case 64:
      return DType::kF64;
    default:
      return std::nullopt;
  }
}

std::optional<DType> plain_type(const TensorHeader& header) {
  switch (header.item_type) {
    case kFloat:
      return float_type(header.bits_per_item);
    case kUnsigned:
    case kQuantisedUnsigned:
      return unsigned_type(header.bits_per_item);
    case kQuantisedSigned:
    case kSigned:
      return signed_type(header.bits_per_item);
    default:
      return std::nullopt;
  }
}

/// Check that the payload exists: `needed` bytes, as the header states.
Status check_payload(const File& file, std::optional<int64_t> needed) {
  const int64_t stated = file.header.payload_bytes;
  if (!needed || *needed != stated) {
    return fail(Code::kParse, "shape ", file.shape, " of ", file.header.bits_per_item,
                " bits per item does not fit ", stated, " bytes of payload");
  }
  if (static_cast<int64_t>(file.payload.size()) < stated) {
    return fail(Code::kParse, "payload of ", counted(file.payload.size(), "byte"), ", expected ",
                stated);
  }
  return {};
}

Result<Tensor> read_plain(const File& file, DType dtype, std::vector<int64_t> shape) {
  const auto stated = static_cast<size_t>(file.header.payload_bytes);
  const auto at = reinterpret_cast<uintptr_t>(file.mapped.data.get());
  if (file.mapped.data && at % kTensorAlignment == 0 && stated <= file.mapped.size) {
    return Tensor::mapped(dtype, std::move(shape), file.mapped.part(0, stated));
  }
  RILL_ASSIGN(Tensor tensor, Tensor::zeros(dtype, std::move(shape)));
  const auto bytes = static_cast<size_t>(tensor.size_bytes());
  RILL_CHECK(bytes <= file.payload.size(), "payload of ", file.payload.size(), " bytes");
  if (bytes > 0) std::memcpy(tensor.mutable_raw(), file.payload.data(), bytes);
  return tensor;
}

Result<Tensor> read_bools(const File& file) {
  const uint32_t bits = file.header.bits_per_item;
  const int64_t needed = bits == 1 ? file.items / 8 + (file.items % 8 != 0 ? 1 : 0) : file.items;
  const int64_t stated = file.header.payload_bytes;
  // Writers of single bits may add one byte too many.
  if (stated < needed || stated > needed + 1) RILL_TRY(check_payload(file, needed));
  if (static_cast<int64_t>(file.payload.size()) < needed) {
    return fail(Code::kParse, "payload of ", file.payload.size(), " bytes, expected ", needed);
  }
  RILL_ASSIGN(Tensor tensor, Tensor::zeros(DType::kBool, file.shape));
  auto* const out = tensor.mutable_data<uint8_t>();
  for (int64_t i = 0; i < file.items; ++i) {
    const auto byte =
        std::to_integer<uint8_t>(file.payload[static_cast<size_t>(bits == 1 ? i / 8 : i)]);
    const bool value = bits == 1 ? ((byte >> (7 - i % 8)) & 1) != 0 : byte != 0;
    out[i] = value ? 1 : 0;
  }
  return tensor;
}

/// Ignore the payload size in the header: tract writes the size of its objects there.
Result<Tensor> read_strings(const File& file) {
  constexpr int64_t kLengthBytes = 4;
  std::span<const std::byte> rest = file.payload;
  if (file.items > static_cast<int64_t>(rest.size()) / kLengthBytes) {
    return fail(Code::kParse, "payload of ", rest.size(), " bytes for ",
                counted(file.items, "string"));
  }
  RILL_ASSIGN(Tensor tensor, Tensor::zeros(DType::kString, file.shape));
  auto* const out = tensor.mutable_data<std::string>();
  for (int64_t i = 0; i < file.items; ++i) {
    uint32_t length = 0;
    if (rest.size() < sizeof length) {
      return fail(Code::kParse, "payload ends before string ", i);
    }
    std::memcpy(&length, rest.data(), sizeof length);
    rest = rest.subspan(sizeof length);
    if (rest.size() < length) {
      return fail(Code::kParse, "string ", i, " of ", length, " bytes, ", rest.size(),
                  " are left of the payload");
    }
    out[i].assign(reinterpret_cast<const char*>(rest.data()), length);
    if (find_bad_utf8(out[i]) != std::string::npos) {
      return fail(Code::kParse, "string ", i, " is not UTF-8");
    }
    rest = rest.subspan(length);
  }
  return tensor;
}

/// Reorder nibbles from adjacent order, 2j and 2j + 1 in byte j, to GGML order, j and j + 16.
void relay_nibbles(std::span<std::byte> blocks) {
  for (size_t at = 0; at + kQ40BlockBytes <= blocks.size(); at += kQ40BlockBytes) {
    const std::span<std::byte> packed = blocks.subspan(at + kQ40ScaleBytes, kQ40NibbleBytes);
    uint8_t weights[kBlockItems];
    for (size_t j = 0; j < kQ40NibbleBytes; ++j) {
      const auto byte = std::to_integer<uint8_t>(packed[j]);
      weights[2 * j] = byte & 0x0F;
      weights[2 * j + 1] = byte >> 4;
    }
    for (size_t j = 0; j < kQ40NibbleBytes; ++j) {
      packed[j] = std::byte(weights[j] | weights[j + kQ40NibbleBytes] << 4);
    }
  }
}

Result<Tensor> read_blocks(const File& file) {
  const uint16_t type = file.header.item_type;
  const bool is_q40 = type == kQ40 || type == kQ40Interleaved;
  if (!is_q40 && type != kQ81 && type != kQ81AsTractWrites) {
    return fail(Code::kParse, "unknown block-quantised type ", type);
  }
  if (file.shape.size() < 2) {
    return fail(Code::kParse, "block-quantised tensor of rank ", file.shape.size(),
                ", expected 2 or more");
  }
  const auto row = checked_volume(std::span(file.shape).subspan(1));
  if (!row || *row % kBlockItems != 0) {
    return fail(Code::kParse, "block-quantised shape ", file.shape,
                ": the axes past the first are not a multiple of ", kBlockItems);
  }
  const int64_t block = is_q40 ? static_cast<int64_t>(kQ40BlockBytes) : kQ81BlockBytes;
  RILL_TRY(check_payload(file, checked_mul(file.items / kBlockItems, block)));
  const auto payload = file.payload.first(file.header.payload_bytes);
  const BlockFormat format = is_q40 ? BlockFormat::kQ4_0 : BlockFormat::kQ8_1;
  if (type != kQ40Interleaved) return Tensor::blocks(format, file.shape, payload);
  std::vector<std::byte> relaid(payload.begin(), payload.end());
  relay_nibbles(relaid);
  return Tensor::blocks(format, file.shape, relaid);
}

Result<Tensor> read_complex(const File& file) {
  const uint32_t half = file.header.bits_per_item / 2;
  const bool known = half == 16 || half == 32 || half == 64;
  const bool is_float = file.header.item_type == kComplexFloat;
  const auto dtype = !known ? std::nullopt : is_float ? float_type(half) : signed_type(half);
  if (!dtype || file.header.bits_per_item % 2 != 0) {
    return fail(Code::kParse, "complex numbers of ", file.header.bits_per_item,
                " bits, expected 32, 64 or 128");
  }
  std::vector<int64_t> shape = file.shape;
  shape.push_back(2);
  if (shape.size() > kMaxRank) {
    return fail(Code::kUnsupported, "complex tensor of rank ", file.shape.size(),
                ": its trailing axis of 2 would exceed the maximum rank");
  }
  RILL_TRY(check_payload(file, checked_mul(file.items, 2 * half / 8)));
  return read_plain(file, *dtype, std::move(shape));
}

Result<Tensor> read_tract_type(const File& file) {
  const uint16_t type = file.header.item_type;
  if (type == kStrings) return read_strings(file);
  if (type == kComplexFloat || type == kComplexInteger) return read_complex(file);
  if ((type & kBlockQuantised) != 0) return read_blocks(file);
  return fail(Code::kParse, "unknown item type ", type, " of vendor tract");
}

Result<Tensor> read_file_tensor(std::span<const std::byte> bytes, const MappedBytes& mapped) {
  RILL_ASSIGN(const File file, read_header(bytes, mapped));
  const TensorHeader& header = file.header;
  if (header.vendor == kTract) return read_tract_type(file);
  if (header.vendor != kKhronos) {
    return fail(Code::kParse, "unknown vendor ", header.vendor, " of the item type");
  }
  const bool is_bool = header.item_type == kBoolean;
  if (is_bool && (header.bits_per_item == 1 || header.bits_per_item == 8)) return read_bools(file);
  const std::optional<DType> dtype = plain_type(header);
  if (!dtype) {
    return fail(Code::kParse, "unknown item type ", header.item_type, " of ", header.bits_per_item,
                " bits");
  }
  RILL_TRY(check_payload(file, checked_mul(file.items, header.bits_per_item / 8)));
  return read_plain(file, *dtype, file.shape);
}

}  // namespace

Result<Tensor> read_tensor(std::span<const std::byte> bytes, std::string_view name) {
  Result<Tensor> tensor = read_file_tensor(bytes, {});
  if (tensor.ok()) return tensor;
  return tensor.take_status().at(name, 0);
}

Result<Tensor> read_mapped_tensor(const MappedBytes& file, std::string_view name) {
  Result<Tensor> tensor = read_file_tensor(file.bytes(), file);
  if (tensor.ok()) return tensor;
  return tensor.take_status().at(name, 0);
}

}  // namespace rill::nnef
