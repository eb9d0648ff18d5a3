#include "ops/array/indices.h"

#include <algorithm>

#include "ops/array/elements.h"

namespace rill::ops {

int64_t index_at(const View& indices, int64_t offset) {
  if (indices.dtype != DType::kDim) return plain_index_at(indices, offset);
  return indices.as<const Dim>()[offset].to_int().value_or(INT64_MIN);
}

void demand_indices(const Fact& indices, const Dim& extent, std::vector<Dim>* non_negative) {
  if (!indices.konst || indices.dtype != DType::kDim) return;
  for (const Dim& index : indices.konst->values<Dim>()) {
    if (index.is_const()) continue;
    non_negative->push_back(extent - Dim(1) - index);
    non_negative->push_back(index + extent);
  }
}

std::optional<NumberRange> indices_of(const Dim& extent) {
  const auto number = extent.to_int();
  return number ? std::optional(NumberRange{-*number, *number - 1}) : std::nullopt;
}

std::optional<NumberRange> indices_of_axes(const Fact& data, int64_t first, int64_t count) {
  std::optional<NumberRange> out;
  for (int64_t axis = first; axis < first + count; ++axis) {
    const auto own = indices_of(data.dim(static_cast<int>(axis)));
    if (!own) return std::nullopt;
    if (!out || own->most > out->most) out = own;
  }
  return out;
}

RILL_NOT_IN_STEPS_BEGIN

Status known_indices(const View& indices) RILL_NONBLOCKING {
  Status status;
  if (indices.dtype != DType::kDim) return status;
  for_each_element<1>({indices}, [&](const std::array<int64_t, 1>& at) {
    const Dim& index = indices.as<const Dim>()[at[0]];
    if (status.ok() && !index.is_const()) status = index.as_int().take_status();
  });
  return status;
}

RILL_NOT_IN_STEPS_END

Status check_indices(const Fact& indices, const Dim& extent) {
  if (!is_int(indices.dtype) && indices.dtype != DType::kDim) {
    return fail(Code::kDType, "expected integer indices, found ", indices);
  }
  const auto number = extent.to_int();
  if (!indices.konst || !number) return {};
  const View view = indices.konst->view();
  for (int64_t i = 0; i < indices.konst->volume(); ++i) {
    if (view.dtype == DType::kDim && !view.as<const Dim>()[i].is_const()) continue;
    const int64_t index = index_at(view, i);
    RILL_CHECK(wrapped_index(index, *number) >= 0, "index ", index, " is out of extent ", *number);
  }
  return {};
}

}  // namespace rill::ops
