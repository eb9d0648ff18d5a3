#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

#include "rill/rill.h"

namespace rill::python {

/// A window on an array of NumPy, which it keeps. It moves nothing unless the elements lie in a way
/// that the library does not read: swapped bytes, or strides that are no whole elements.
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
  const nanobind::object& numpy() const { return array_; }
  int64_t extent(int axis) const { return shape_[axis]; }
  /// The view without its first `frames` along an axis.
  rill_view rest(int axis, int64_t frames, int64_t* shape) const;

 private:
  bool look(nanobind::handle value, const rill_io_info& io);

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

  rill_view view() const;
  /// Where the frames after the first `filled` go. `shape` is the caller's.
  rill_view room(int64_t* shape) const;
  int64_t left() const { return frames_ - filled; }
  /// Make room for at least that many frames more; what is filled stays.
  void grow(int64_t more);
  /// Add the frames that another one has.
  void append(const OutputArray& other);
  /// Hand the array out, with the frames that are filled.
  nanobind::object take();

  int64_t filled = 0;

 private:
  nanobind::object array_;
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

/// Load NumPy. Errors: ImportError of Python.
void import_numpy();

}  // namespace rill::python
