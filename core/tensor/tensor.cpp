#include "core/tensor/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

#include "core/base/aligned.h"
#include "core/base/checked.h"
#include "core/tensor/row_major.h"
#include "core/tensor/small.h"

namespace rill {
namespace {

int64_t element_bytes(DType dtype) {
  if (dtype == DType::kString) return sizeof(std::string);
  if (dtype == DType::kDim) return sizeof(Dim);
  return dtype_size(dtype);
}

template <class T>
std::shared_ptr<void> objects(int64_t count) {
  auto owner = std::make_shared<std::vector<T>>(static_cast<size_t>(count));
  void* first = owner->data();
  return std::shared_ptr<void>(std::move(owner), first);
}

std::shared_ptr<void> plain_bytes(int64_t bytes) {
  const int64_t rounded = (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
  const int64_t wanted = rounded == 0 ? kTensorAlignment : rounded;
  void* memory = allocate_aligned(kTensorAlignment, static_cast<uint64_t>(wanted));
  if (memory == nullptr) return nullptr;
  std::memset(memory, 0, static_cast<size_t>(rounded));
  return std::shared_ptr<void>(memory, free_aligned);
}

}  // namespace

Result<Tensor> Tensor::zeros(DType dtype, std::vector<int64_t> shape, QParams q) {
  if (shape.size() > kMaxRank) {
    return fail(Code::kShape, "rank ", shape.size(), ": at most ", kMaxRank, " axes");
  }
  const auto count = checked_volume(shape);
  const auto bytes = count ? checked_mul(*count, element_bytes(dtype)) : std::nullopt;
  if (!bytes || *bytes > INT64_MAX / 2) {
    return fail(Code::kShape, "shape ", shape, " of ", dtype_name(dtype), " is too large");
  }
  Tensor t;
  t.dtype_ = dtype;
  t.q_ = q;
  t.shape_ = std::move(shape);
  t.volume_ = *count;
  t.bytes_ = *bytes;
  if (dtype == DType::kString) {
    t.data_ = objects<std::string>(*count);
  } else if (dtype == DType::kDim) {
    t.data_ = objects<Dim>(*count);
  } else {
    t.data_ = plain_bytes(*bytes);
  }
  if (!t.data_ && *count > 0) return fail(Code::kNoMem, "no memory for ", *bytes, " bytes");
  return t;
}

Tensor small_zeros(DType dtype, std::vector<int64_t> shape, QParams q) {
  Result<Tensor> made = Tensor::zeros(dtype, std::move(shape), q);
  if (made.ok()) return std::move(made).value();
#ifdef __cpp_exceptions
  throw std::bad_alloc();
#else
  std::abort();
#endif
}

namespace {

template <class T>
Tensor scalar_of(DType dtype, T value) {
  Tensor t = small_zeros(dtype, {});
  *t.mutable_data<T>() = std::move(value);
  return t;
}

}  // namespace

Tensor Tensor::scalar(float value) { return scalar_of(DType::kF32, value); }
Tensor Tensor::scalar(int64_t value) { return scalar_of(DType::kI64, value); }
Tensor Tensor::scalar(bool value) { return scalar_of<uint8_t>(DType::kBool, value ? 1 : 0); }
Tensor Tensor::scalar(Dim value) { return scalar_of(DType::kDim, std::move(value)); }
Tensor Tensor::scalar(std::string value) { return scalar_of(DType::kString, std::move(value)); }

Tensor Tensor::dims(std::span<const Dim> values) {
  Tensor t = small_zeros(DType::kDim, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), t.mutable_data<Dim>());
  return t;
}

Result<Tensor> Tensor::blocks(BlockFormat format, std::vector<int64_t> shape,
                              std::span<const std::byte> bytes) {
  const auto count = checked_volume(shape);
  if (!count || shape.size() > kMaxRank || *count % 32 != 0) {
    return fail(Code::kShape, "block-quantised shape ", shape, ": expected a multiple of 32");
  }
  const int64_t each = block_bytes(format);
  if (*count / 32 > INT64_MAX / each || *count / 32 * each != static_cast<int64_t>(bytes.size())) {
    return fail(Code::kShape, "block-quantised shape ", shape, ": expected ", *count / 32 * each,
                " bytes, found ", bytes.size());
  }
  Tensor t;
  t.block_ = format;
  t.shape_ = std::move(shape);
  t.volume_ = *count;
  t.bytes_ = static_cast<int64_t>(bytes.size());
  t.data_ = plain_bytes(t.bytes_);
  if (!t.data_) return fail(Code::kNoMem, "no memory for ", t.bytes_, " bytes");
  if (!bytes.empty()) std::memcpy(t.data_.get(), bytes.data(), bytes.size());
  return t;
}

Result<Tensor> Tensor::borrowed(DType dtype, BlockFormat format, std::vector<int64_t> shape,
                                QParams q, std::span<const std::byte> bytes,
                                const std::shared_ptr<const void>& data) {
  const auto count = checked_volume(shape);
  const bool plain = format == BlockFormat::kNone;
  if (!count || shape.size() > kMaxRank || (!plain && *count % 32 != 0) || !is_plain(dtype)) {
    return fail(Code::kShape, "shape ", shape, " of ", dtype_name(dtype), " is not valid");
  }
  const auto size = plain ? checked_mul(*count, dtype_size(dtype))
                          : checked_mul(*count / 32, block_bytes(format));
  if (!size || *size != static_cast<int64_t>(bytes.size())) {
    return fail(Code::kShape, bytes.size(), " bytes for shape ", shape);
  }
  Tensor t;
  t.dtype_ = dtype;
  t.block_ = format;
  t.q_ = q;
  t.shape_ = std::move(shape);
  t.volume_ = *count;
  t.bytes_ = *size;
  // The cast is safe: only the sole owner of a tensor's elements writes to them, and these have
  // another owner.
  t.data_ = std::const_pointer_cast<void>(data);
  return t;
}

Result<Tensor> Tensor::mapped(DType dtype, std::vector<int64_t> shape, const MappedBytes& bytes) {
  RILL_ASSIGN(Tensor out,
              borrowed(dtype, BlockFormat::kNone, std::move(shape), {}, bytes.bytes(), bytes.data));
  out.is_mapped_ = true;
  return out;
}

void Tensor::drop_pages() const {
  if (is_mapped_) rill::drop_pages({data<std::byte>(), static_cast<size_t>(bytes_)});
}

View Tensor::view() const {
  View v;
  v.dtype = dtype_;
  v.q = q_;
  v.rank = rank();
  std::copy(shape_.begin(), shape_.end(), v.shape.begin());
  lay_row_major(&v);
  v.data = data_.get();
  return v;
}

Result<Tensor> Tensor::reshaped(std::vector<int64_t> shape) const {
  const auto count = checked_volume(shape);
  if (!count || *count != volume_ || shape.size() > kMaxRank) {
    return fail(Code::kShape, "cannot reshape ", shape_, " to ", shape);
  }
  Tensor t = *this;
  t.shape_ = std::move(shape);
  return t;
}

Tensor Tensor::reinterpreted(DType dtype, QParams q) const {
  RILL_ASSERT(element_bytes(dtype) == element_bytes(dtype_));
  Tensor t = *this;
  t.dtype_ = dtype;
  t.q_ = q;
  return t;
}

bool Tensor::same_bits(const Tensor& other) const {
  if (dtype_ != other.dtype_ || shape_ != other.shape_ || block_ != other.block_) return false;
  if (!(q_ == other.q_)) return false;
  if (data_ == other.data_) return true;
  if (dtype_ == DType::kString) {
    return std::equal(data<std::string>(), data<std::string>() + volume_,
                      other.data<std::string>());
  }
  if (dtype_ == DType::kDim) {
    return std::equal(data<Dim>(), data<Dim>() + volume_, other.data<Dim>());
  }
  return bytes_ == 0 || std::memcmp(raw(), other.raw(), static_cast<size_t>(bytes_)) == 0;
}

Result<Tensor> dequantised(const Tensor& tensor) {
  if (tensor.block_format() == BlockFormat::kNone) return tensor;
  RILL_ASSIGN(Tensor out, Tensor::zeros(DType::kF32, tensor.shape()));
  write_out_blocks(tensor.block_format(), tensor.data<std::byte>(), tensor.volume() / 32,
                   out.mutable_data<float>());
  return out;
}

std::string tensor_text(const Tensor& tensor, int64_t limit) {
  std::string out;
  for (const int64_t extent : tensor.shape()) out += str_cat(extent, ",");
  if (tensor.rank() == 0) out += ',';
  out += dtype_name(tensor.dtype());
  if (is_quantised(tensor.dtype())) {
    out += str_cat("(Z:", tensor.qparams().zero_point, " S:", tensor.qparams().scale, ")");
  }
  if (tensor.block_format() != BlockFormat::kNone) return out + " (blocks)";
  for (int64_t i = 0; i < tensor.volume() && i < limit; ++i) {
    out += i == 0 ? " " : ", ";
    const auto at = static_cast<size_t>(i);
    switch (tensor.dtype()) {
      case DType::kString:
        out += tensor.values<std::string>()[at];
        break;
      case DType::kDim:
        out += tensor.values<Dim>()[at].to_string();
        break;
      case DType::kBool:
        out += tensor.values<uint8_t>()[at] ? "true" : "false";
        break;
      case DType::kF32:
        out += str_cat(tensor.values<float>()[at]);
        break;
      case DType::kF64:
        out += str_cat(tensor.values<double>()[at]);
        break;
      case DType::kU64:
        out += str_cat(tensor.values<uint64_t>()[at]);
        break;
      default: {
        const auto value = element_as_double(tensor, i);
        if (!value.ok()) break;
        if (is_quantised(tensor.dtype())) {
          // The stored integer, and the real number in parentheses.
          const auto& [zero_point, scale] = tensor.qparams();
          out += str_cat("[", std::lround(*value / static_cast<double>(scale)) + zero_point, "](",
                         static_cast<float>(*value), ")");
          break;
        }
        out += is_float(tensor.dtype()) ? str_cat(static_cast<float>(*value))
                                        : str_cat(static_cast<int64_t>(*value));
        break;
      }
    }
  }
  if (tensor.volume() > limit) out += "...";
  return out;
}

}  // namespace rill
