#include "arrays.h"

#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "errors.h"

namespace nb = nanobind;

namespace rill::python {
namespace {

/// The type of NumPy that holds a type's elements: of quantised ones the codes, of bf16 the bits.
int numpy_type(const rill_io_info& io) {
  switch (io.dtype) {
    case RILL_BOOL: return NPY_BOOL;
    case RILL_U8: case RILL_QU8: return NPY_UINT8;
    case RILL_U16: case RILL_BF16: return NPY_UINT16;
    case RILL_U32: return NPY_UINT32;
    case RILL_U64: return NPY_UINT64;
    case RILL_I8: case RILL_QI8: return NPY_INT8;
    case RILL_I16: return NPY_INT16;
    case RILL_I32: case RILL_QI32: return NPY_INT32;
    case RILL_I64: case RILL_DIM: return NPY_INT64;
    case RILL_F16: return NPY_FLOAT16;
    case RILL_F32: return NPY_FLOAT32;
    case RILL_F64: return NPY_FLOAT64;
    default: break;
  }
  Failure failure;
  failure.code = RILL_E_UNSUPPORTED;
  failure.message = std::string("\"") + io.name + "\" holds " + rill_dtype_name(io.dtype) +
                    ", for which NumPy has no type";
  failure.node = io.name;
  throw failure;
}

PyArrayObject* as_numpy(nb::handle array) { return reinterpret_cast<PyArrayObject*>(array.ptr()); }

nb::object owned(PyObject* made) {
  if (!made) throw nb::python_error();
  return nb::steal(made);
}

nb::object empty_array(uint32_t rank, const int64_t* shape, int type) {
  npy_intp extents[RILL_MAX_RANK];
  std::copy_n(shape, rank, extents);
  return owned(PyArray_SimpleNew(static_cast<int>(rank), extents, type));
}

/// A window on frames [begin, end) of an array, which has their axis first.
nb::object frames_of(const nb::object& array, int axis, int64_t begin, int64_t end) {
  const nb::object frames_first = owned(PyArray_SwapAxes(as_numpy(array), axis, 0));
  return owned(PySequence_GetSlice(frames_first.ptr(), begin, end));
}

void copy_frames(const nb::object& from, const nb::object& to) {
  if (PyArray_CopyInto(as_numpy(to), as_numpy(from)) != 0) throw nb::python_error();
}

}  // namespace

InputArray::InputArray(nb::handle value, const rill_io_info& io) {
  if (PyArray_CheckExact(value.ptr()) && look(value, io)) return;
  const nb::object array =
      nb::module_::import_("rill._arrays")
          .attr("as_array")(value, owned(reinterpret_cast<PyObject*>(
                                       PyArray_DescrFromType(numpy_type(io)))),
                            io.name, io.text);
  if (look(array, io)) return;
  Failure failure;
  failure.message = std::string("\"") + io.name + "\": the array cannot be read";
  throw failure;
}

bool InputArray::look(nb::handle value, const rill_io_info& io) {
  PyArrayObject* const array = as_numpy(value);
  const int wanted = numpy_type(io);
  const int type = PyArray_TYPE(array);
  if (type != wanted && !PyArray_EquivTypenums(type, wanted)) return false;
  if (!PyArray_ISNOTSWAPPED(array) || !PyArray_ISALIGNED(array)) return false;
  const int rank = PyArray_NDIM(array);
  if (rank > RILL_MAX_RANK) {
    Failure failure;
    failure.code = RILL_E_SHAPE;
    failure.message = std::string("\"") + io.name + "\" has " + std::to_string(rank) +
                      " axes, expected " + std::to_string(io.rank) + ": " + io.text;
    failure.expected = io.text;
    failure.found = std::to_string(rank) + " axes";
    failure.node = io.name;
    throw failure;
  }
  const npy_intp element = PyArray_ITEMSIZE(array);
  for (int axis = 0; axis < rank; ++axis) {
    const npy_intp bytes = PyArray_STRIDE(array, axis);
    if (bytes % element != 0) return false;
    shape_[axis] = PyArray_DIM(array, axis);
    strides_[axis] = bytes / element;
  }
  array_ = nb::borrow(value);
  view_.size = sizeof view_;
  view_.dtype = io.dtype;
  view_.rank = static_cast<uint32_t>(rank);
  view_.data = PyArray_DATA(array);
  return true;
}

rill_view InputArray::rest(int axis, int64_t frames, int64_t* shape) const {
  rill_view out = view();
  std::copy_n(shape_, view_.rank, shape);
  shape[axis] -= frames;
  out.shape = shape;
  const auto element = static_cast<int64_t>(rill_dtype_size(view_.dtype));
  out.data = static_cast<char*>(view_.data) + frames * strides_[axis] * element;
  return out;
}

OutputArray::OutputArray(const rill_io_info& io, int axis, int64_t frames)
    : dtype_(io.dtype), rank_(io.rank), axis_(axis), frames_(frames) {
  std::copy_n(io.shape, rank_, shape_);
  if (axis_ >= 0) shape_[axis_] = frames;
  array_ = empty_array(rank_, shape_, numpy_type(io));
  PyArrayObject* const array = as_numpy(array_);
  const npy_intp element = PyArray_ITEMSIZE(array);
  for (uint32_t i = 0; i < rank_; ++i) {
    strides_[i] = PyArray_STRIDE(array, static_cast<int>(i)) / element;
  }
  data_ = PyArray_DATA(array);
}

rill_view OutputArray::view() const {
  rill_view out = {};
  out.size = sizeof out;
  out.dtype = dtype_;
  out.rank = rank_;
  out.shape = shape_;
  out.strides = strides_;
  out.data = data_;
  return out;
}

rill_view OutputArray::room(int64_t* shape) const {
  rill_view out = view();
  std::copy_n(shape_, rank_, shape);
  shape[axis_] = left();
  out.shape = shape;
  out.data = static_cast<char*>(data_) +
             filled * strides_[axis_] * static_cast<int64_t>(rill_dtype_size(dtype_));
  return out;
}

void OutputArray::grow(int64_t more) {
  rill_io_info io = {};
  io.dtype = dtype_;
  io.rank = rank_;
  io.shape = shape_;
  io.name = "";
  OutputArray larger(io, axis_, std::max(2 * frames_, filled + more));
  copy_frames(frames_of(array_, axis_, 0, filled), frames_of(larger.array_, axis_, 0, filled));
  larger.filled = filled;
  *this = std::move(larger);
}

void OutputArray::append(const OutputArray& other) {
  if (left() < other.filled) grow(other.filled);
  copy_frames(frames_of(other.array_, axis_, 0, other.filled),
              frames_of(array_, axis_, filled, filled + other.filled));
  filled += other.filled;
}

nb::object OutputArray::take() {
  if (axis_ < 0 || filled == frames_) return std::move(array_);
  const nb::object part = frames_of(array_, axis_, 0, filled);
  const nb::object back = owned(PyArray_SwapAxes(as_numpy(part), 0, axis_));
  return owned(PyArray_NewCopy(as_numpy(back), NPY_CORDER));
}

void copy_in(nb::handle value, const rill_io_info& io, const rill_view& to) {
  const InputArray array(value, io);
  const rill_view from = array.view();
  if (from.rank != to.rank || !std::equal(from.shape, from.shape + from.rank, to.shape)) {
    Failure failure;
    failure.code = RILL_E_SHAPE;
    failure.expected = io.text;
    for (uint32_t i = 0; i < from.rank; ++i) {
      failure.found += (i > 0 ? "," : "") + std::to_string(from.shape[i]);
    }
    failure.message = std::string("\"") + io.name + "\" has shape " + failure.found +
                      ", expected " + io.text;
    failure.node = io.name;
    throw failure;
  }
  npy_intp extents[RILL_MAX_RANK];
  std::copy_n(to.shape, to.rank, extents);
  const nb::object place = owned(
      PyArray_SimpleNewFromData(static_cast<int>(to.rank), extents, numpy_type(io), to.data));
  copy_frames(array.numpy(), place);
}

nb::object copy_out(const rill_io_info& io, const rill_view& from) {
  nb::object out = empty_array(from.rank, from.shape, numpy_type(io));
  std::memcpy(PyArray_DATA(as_numpy(out)), from.data, static_cast<size_t>(io.bytes));
  return out;
}

void import_numpy() {
  if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
}

}  // namespace rill::python
