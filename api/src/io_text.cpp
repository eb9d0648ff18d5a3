// Descriptions of inputs and outputs.

#include <utility>

#include "api/src/handles.h"
#include "core/base/checked.h"
#include "core/base/text.h"

namespace rill::api {

IoText::IoText(const PlanIo& io) : dtype(io.dtype), q(io.q), name(io.name) {
  for (const int64_t extent : io.shape) {
    append_text(dims.emplace_back(), extent);
    append_text(text, dims.back());
    text += ',';
  }
  if (dims.empty()) text = ",";
  text += dtype_name(dtype);
  if (is_quantised(dtype)) text += str_cat("(Z:", q.zero_point, " S:", q.scale, ")");
  for (const std::string& dim : dims) dim_pointers.push_back(dim.c_str());
  stream_axis = io.stream.axis;
  set_shape({io.shape.begin(), io.shape.end()});
}

void IoText::set_shape(std::vector<int64_t> extents) {
  concrete = true;
  shape = std::move(extents);
  strides.assign(shape.size(), 1);
  for (size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
  const auto count = checked_volume(shape);
  const int64_t element = static_cast<int64_t>(rill_dtype_size(static_cast<rill_dtype>(dtype)));
  const auto total = count ? checked_mul(*count, element) : std::nullopt;
  if (total) bytes = *total;
}

void IoText::fill(rill_io_info* info) const {
  info->dtype = static_cast<rill_dtype>(dtype);
  info->rank = static_cast<uint32_t>(dims.size());
  info->zero_point = q.zero_point;
  info->scale = q.scale;
  info->name = name.c_str();
  info->text = text.c_str();
  info->dims = dim_pointers.data();
  info->shape = concrete ? shape.data() : nullptr;
  info->bytes = bytes;
  info->stream_axis = stream_axis;
}

}  // namespace rill::api
