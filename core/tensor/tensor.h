#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/mapped_file.h"
#include "core/base/nonblocking.h"
#include "core/base/status.h"
#include "core/dim/dim.h"
#include "core/tensor/blocks.h"
#include "core/tensor/dtype.h"
#include "core/tensor/view.h"

namespace rill {

inline constexpr int64_t kTensorAlignment = 64;

/// A dense array of rank up to 8, row-major and aligned to 64 bytes. Its elements have shared
/// ownership: a copy is cheap and refers to the same elements.
/// Types: all. Strings and dims are constructed objects.
/// Thread: a const tensor may be read from any thread.
class Tensor {
 public:
  Tensor() = default;
  /// Allocate zeros: for strings, empty strings; for dims, dims of 0.
  /// Errors: kShape if the rank exceeds 8 or the volume overflows; kNoMem.
  static Result<Tensor> zeros(DType dtype, std::vector<int64_t> shape, QParams q = {});
  /// Make a tensor with copies of elements.
  template <class T>
  static Result<Tensor> of(DType dtype, std::vector<int64_t> shape, std::span<const T> values) {
    RILL_ASSIGN(Tensor t, zeros(dtype, std::move(shape)));
    if (static_cast<int64_t>(values.size()) != t.volume()) {
      return fail(Code::kShape, "expected ", t.volume(), " values, found ", values.size());
    }
    std::copy(values.begin(), values.end(), t.mutable_data<T>());
    return t;
  }
  /// Make a tensor of rank 0.
  static Tensor scalar(float value);
  static Tensor scalar(int64_t value);
  static Tensor scalar(bool value);
  static Tensor scalar(Dim value);
  static Tensor scalar(std::string value);
  /// Make a tensor of dims, of rank 1.
  static Tensor dims(std::span<const Dim> values);
  /// Make a tensor of block-quantised bytes: `shape` is the logical shape; the dtype is kF32.
  static Result<Tensor> blocks(BlockFormat format, std::vector<int64_t> shape,
                               std::span<const std::byte> bytes);

  /// Refer to elements in memory of another owner. They must not change, and must be aligned to 64
  /// bytes if there are any. Errors: kShape unless the byte count matches the shape.
  static Result<Tensor> borrowed(DType dtype, BlockFormat format, std::vector<int64_t> shape,
                                 QParams q, std::span<const std::byte> bytes,
                                 const std::shared_ptr<const void>& data);
  /// Refer to plain elements in a mapped file, aligned to 64 bytes. Errors: as above.
  static Result<Tensor> mapped(DType dtype, std::vector<int64_t> shape, const MappedBytes& bytes);

  DType dtype() const { return dtype_; }
  const QParams& qparams() const { return q_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t extent(int axis) const { return shape_[static_cast<size_t>(axis)]; }
  int64_t volume() const { return volume_; }
  int64_t size_bytes() const { return bytes_; }
  BlockFormat block_format() const { return block_; }
  bool empty() const { return volume_ == 0; }

  template <class T>
  const T* data() const {
    return static_cast<const T*>(data_.get());
  }
  template <class T>
  std::span<const T> values() const {
    return {data<T>(), static_cast<size_t>(volume_)};
  }
  /// Return writable elements. Only for the sole owner of a tensor that is being filled.
  template <class T>
  T* mutable_data() {
    return static_cast<T*>(data_.get());
  }
  const void* raw() const { return data_.get(); }
  void* mutable_raw() { return data_.get(); }

  /// Let the system drop elements in a mapped file from memory until they are read again.
  void drop_pages() const;

  View view() const RILL_NONBLOCKING;
  /// Return the same elements with another shape of the same volume.
  Result<Tensor> reshaped(std::vector<int64_t> shape) const;
  /// Return the same bytes as another type with the same element size (U8 as QU8).
  Tensor reinterpreted(DType dtype, QParams q) const;

  /// Return whether type, shape and elements are the same, bit for bit.
  bool same_bits(const Tensor& other) const;

 private:
  DType dtype_ = DType::kF32;
  QParams q_;
  BlockFormat block_ = BlockFormat::kNone;
  std::vector<int64_t> shape_;
  int64_t volume_ = 0;
  int64_t bytes_ = 0;
  bool is_mapped_ = false;
  std::shared_ptr<void> data_;
};

using TensorPtr = std::shared_ptr<const Tensor>;

/// Cast all elements to another type by the rules of `tract_core_cast`: floats to integers truncate
/// and saturate, NaN becomes 0, integers wrap, and anything to bool is `!= 0`. Errors: kUnsupported
/// for pairs of types without a cast; kSymbol for a dim that is not a number.
Result<Tensor> cast(const Tensor& tensor, DType to, QParams q = {});
/// As above, into existing memory; equal shapes, any strides. Real-time: for plain types, no
/// allocation.
Status cast_into(const View& from, const View& to) RILL_NONBLOCKING;

/// Return an element as a number; dims must be constant.
Result<int64_t> element_as_int(const Tensor& tensor, int64_t index);
Result<double> element_as_double(const Tensor& tensor, int64_t index);
/// Return an element as a dim; floats are truncated.
Result<Dim> element_as_dim(const Tensor& tensor, int64_t index);

/// Print as tract does: `2,3,F32 1, 2, 3...`, at most `limit` values.
std::string tensor_text(const Tensor& tensor, int64_t limit = 12);

/// Dequantise a block-quantised tensor to f32. Return any other tensor unchanged.
Result<Tensor> dequantised(const Tensor& tensor);

}  // namespace rill
