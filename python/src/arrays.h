#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <utility>

#include "rill/rill.h"

namespace rill::python {

/// A window on an array of NumPy or a tensor of another library, which it keeps alive. It copies
/// only what the library cannot read in place: swapped bytes, or strides of partial elements.
class InputArray {
 public:
  /// Look at a value for an input. Types differ: exact ones are taken, lists and numbers of Python
  /// converted where no value changes, all others refused.
  /// Errors: RILL_E_DTYPE, RILL_E_SHAPE for more than 8 axes, RILL_E_ARG for what is no array.
  InputArray(nanobind::handle value, const rill_io_info& io);

  /// Its shape and strides lie in this object, which stays where it is meanwhile.
  rill_view view() const {
    rill_view out = view_;
    out.shape = shape_;
    out.strides = strides_;
    return out;
  }
  /// The same window as an array of NumPy.
  nanobind::object numpy(const rill_io_info& io) const;
  int64_t extent(int axis) const { return shape_[axis]; }
  /// The view without its first `frames` along an axis.
  rill_view rest(int axis, int64_t frames, int64_t* shape) const;

 private:
  bool look(nanobind::handle value, const rill_io_info& io);
  bool look_at_tensor(nanobind::handle value, const rill_io_info& io);

  nanobind::object array_;
  rill_view view_ = {};
  int64_t shape_[RILL_MAX_RANK] = {};
  int64_t strides_[RILL_MAX_RANK] = {};
};

/// An array of NumPy that is filled frame by frame along an axis; axis -1: at once.
class OutputArray {
 public:
  OutputArray() = default;
  /// Errors: MemoryError of Python.
  OutputArray(const rill_io_info& io, int axis, int64_t frames);
  /// Fill the caller's buffer: an array, or a tensor that shares its memory. It may hold more than
  /// `frames`. Errors: RILL_E_DTYPE, RILL_E_SHAPE; RILL_E_ARG for a buffer that cannot be written.
  OutputArray(nanobind::handle buffer, const rill_io_info& io, int axis, int64_t frames);

  rill_view view() const;
  /// Where the frames after the first `filled` go. `shape` is the caller's.
  rill_view room(int64_t* shape) const;
  int64_t left() const { return frames_ - filled; }
  /// Make room for at least that many frames more; what is filled stays.
  void grow(int64_t more);
  /// Add the frames that another one has.
  void append(const OutputArray& other);
  /// Hand out the array with the frames that are filled: of a caller's buffer a window.
  nanobind::object take();
  /// All of the array, whatever is filled.
  const nanobind::object& whole() const { return array_; }
  /// The bytes from the first element to behind the last one.
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
/// Copy the buffer of an output out.
nanobind::object copy_out(const rill_io_info& io, const rill_view& from);
/// Copy frames [first, first + count) of a buffer out.
nanobind::object copy_frames_out(const rill_io_info& io, int axis, const rill_view& from,
                                 int64_t first, int64_t count);
/// Copy the buffer of an output to the caller's.
nanobind::object copy_out_to(nanobind::handle buffer, const rill_io_info& io,
                             const rill_view& from);

/// The bytes from the first element of a view to behind the last one; empty without elements.
std::pair<const char*, const char*> span_of(const rill_view& view);
bool overlap(const std::pair<const char*, const char*>& a,
             const std::pair<const char*, const char*>& b);

/// Load NumPy, once; before any array is made. Errors: ImportError of Python.
void import_numpy();

}  // namespace rill::python
