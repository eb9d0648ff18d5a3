#include "api/src/views.h"

#include <algorithm>

#include "api/src/errors.h"
#include "core/base/limits.h"
#include "core/tensor/row_major.h"

namespace rill::api {
namespace {

bool fits(const IoText& io, size_t axis, int64_t extent, int frames) {
  if (static_cast<int>(axis) != frames) return extent == io.shape[axis];
  return extent >= 0 && extent <= kMostPulse;
}

rill_status check_data(const char* function, const IoText& io, const rill_view& view, bool empty) {
  if (io.bytes > 0 && !empty && !view.data) {
    return refuse(RILL_E_ARG, "%s: view without data", function);
  }
  const size_t element = rill_dtype_size(view.dtype);
  if (element == 0) {
    return refuse(RILL_E_UNSUPPORTED, "%s: \"%s\" is %s: no memory to share", function,
                  io.name.c_str(), rill_dtype_name(view.dtype));
  }
  if (reinterpret_cast<uintptr_t>(view.data) % element == 0) return RILL_OK;
  return refuse(RILL_E_ARG, "%s: \"%s\": data is not aligned to its elements of %zu bytes",
                function, io.name.c_str(), element);
}

}  // namespace

rill_status check_view(const char* function, const IoText& io, const rill_view* view, int frames) {
  const rill_status known = check_size(view, "rill_view");
  if (known != RILL_OK) return known;
  if (view->dtype != static_cast<rill_dtype>(io.dtype)) {
    return refuse(RILL_E_DTYPE, "%s: \"%s\" is %s, found %s", function, io.name.c_str(),
                  rill_dtype_name(static_cast<rill_dtype>(io.dtype)), rill_dtype_name(view->dtype));
  }
  if (view->rank != io.shape.size()) {
    return refuse(RILL_E_SHAPE, "%s: \"%s\" is %s, found rank %u", function, io.name.c_str(),
                  io.text.c_str(), static_cast<unsigned>(view->rank));
  }
  if (view->rank > 0 && !view->shape) return refuse(RILL_E_ARG, "%s: view without shape", function);
  for (size_t axis = 0; axis < io.shape.size(); ++axis) {
    if (fits(io, axis, view->shape[axis], frames)) continue;
    return refuse(RILL_E_SHAPE, "%s: \"%s\" is %s, found %lld on axis %zu", function,
                  io.name.c_str(), io.text.c_str(), static_cast<long long>(view->shape[axis]),
                  axis);
  }
  return check_data(function, io, *view, frames >= 0 && view->shape[frames] == 0);
}

View view_of(const IoText& io, const rill_view& view) {
  View out;
  out.dtype = io.dtype;
  out.q = io.q;
  out.rank = static_cast<int>(io.shape.size());
  std::copy_n(view.shape, out.rank, out.shape.begin());
  if (view.strides) {
    std::copy_n(view.strides, out.rank, out.stride.begin());
  } else {
    lay_row_major(&out);
  }
  out.data = view.data;
  return out;
}

}  // namespace rill::api
