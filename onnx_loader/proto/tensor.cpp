#include "onnx_loader/proto/tensor.h"

#include <charconv>
#include <cstring>

#include "core/base/checked.h"
#include "core/base/raise_limit.h"
#include "core/base/search.h"
#include "core/graph/onnx.h"
#include "onnx_loader/proto/external_file.h"

namespace rill::onnx {
namespace {

/// Smaller tensors of external files are read: mapping would waste most of their pages.
constexpr int64_t kLeastMapped = int64_t{64} << 10;

/// A type of several elements per byte, the first one in the low bits.
struct Packed {
  int64_t number;  ///< of the type in ONNX
  int bits;
  DType unpacked;
};
constexpr int64_t kBytes = 2;  // the number of uint8
constexpr Packed kPacked[] = {{21, 4, DType::kU8}, {22, 4, DType::kI8}, {25, 2, DType::kU8},
                              {26, 2, DType::kI8}};

Result<DType> type_of(const TensorProto& proto) {
  const auto type = onnx_type(proto.type);
  if (type) return *type;
  Status status = fail(Code::kUnsupported, "tensor \"", proto.name, "\" holds ",
                       onnx_type_name(proto.type), ", a type that rill does not have");
  if (!is_packed(proto)) return status;
  return std::move(status).hint("Only DequantizeLinear reads such constants");
}

Status wrong_count(const TensorProto& proto, int64_t found, int64_t expected, const char* unit) {
  return fail(Code::kParse, "tensor \"", proto.name, "\" of shape ", proto.dims, " has ",
              counted(found, unit), ", expected ", expected);
}

/// Copy the bytes of elements; normalise a bool to 0 or 1.
void fill(Bytes from, Tensor* out) {
  if (from.empty()) return;
  if (out->dtype() != DType::kBool) {
    std::memcpy(out->mutable_raw(), from.data(), from.size());
    return;
  }
  for (size_t i = 0; i < from.size(); ++i) {
    out->mutable_data<bool>()[i] = from[i] != std::byte{0};
  }
}

template <class T>
void narrow(const std::vector<int64_t>& from, Tensor* out) {
  for (size_t i = 0; i < from.size(); ++i) out->mutable_data<T>()[i] = static_cast<T>(from[i]);
}

void fill_integers(const std::vector<int64_t>& from, Tensor* out) {
  switch (out->dtype()) {
    case DType::kBool:
      for (size_t i = 0; i < from.size(); ++i) out->mutable_data<bool>()[i] = from[i] != 0;
      break;
    case DType::kU8:
    case DType::kI8:
      narrow<uint8_t>(from, out);
      break;
    case DType::kU16:
    case DType::kI16:
    case DType::kF16:
    case DType::kBF16:
      narrow<uint16_t>(from, out);
      break;
    case DType::kU32:
    case DType::kI32:
      narrow<uint32_t>(from, out);
      break;
    default:
      narrow<int64_t>(from, out);
      break;
  }
}

/// Return the field with the elements of a type, unless they are raw.
int field_of(DType type) {
  switch (type) {
    case DType::kF32:
      return 4;
    case DType::kF64:
      return 10;
    case DType::kI64:
      return 7;
    case DType::kU32:
    case DType::kU64:
      return 11;
    case DType::kString:
      return 6;
    default:
      return 5;
  }
}

/// Read elements from the field of their type.
Status read_typed(const TensorProto& proto, Tensor* out) {
  const int field = field_of(out->dtype());
  std::vector<int64_t> integers;
  std::vector<float> floats;
  std::vector<std::byte> doubles;
  std::vector<std::string> texts;
  Wire in(proto.message, "TensorProto");
  while (in.next()) {
    if (in.field() != field) continue;
    if (field == 4) {
      in.numbers(&floats);
    } else if (field == 10) {
      const Bytes bytes = in.raw();
      doubles.insert(doubles.end(), bytes.begin(), bytes.end());
    } else if (field == 6) {
      const Bytes text = in.bytes();
      texts.emplace_back(reinterpret_cast<const char*>(text.data()), text.size());
    } else {
      in.integers(&integers);
    }
  }
  RILL_TRY(in.take_status());
  const size_t found =
      integers.size() + floats.size() + doubles.size() / sizeof(double) + texts.size();
  if (static_cast<int64_t>(found) != out->volume()) {
    return wrong_count(proto, static_cast<int64_t>(found), out->volume(), "element");
  }
  for (size_t i = 0; i < texts.size(); ++i) out->mutable_data<std::string>()[i] = texts[i];
  if (field == 4) fill(std::as_bytes(std::span(floats)), out);
  if (field == 10) fill(doubles, out);
  if (!integers.empty()) fill_integers(integers, out);
  return {};
}

Result<int64_t> decimal(std::string_view text, std::string_view key) {
  int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= 0) return value;
  return fail(Code::kParse, "external data: ", key, " is \"", text, "\", expected a number");
}

}  // namespace

bool is_packed(const TensorProto& proto) {
  return any_of(kPacked, [&](const Packed& each) { return each.number == proto.type; });
}

Result<MappedBytes> TensorReader::mapped(std::string_view location) const {
  const auto known = mapped_.find(location);
  if (known != mapped_.end()) return known->second;
  RILL_ASSIGN(const auto file, open_external(folder_, location));
  MappedBytes all = map_file(file->descriptor(), static_cast<size_t>(file->size()));
  return mapped_.emplace(location, std::move(all)).first->second;
}

Result<Tensor> TensorReader::external(const TensorProto& proto, DType type, int64_t bytes) const {
  std::string_view location;
  int64_t offset = 0;
  int64_t length = bytes;
  for (const auto& [key, value] : proto.location) {
    if (key == "location") location = value;
    if (key == "offset") {
      RILL_ASSIGN(offset, decimal(value, key));
    }
    if (key == "length") {
      RILL_ASSIGN(length, decimal(value, key));
    }
  }
  if (length != bytes) return wrong_count(proto, length, bytes, "byte");
  if (folder_.empty()) {
    return fail(Code::kUnsupported, "the weights of a model in memory are in the file \"", location,
                "\" in its folder")
        .hint("Load the model by its path");
  }
  const bool aligned = offset % kTensorAlignment == 0 && type != DType::kBool;
  if (map_files_ && aligned && bytes >= kLeastMapped) {
    RILL_ASSIGN(const MappedBytes all, mapped(location));
    if (all.data) {
      RILL_TRY(check_range(location, static_cast<int64_t>(all.size), offset, bytes));
      return Tensor::mapped(type, proto.dims,
                            all.part(static_cast<size_t>(offset), static_cast<size_t>(bytes)));
    }
  }
  RILL_ASSIGN(const auto file, open_external(folder_, location));
  RILL_TRY(check_range(location, file->size(), offset, bytes));
  RILL_ASSIGN(Tensor out, Tensor::zeros(type, proto.dims));
  const std::span<std::byte> to(static_cast<std::byte*>(out.mutable_raw()),
                                static_cast<size_t>(bytes));
  RILL_ASSIGN(const size_t got, file->read_at(offset, to));
  if (got < to.size()) return fail(Code::kIo, "external data \"", location, "\" ended early");
  if (type == DType::kBool) fill(to, &out);
  return out;
}

Result<TensorPtr> TensorReader::read_packed(const TensorProto& proto) const {
  const Packed& type =
      *find_if(kPacked, [&](const Packed& each) { return each.number == proto.type; });
  const auto volume = checked_volume(proto.dims);
  if (!volume || *volume > max_bytes_ || static_cast<int>(proto.dims.size()) > kMaxRank) {
    return fail(Code::kParse, "tensor \"", proto.name, "\" has the shape ", proto.dims,
                ": expected at most ", kMaxRank, " extents of 0 and more, and ", max_bytes_,
                " elements");
  }
  const int64_t per_byte = 8 / type.bits;
  TensorProto bytes = proto;
  bytes.type = kBytes;
  bytes.dims = {*volume / per_byte + (*volume % per_byte != 0 ? 1 : 0)};
  RILL_ASSIGN(const TensorPtr packed, read(bytes));
  RILL_ASSIGN(Tensor out, Tensor::zeros(type.unpacked, proto.dims));
  const auto from = packed->values<uint8_t>();
  const int above = 8 - type.bits;
  for (int64_t i = 0; i < *volume; ++i) {
    const int shift = static_cast<int>(i % per_byte) * type.bits;
    const int moved = (from[static_cast<size_t>(i / per_byte)] >> shift) << above & 0xFF;
    const int value = type.unpacked == DType::kI8 ? static_cast<int8_t>(moved) : moved;
    static_cast<int8_t*>(out.mutable_raw())[i] = static_cast<int8_t>(value >> above);
  }
  return std::make_shared<const Tensor>(std::move(out));
}

Result<TensorPtr> TensorReader::read(const TensorProto& proto) const {
  RILL_ASSIGN(const DType type, type_of(proto));
  const auto volume = checked_volume(proto.dims);
  const auto bytes = volume ? checked_mul(*volume, dtype_size(type)) : std::nullopt;
  if (!bytes || static_cast<int>(proto.dims.size()) > kMaxRank) {
    return fail(Code::kParse, "tensor \"", proto.name, "\" has the shape ", proto.dims,
                ": expected at most ", kMaxRank, " extents of 0 and more");
  }
  const bool raw = proto.raw.has_value() && !proto.external;
  if (raw && type == DType::kString) {
    return fail(Code::kParse, "tensor \"", proto.name, "\" holds strings as raw data");
  }
  if (raw && static_cast<int64_t>(proto.raw->size()) != *bytes) {
    return wrong_count(proto, static_cast<int64_t>(proto.raw->size()), *bytes, "byte");
  }
  // Every element takes at least one byte of the file, so the file bounds the memory.
  if (!raw && !proto.external && *volume > static_cast<int64_t>(proto.message.size())) {
    return fail(Code::kParse, "tensor \"", proto.name, "\" of shape ", proto.dims,
                " holds fewer elements than ", *volume);
  }
  if (*bytes > max_bytes_) {
    return fail(Code::kUnsupported, "tensor \"", proto.name, "\" takes ", counted(*bytes, "byte"),
                ": the limit is ", max_bytes_)
        .hint(raise_load_limit("max_folded_bytes"));
  }
  if (proto.external && type == DType::kString) {
    return fail(Code::kUnsupported, "tensor \"", proto.name, "\" holds strings as external data");
  }
  if (proto.external) {
    RILL_ASSIGN(Tensor out, external(proto, type, *bytes));
    return std::make_shared<const Tensor>(std::move(out));
  }
  RILL_ASSIGN(Tensor out, Tensor::zeros(type, proto.dims));
  if (raw) {
    fill(*proto.raw, &out);
    if (map_files_) drop_pages(*proto.raw);
  } else {
    RILL_TRY(read_typed(proto, &out));
  }
  return std::make_shared<const Tensor>(std::move(out));
}

Result<TensorPtr> TensorReader::read_sparse(const SparseTensorProto& proto) const {
  RILL_ASSIGN(const TensorPtr values, read(proto.values));
  RILL_ASSIGN(const TensorPtr indices, read(proto.indices));
  const auto volume = checked_volume(proto.dims);
  const auto bytes = volume ? checked_mul(*volume, dtype_size(values->dtype())) : std::nullopt;
  const auto rank = static_cast<int64_t>(proto.dims.size());
  const bool flat = indices->rank() == 1;
  const int64_t per_value = flat ? 1 : rank;
  if (!bytes || *bytes > max_bytes_ || rank > kMaxRank || !is_plain(values->dtype()) ||
      indices->dtype() != DType::kI64 || indices->volume() != values->volume() * per_value) {
    return fail(Code::kParse, "sparse tensor \"", proto.values.name, "\" of shape ", proto.dims,
                ": values and indices do not fit");
  }
  RILL_ASSIGN(Tensor out, Tensor::zeros(values->dtype(), proto.dims));
  const auto size = static_cast<size_t>(dtype_size(values->dtype()));
  const auto index = indices->values<int64_t>();
  for (int64_t i = 0; i < values->volume(); ++i) {
    int64_t at = flat ? index[static_cast<size_t>(i)] : 0;
    for (int64_t axis = 0; !flat && axis < rank; ++axis) {
      const int64_t part = index[static_cast<size_t>(i * rank + axis)];
      const int64_t extent = proto.dims[static_cast<size_t>(axis)];
      at = at < 0 || part < 0 || part >= extent ? -1 : at * extent + part;
    }
    if (at < 0 || at >= *volume) {
      return fail(Code::kParse, "sparse tensor \"", proto.values.name, "\": an index of value ", i,
                  " is outside of the shape ", proto.dims);
    }
    std::memcpy(static_cast<std::byte*>(out.mutable_raw()) + static_cast<size_t>(at) * size,
                static_cast<const std::byte*>(values->raw()) + static_cast<size_t>(i) * size, size);
  }
  return std::make_shared<const Tensor>(std::move(out));
}

}  // namespace rill::onnx
