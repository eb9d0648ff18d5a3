#include "arrays.h"

#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "dlpack.h"
#include "errors.h"

namespace nb = nanobind;

namespace rill::python {
namespace {

/// Return NumPy's type for the elements of a type: the codes of quantised types, the bits of bf16.
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

/// Return a NumPy array over the elements of a view, which `owner` keeps alive.
nb::object window_on(const rill_view& view, int type, const nb::object& owner) {
  npy_intp extents[RILL_MAX_RANK], strides[RILL_MAX_RANK];
  const auto element = static_cast<npy_intp>(rill_dtype_size(view.dtype));
  for (uint32_t i = 0; i < view.rank; ++i) {
    extents[i] = view.shape[i];
    strides[i] = view.strides[i] * element;
  }
  const nb::object made =
      owned(PyArray_New(&PyArray_Type, static_cast<int>(view.rank), extents, type, strides,
                        view.data, 0, NPY_ARRAY_WRITEABLE, nullptr));
  if (owner && PyArray_SetBaseObject(as_numpy(made), nb::object(owner).release().ptr()) != 0) {
    throw nb::python_error();
  }
  return made;
}

/// Return the function of a type that exports tensors without a reference; null if it has none. A
/// subclass may interpret elements differently, so an inherited entry does not count.
const dlpack::ExchangeApi* exchange_of(PyTypeObject* type) {
  static PyTypeObject* last = nullptr;  // guarded by the GIL
  static const dlpack::ExchangeApi* found = nullptr;
  if (type == last) return found;
  PyObject* const own = type->tp_dict;
  PyObject* const capsule =
      own ? PyDict_GetItemString(own, "__dlpack_c_exchange_api__") : nullptr;
  const dlpack::ExchangeApi* api = nullptr;
  if (capsule && PyCapsule_IsValid(capsule, dlpack::kCapsule)) {
    api = static_cast<const dlpack::ExchangeApi*>(
        PyCapsule_GetPointer(capsule, dlpack::kCapsule));
  }
  while (api && api->major != 1) api = api->previous;
  if (api && !api->tensor_from_object) api = nullptr;
  if (api) {
    Py_INCREF(type);
    Py_XDECREF(last);
    last = type;
    found = api;
  }
  return api;
}

/// Return a flag of a PyTorch tensor: an attribute, or the result of a method.
bool has_flag(nb::handle tensor, PyObject* name, bool method) {
  PyObject* const flag = method ? PyObject_CallMethodNoArgs(tensor.ptr(), name)
                                : PyObject_GetAttr(tensor.ptr(), name);
  const bool set = flag == Py_True;
  if (!flag) PyErr_Clear();
  Py_XDECREF(flag);
  return set;
}

bool same_type(const dlpack::Tensor& tensor, int type) {
  const auto is = [&](dlpack::Code code, int bits) {
    return tensor.dtype.code == code && tensor.dtype.bits == bits && tensor.dtype.lanes == 1;
  };
  switch (type) {
    case NPY_BOOL: return is(dlpack::kBool, 8);
    case NPY_UINT8: return is(dlpack::kUint, 8);
    case NPY_UINT16: return is(dlpack::kUint, 16);
    case NPY_UINT32: return is(dlpack::kUint, 32);
    case NPY_UINT64: return is(dlpack::kUint, 64);
    case NPY_INT8: return is(dlpack::kInt, 8);
    case NPY_INT16: return is(dlpack::kInt, 16);
    case NPY_INT32: return is(dlpack::kInt, 32);
    case NPY_INT64: return is(dlpack::kInt, 64);
    case NPY_FLOAT16: return is(dlpack::kFloat, 16);
    case NPY_FLOAT32: return is(dlpack::kFloat, 32);
    case NPY_FLOAT64: return is(dlpack::kFloat, 64);
    default: return false;
  }
}

Failure shape_failure(const rill_io_info& io, std::string found, const char* what) {
  Failure failure;
  failure.code = RILL_E_SHAPE;
  failure.message =
      std::string(what) + "\"" + io.name + "\" has " + found + ", expected " + io.text;
  failure.expected = io.text;
  failure.found = std::move(found);
  failure.node = io.name;
  return failure;
}

std::string text_of(const int64_t* shape, uint32_t rank) {
  std::string out = "shape ";
  for (uint32_t i = 0; i < rank; ++i) out += (i > 0 ? "," : "") + std::to_string(shape[i]);
  return out;
}

/// Return a view of frames [begin, end) of an array, whose first axis is that of the frames.
nb::object frames_of(const nb::object& array, int axis, int64_t begin, int64_t end) {
  const nb::object frames_first = owned(PyArray_SwapAxes(as_numpy(array), axis, 0));
  return owned(PySequence_GetSlice(frames_first.ptr(), begin, end));
}

/// Return a NumPy array over a contiguous buffer of a session.
nb::object dense_window(const rill_io_info& io, const rill_view& view) {
  npy_intp extents[RILL_MAX_RANK];
  std::copy_n(view.shape, view.rank, extents);
  return owned(PyArray_SimpleNewFromData(static_cast<int>(view.rank), extents, numpy_type(io),
                                         view.data));
}

/// Return whether the strides of a view show that no elements overlap: each axis steps beyond the
/// reach of all axes with smaller strides.
bool elements_apart(const rill_view& view) {
  bool seen[RILL_MAX_RANK] = {};
  int64_t reach = 0;
  for (uint32_t round = 0; round < view.rank; ++round) {
    int least = -1;
    for (uint32_t i = 0; i < view.rank; ++i) {
      if (view.shape[i] == 0) return true;
      if (seen[i] || view.shape[i] == 1) continue;
      if (least < 0 || std::abs(view.strides[i]) < std::abs(view.strides[least])) {
        least = static_cast<int>(i);
      }
    }
    if (least < 0) return true;
    seen[least] = true;
    const int64_t stride = std::abs(view.strides[least]);
    if (stride <= reach) return false;
    reach += stride * (view.shape[least] - 1);
  }
  return true;
}

void copy_frames(const nb::object& from, const nb::object& to) {
  if (PyArray_CopyInto(as_numpy(to), as_numpy(from)) != 0) throw nb::python_error();
}

}  // namespace

InputArray::InputArray(nb::handle value, const rill_io_info& io) {
  if (PyArray_CheckExact(value.ptr()) ? look(value, io) : look_at_tensor(value, io)) return;
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
  if (rank > RILL_MAX_RANK) throw shape_failure(io, std::to_string(rank) + " axes", "");
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

bool InputArray::look_at_tensor(nb::handle value, const rill_io_info& io) {
  const dlpack::ExchangeApi* const api = exchange_of(Py_TYPE(value.ptr()));
  if (!api) return false;
  static PyObject* const requires_grad = PyUnicode_InternFromString("requires_grad");
  static PyObject* const is_neg = PyUnicode_InternFromString("is_neg");
  // The exchange ignores gradients and pending negations.
  if (has_flag(value, requires_grad, false) || has_flag(value, is_neg, true)) return false;
  dlpack::Tensor tensor = {};
  if (api->tensor_from_object(value.ptr(), &tensor) != 0) {
    PyErr_Clear();
    return false;
  }
  const bool readable = tensor.device_type == dlpack::kCpu || tensor.device_type == dlpack::kPinned;
  if (!readable || tensor.ndim > RILL_MAX_RANK || !same_type(tensor, numpy_type(io))) return false;
  int64_t dense = 1;
  for (int axis = tensor.ndim - 1; axis >= 0; --axis) {
    shape_[axis] = tensor.shape[axis];
    strides_[axis] = tensor.strides ? tensor.strides[axis] : dense;
    dense *= shape_[axis];
  }
  void* const data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  if (dense > 0 && reinterpret_cast<uintptr_t>(data) % rill_dtype_size(io.dtype) != 0) return false;
  array_ = nb::borrow(value);
  view_.size = sizeof view_;
  view_.dtype = io.dtype;
  view_.rank = static_cast<uint32_t>(tensor.ndim);
  view_.data = data;
  return true;
}

nb::object InputArray::numpy(const rill_io_info& io) const {
  return window_on(view(), numpy_type(io), array_);
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

OutputArray::OutputArray(nb::handle buffer, const rill_io_info& io, int axis, int64_t frames)
    : borrowed_(true), dtype_(io.dtype), rank_(io.rank), axis_(axis) {
  nb::object array = nb::borrow(buffer);
  if (!PyArray_CheckExact(buffer.ptr()) || !PyArray_ISWRITEABLE(as_numpy(buffer))) {
    array = nb::module_::import_("rill._arrays")
                .attr("as_buffer")(buffer, owned(reinterpret_cast<PyObject*>(
                                               PyArray_DescrFromType(numpy_type(io)))),
                                   io.name, io.text);
  }
  const InputArray seen(array, io);
  const rill_view view = seen.view();
  if (view.data != PyArray_DATA(as_numpy(array))) {
    Failure failure;
    failure.code = RILL_E_ARG;
    failure.message = std::string("the buffer for \"") + io.name +
                      "\" has swapped bytes, or strides of partial elements";
    failure.node = io.name;
    throw failure;
  }
  bool fits = view.rank == rank_;
  for (uint32_t i = 0; fits && i < rank_; ++i) {
    fits = static_cast<int>(i) == axis_ ? view.shape[i] >= frames : view.shape[i] == io.shape[i];
  }
  if (!fits) {
    Failure failure = shape_failure(io, text_of(view.shape, view.rank), "the buffer for ");
    if (axis_ >= 0) {
      failure.hint = "Frames along axis " + std::to_string(axis_) + ": at least " +
                     std::to_string(frames);
    }
    throw failure;
  }
  if (!elements_apart(view)) {
    Failure failure;
    failure.code = RILL_E_ARG;
    failure.message = std::string("the buffer for \"") + io.name +
                      "\" has elements that share memory";
    failure.node = io.name;
    throw failure;
  }
  std::copy_n(view.shape, rank_, shape_);
  std::copy_n(view.strides, rank_, strides_);
  if (axis_ >= 0) frames_ = shape_[axis_];
  data_ = view.data;
  array_ = nb::borrow(buffer);
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
  if (borrowed_) {
    Failure failure;
    failure.code = RILL_E_SHAPE;
    failure.message = "the buffer for the output is full: it holds " + std::to_string(frames_) +
                      " frames, and " + std::to_string(more) + " more are there";
    throw failure;
  }
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
  if (borrowed_) {
    nb::list place;
    const nb::object all = nb::slice(nb::none(), nb::none(), nb::none());
    for (int axis = 0; axis < axis_; ++axis) place.append(all);
    place.append(nb::slice(nb::int_(0), nb::int_(filled), nb::none()));
    return array_[nb::tuple(place)];
  }
  const nb::object part = frames_of(array_, axis_, 0, filled);
  const nb::object back = owned(PyArray_SwapAxes(as_numpy(part), 0, axis_));
  return owned(PyArray_NewCopy(as_numpy(back), NPY_CORDER));
}

std::pair<const char*, const char*> OutputArray::span() const { return span_of(view()); }

void copy_in(nb::handle value, const rill_io_info& io, const rill_view& to) {
  const InputArray array(value, io);
  const rill_view from = array.view();
  if (from.rank != to.rank || !std::equal(from.shape, from.shape + from.rank, to.shape)) {
    throw shape_failure(io, text_of(from.shape, from.rank), "");
  }
  copy_frames(array.numpy(io), dense_window(io, to));
}

nb::object copy_out(const rill_io_info& io, const rill_view& from) {
  nb::object out = empty_array(from.rank, from.shape, numpy_type(io));
  std::memcpy(PyArray_DATA(as_numpy(out)), from.data, static_cast<size_t>(io.bytes));
  return out;
}

nb::object copy_frames_out(const rill_io_info& io, int axis, const rill_view& from, int64_t first,
                           int64_t count) {
  OutputArray out(io, axis, count);
  const nb::object part = frames_of(dense_window(io, from), axis, first, first + count);
  nb::object array = out.whole();
  copy_frames(part, frames_of(array, axis, 0, count));
  return array;
}

nb::object copy_out_to(nb::handle buffer, const rill_io_info& io, const rill_view& from) {
  const OutputArray to(buffer, io, -1, 0);
  copy_frames(dense_window(io, from), window_on(to.view(), numpy_type(io), nb::object()));
  return nb::borrow(buffer);
}

std::pair<const char*, const char*> span_of(const rill_view& view) {
  const auto element = static_cast<int64_t>(rill_dtype_size(view.dtype));
  int64_t least = 0, most = 0;
  for (uint32_t i = 0; i < view.rank; ++i) {
    if (view.shape[i] == 0) return {nullptr, nullptr};
    const int64_t reach = (view.shape[i] - 1) * view.strides[i];
    (reach < 0 ? least : most) += reach;
  }
  const char* const data = static_cast<const char*>(view.data);
  return {data + least * element, data + (most + 1) * element};
}

bool overlap(const std::pair<const char*, const char*>& a,
             const std::pair<const char*, const char*>& b) {
  return a.first < b.second && b.first < a.second;
}

void import_numpy() {
  if (!PyArray_API && PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
}

}  // namespace rill::python
