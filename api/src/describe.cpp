#include <utility>

#include "api/src/model_handle.h"
#include "core/tensor/tensor.h"

namespace rill::api {

IoText::IoText(std::string io_name, const Fact& fact)
    : dtype(fact.dtype), q(fact.q), name(std::move(io_name)), text(fact.to_string()) {
  for (const Dim& dim : fact.shape) dims.push_back(dim.to_string());
  for (const std::string& dim : dims) dim_pointers.push_back(dim.c_str());
  auto extents = fact.concrete_shape();
  if (extents.ok()) set_shape(std::move(extents).value());
}

PropertyText::PropertyText(std::string property_key, const Tensor& value)
    : dtype(value.dtype()),
      key(std::move(property_key)),
      count(static_cast<size_t>(value.volume())) {
  const int64_t n = value.volume();
  if (dtype == DType::kString) {
    strings.assign(value.data<std::string>(), value.data<std::string>() + n);
  } else if (dtype == DType::kDim) {
    for (int64_t i = 0; i < n; ++i) strings.push_back(value.data<Dim>()[i].to_string());
  } else if (is_float(dtype)) {
    for (int64_t i = 0; i < n; ++i) {
      const auto element = element_as_double(value, i);
      floats.push_back(element.ok() ? *element : 0.0);
    }
  } else if (is_int(dtype) || dtype == DType::kBool) {
    for (int64_t i = 0; i < n; ++i) {
      const auto element = element_as_int(value, i);
      ints.push_back(element.ok() ? *element : 0);
    }
  }
  for (const std::string& each : strings) string_pointers.push_back(each.c_str());
  text = strings.size() == 1 ? strings[0] : tensor_text(value, n);
}

void PropertyText::fill(rill_property* property) const {
  property->dtype = static_cast<rill_dtype>(dtype);
  property->key = key.c_str();
  property->text = text.c_str();
  property->count = count;
  property->ints = ints.empty() ? nullptr : ints.data();
  property->floats = floats.empty() ? nullptr : floats.data();
  property->strings = string_pointers.empty() ? nullptr : string_pointers.data();
}

}  // namespace rill::api
