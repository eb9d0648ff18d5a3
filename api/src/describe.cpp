#include <utility>

#include "api/src/model_handle.h"

namespace rill::api {

IoText::IoText(std::string io_name, const Fact& fact)
    : dtype(fact.dtype), q(fact.q), name(std::move(io_name)), text(fact.to_string()) {
  for (const Dim& dim : fact.shape) dims.push_back(dim.to_string());
  for (const std::string& dim : dims) dim_pointers.push_back(dim.c_str());
  auto extents = fact.concrete_shape();
  if (extents.ok()) set_shape(std::move(extents).value());
}

}  // namespace rill::api
