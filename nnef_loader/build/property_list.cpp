#include <utility>

#include "core/tensor/tensor.h"
#include "nnef_loader/properties.h"

namespace rill::nnef {
namespace {

Property property_of(std::string key, const Tensor& value) {
  Property out;
  out.key = std::move(key);
  out.dtype = value.dtype();
  const int64_t n = value.volume();
  if (out.dtype == DType::kString) {
    out.strings.assign(value.data<std::string>(), value.data<std::string>() + n);
  } else if (out.dtype == DType::kDim) {
    for (int64_t i = 0; i < n; ++i) out.strings.push_back(value.data<Dim>()[i].to_string());
  } else if (is_float(out.dtype)) {
    for (int64_t i = 0; i < n; ++i) {
      const auto element = element_as_double(value, i);
      out.floats.push_back(element.ok() ? *element : 0.0);
    }
  } else if (is_int(out.dtype) || out.dtype == DType::kBool) {
    for (int64_t i = 0; i < n; ++i) {
      const auto element = element_as_int(value, i);
      out.ints.push_back(element.ok() ? *element : 0);
    }
  }
  out.text = out.strings.size() == 1 ? out.strings[0] : tensor_text(value, n);
  return out;
}

}  // namespace

std::vector<Property> property_list(const std::map<std::string, Tensor>& properties) {
  std::vector<Property> out;
  for (const auto& [key, value] : properties) out.push_back(property_of(key, value));
  return out;
}

}  // namespace rill::nnef
