#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <utility>

#include "rill/rill.h"

namespace rill::python {

/// A view of a NumPy array or a tensor of another library, which it keeps alive. It copies only
/// data that the library cannot read in place: swapped bytes, or strides of partial elements.
class InputArray {
 public:
  /// Make a view of a value for an input. The exact type is accepted; Python lists and numbers are
  /// converted if no value changes; all others are refused. Errors: RILL_E_DTYPE, RILL_E_SHAPE for
  /// more than 8 axes, RILL_E_ARG if it is not an array.
  InputArray(nanobind::handle value, const rill_io_info& io);

  /// Return the view. Its shape and strides point into this object, which must not move meanwhile.
  rill_view view() const {
    rill_view out = view_;
    out.shape = shape_;
    out.strides = strides_;
    return out;
  }
  /// Return the same view as a NumPy array.
  nanobind::object numpy(const rill_io_info& io) const;
  int64_t extent(int axis) const { return shape_[axis]; }
  /// Return the view without its first `frames` along an axis.
  rill_view rest(int axis, int64_t frames, int64_t* shape) const;

 private:
  bool look(nanobind::handle value, const rill_io_info& io);
  bool look_at_tensor(nanobind::handle value, const rill_io_info& io);

  nanobind::object array_;
  rill_view view_ = {};
  int64_t shape_[RILL_MAX_RANK] = {};
  int64_t strides_[RILL_MAX_RANK] = {};
};

/// A NumPy array that is filled frame by frame along an axis; axis -1: at once.
class OutputArray {
 public:
  OutputArray() = default;
  /// Errors: Python's MemoryError.
  OutputArray(const rill_io_info& io, int axis, int64_t frames);
  /// Fill the caller's buffer: an array, or a tensor that shares its memory. It may hold more than
  /// `frames`. Errors: RILL_E_DTYPE, RILL_E_SHAPE; RILL_E_ARG for a buffer that cannot be written.
  OutputArray(nanobind::handle buffer, const rill_io_info& io, int axis, int64_t frames);

  rill_view view() const;
  /// Return the view of the unfilled frames. The caller provides `shape`.
  rill_view room(int64_t* shape) const;
  int64_t left() const { return frames_ - filled; }
  /// Reserve space for at least `more` frames, and keep the filled ones.
  void grow(int64_t more);
  /// Append the frames of another array.
  void append(const OutputArray& other);
  /// Return the array of the filled frames; for a caller's buffer, a view.
  nanobind::object take();
  /// Return the whole array, filled or not.
  const nanobind::object& whole() const { return array_; }
  /// Return the byte range from the first to the last element.
  std::pair<const char*, const char*> span() const;

  int64_t filled = 0;

 private:
  nanobind::object array_;
  bool borrowed_ = false;  ///< the caller's buffer, which does not grow
  rill_dtype dtype_ = RILL_F32;
  uint32_t rank_ = 0;
  int axis_ = -1;
  int64_t frames_ = 0;
  int64_t shape_[RILL_MAX_RANK] = {};
  int64_t strides_[RILL_MAX_RANK] = {};
  void* data_ = nullptr;
};

/// Copy a value into the buffer of an input that does not stream.
void copy_in(nanobind::handle value, const rill_io_info& io, const rill_view& to);
/// Copy the buffer of an output to a new array.
nanobind::object copy_out(const rill_io_info& io, const rill_view& from);
/// Copy frames [first, first + count) of a buffer to a new array.
nanobind::object copy_frames_out(const rill_io_info& io, int axis, const rill_view& from,
                                 int64_t first, int64_t count);
/// Copy the buffer of an output to the caller's.
nanobind::object copy_out_to(nanobind::handle buffer, const rill_io_info& io,
                             const rill_view& from);

/// Return the byte range from the first to the last element of a view; empty without elements.
std::pair<const char*, const char*> span_of(const rill_view& view);
bool overlap(const std::pair<const char*, const char*>& a,
             const std::pair<const char*, const char*>& b);

/// Load NumPy, once, before any array is made. Errors: Python's ImportError.
void import_numpy();

}  // namespace rill::python
