#include "api/src/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <string>

#include "core/base/checked.h"

namespace rill {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kPreludeBytes = 8;  ///< magic and version
constexpr size_t kAlignment = 64;

struct NpyType {
  char kind;
  char size;
  DType dtype;
};

constexpr std::array<NpyType, 12> kTypes = {{
    {'b', '1', DType::kBool},
    {'u', '1', DType::kU8},
    {'u', '2', DType::kU16},
    {'u', '4', DType::kU32},
    {'u', '8', DType::kU64},
    {'i', '1', DType::kI8},
    {'i', '2', DType::kI16},
    {'i', '4', DType::kI32},
    {'i', '8', DType::kI64},
    {'f', '2', DType::kF16},
    {'f', '4', DType::kF32},
    {'f', '8', DType::kF64},
}};

struct NpyHeader {
  DType dtype = DType::kF32;
  bool is_complex = false;
  bool swapped = false;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

/// Reads the dictionary of a header: a Python literal with the keys descr, fortran_order and shape.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}
  Result<NpyHeader> read();

 private:
  Status value(std::string_view key, NpyHeader* header);
  Status descr(NpyHeader* header);
  Status shape(NpyHeader* header);
  Result<std::string_view> quoted();
  void skip_blanks() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }
  bool accept(std::string_view token) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  Status unexpected(std::string_view expected) const {
    return fail(Code::kParse, "npy header: expected ", expected, " at byte ", at_);
  }

  std::string_view text_;
  size_t at_ = 0;
};

Result<NpyHeader> HeaderReader::read() {
  NpyHeader header;
  bool descr = false;
  bool order = false;
  bool shape = false;
  if (!accept("{")) return unexpected("`{`");
  while (!accept("}")) {
    RILL_ASSIGN(const std::string_view key, quoted());
    if (!accept(":")) return unexpected("`:`");
    bool* const seen = key == "descr"           ? &descr
                       : key == "fortran_order" ? &order
                       : key == "shape"         ? &shape
                                                : nullptr;
    if (seen == nullptr || *seen) {
      return unexpected("one each of the keys descr, fortran_order and shape");
    }
    *seen = true;
    RILL_TRY(value(key, &header));
    if (!accept(",") && !text_.substr(at_).starts_with("}")) return unexpected("`,` or `}`");
  }
  if (!descr || !order || !shape) return unexpected("the keys descr, fortran_order and shape");
  return header;
}

Status HeaderReader::value(std::string_view key, NpyHeader* header) {
  if (key == "descr") return descr(header);
  if (key == "shape") return shape(header);
  header->fortran_order = accept("True");
  if (header->fortran_order || accept("False")) return {};
  return unexpected("`True` or `False`");
}

Result<std::string_view> HeaderReader::quoted() {
  const char quote = accept("'") ? '\'' : '"';
  if (quote == '"' && !accept("\"")) return unexpected("a string");
  const size_t end = text_.find(quote, at_);
  if (end == std::string_view::npos) return unexpected("the end of a string");
  const std::string_view text = text_.substr(at_, end - at_);
  at_ = end + 1;
  return text;
}

Status HeaderReader::descr(NpyHeader* header) {
  skip_blanks();
  if (text_.substr(at_).starts_with("[")) {
    return fail(Code::kUnsupported, "npy arrays of records, expected numbers or bools");
  }
  RILL_ASSIGN(const std::string_view text, quoted());
  std::string_view type = text;
  const bool has_order =
      !type.empty() && std::string_view("<>|=").find(type[0]) != std::string_view::npos;
  header->swapped = type.starts_with(">");
  if (has_order) type.remove_prefix(1);
  header->is_complex = type == "c8" || type == "c16";
  if (header->is_complex) type = type == "c8" ? "f4" : "f8";
  for (const NpyType& known : kTypes) {
    if (type.size() == 2 && type[0] == known.kind && type[1] == known.size) {
      header->dtype = known.dtype;
      return {};
    }
  }
  return fail(Code::kUnsupported, "npy elements of type \"", text, "\", expected numbers or bools");
}

Status HeaderReader::shape(NpyHeader* header) {
  if (!accept("(")) return unexpected("`(`");
  while (!accept(")")) {
    skip_blanks();
    int64_t extent = 0;
    const size_t first = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      const auto shifted = checked_mul(extent, 10);
      const auto next = shifted ? checked_add(*shifted, text_[at_] - '0') : std::nullopt;
      if (!next) return unexpected("an extent that fits 64 bits");
      extent = *next;
      ++at_;
    }
    if (at_ == first) return unexpected("an extent");
    // NumPy for Python 2 wrote long integers with an L.
    accept("L");
    if (header->shape.size() == kMaxRank) {
      return fail(Code::kUnsupported, "npy array of rank over ", kMaxRank);
    }
    header->shape.push_back(extent);
    skip_blanks();
    if (!accept(",") && !text_.substr(at_).starts_with(")")) return unexpected("`,` or `)`");
  }
  return {};
}

void swap_bytes(std::span<std::byte> bytes, size_t item) {
  for (size_t at = 0; at + item <= bytes.size(); at += item) {
    std::reverse(bytes.begin() + static_cast<ptrdiff_t>(at),
                 bytes.begin() + static_cast<ptrdiff_t>(at + item));
  }
}

/// Copy items of `size` bytes from Fortran order to C order.
void copy_fortran(std::span<const int64_t> shape, size_t size, const std::byte* from,
                  std::byte* to) {
  std::vector<int64_t> index(shape.size(), 0);
  std::vector<int64_t> stride(shape.size(), 1);
  for (size_t axis = 1; axis < shape.size(); ++axis) {
    stride[axis] = stride[axis - 1] * shape[axis - 1];
  }
  int64_t offset = 0;
  for (;;) {
    std::memcpy(to, from + static_cast<size_t>(offset) * size, size);
    to += size;
    size_t axis = shape.size();
    for (;;) {
      if (axis == 0) return;
      --axis;
      offset += stride[axis];
      if (++index[axis] < shape[axis]) break;
      offset -= stride[axis] * shape[axis];
      index[axis] = 0;
    }
  }
}

Result<Tensor> tensor_of(const NpyHeader& header, std::span<const std::byte> payload) {
  const int64_t parts = header.is_complex ? 2 : 1;
  const int64_t part_bytes = dtype_size(header.dtype);
  const auto items = checked_volume(header.shape);
  const auto bytes = items ? checked_mul(*items, parts * part_bytes) : std::nullopt;
  if (!bytes || *bytes > static_cast<int64_t>(payload.size())) {
    return fail(Code::kParse, "npy shape ", header.shape, " of ", dtype_lower_name(header.dtype),
                " needs more than the ", payload.size(), " bytes in the file");
  }
  std::vector<int64_t> shape = header.shape;
  if (header.is_complex) shape.push_back(parts);
  RILL_ASSIGN(Tensor tensor, Tensor::zeros(header.dtype, std::move(shape)));
  if (*bytes == 0) return tensor;
  auto* const out = tensor.mutable_data<std::byte>();
  if (header.fortran_order) {
    copy_fortran(header.shape, static_cast<size_t>(parts * part_bytes), payload.data(), out);
  } else {
    std::memcpy(out, payload.data(), static_cast<size_t>(*bytes));
  }
  const std::span<std::byte> written(out, static_cast<size_t>(*bytes));
  if (header.swapped) swap_bytes(written, static_cast<size_t>(part_bytes));
  if (header.dtype == DType::kBool) {
    for (std::byte& value : written) value = std::byte(value != std::byte{0} ? 1 : 0);
  }
  return tensor;
}

Result<Tensor> read(std::span<const std::byte> bytes) {
  if (!is_npy(bytes)) return fail(Code::kParse, "not a npy file: wrong magic number");
  const auto version = bytes.size() > kMagic.size() ? std::to_integer<int>(bytes[6]) : 0;
  if (version < 1 || version > 3) {
    return fail(Code::kParse, "npy version ", version, ", expected 1, 2 or 3");
  }
  const size_t length_bytes = version == 1 ? 2 : 4;
  uint32_t length = 0;
  if (bytes.size() < kPreludeBytes + length_bytes)
    return fail(Code::kParse, "npy file is cut short");
  std::memcpy(&length, bytes.data() + kPreludeBytes, length_bytes);
  const std::span<const std::byte> rest = bytes.subspan(kPreludeBytes + length_bytes);
  if (rest.size() < length) {
    return fail(Code::kParse, "npy header of ", counted(length, "byte"), ", found ", rest.size());
  }
  const std::string_view text(reinterpret_cast<const char*>(rest.data()), length);
  RILL_ASSIGN(const NpyHeader header, HeaderReader(text).read());
  return tensor_of(header, rest.subspan(length));
}

std::optional<std::string> descr_of(DType dtype) {
  for (const NpyType& known : kTypes) {
    if (known.dtype == dtype) return str_cat(known.size == '1' ? "|" : "<", known.kind, known.size);
  }
  return std::nullopt;
}

/// Return the same values in a type that NumPy has.
Result<Tensor> in_numpy_type(const Tensor& tensor) {
  if (tensor.block_format() != BlockFormat::kNone) return dequantised(tensor);
  switch (tensor.dtype()) {
    case DType::kBF16:
      return cast(tensor, DType::kF32);
    case DType::kDim:
      return cast(tensor, DType::kI64);
    case DType::kQU8:
      return tensor.reinterpreted(DType::kU8, {});
    case DType::kQI8:
      return tensor.reinterpreted(DType::kI8, {});
    case DType::kQI32:
      return tensor.reinterpreted(DType::kI32, {});
    default:
      return tensor;
  }
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string out = "(";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) out += ", ";
    append_piece(out, shape[i]);
  }
  return out + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace

bool is_npy(std::span<const std::byte> bytes) {
  return bytes.size() >= kMagic.size() &&
         std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

Result<Tensor> read_npy(std::span<const std::byte> bytes, std::string_view name) {
  Result<Tensor> tensor = read(bytes);
  if (tensor.ok()) return tensor;
  return tensor.take_status().at(name, 0);
}

Result<std::vector<std::byte>> write_npy(const Tensor& tensor) {
  RILL_ASSIGN(const Tensor plain, in_numpy_type(tensor));
  const std::optional<std::string> descr = descr_of(plain.dtype());
  if (!descr) {
    return fail(Code::kUnsupported, "npy files do not hold elements of type ",
                dtype_name(plain.dtype()));
  }
  std::string header =
      str_cat("{'descr': '", *descr,
              "', 'fortran_order': False, 'shape': ", shape_text(plain.shape()), ", }");
  const size_t unpadded = kPreludeBytes + sizeof(uint16_t) + header.size() + 1;
  header.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  header.push_back('\n');
  const auto length = static_cast<uint16_t>(header.size());
  std::string head = str_cat(kMagic, '\x01', '\0', static_cast<char>(length & 0xFF),
                             static_cast<char>(length >> 8), header);
  std::vector<std::byte> out(head.size() + static_cast<size_t>(plain.size_bytes()));
  std::memcpy(out.data(), head.data(), head.size());
  if (plain.size_bytes() > 0) {
    std::memcpy(out.data() + head.size(), plain.raw(), static_cast<size_t>(plain.size_bytes()));
  }
  return out;
}

}  // namespace rill
