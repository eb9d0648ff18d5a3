#include "ops/array/not_defined.h"

namespace rill::ops {
namespace {

Status with_remedy(Status refused, DType dtype) {
  if (dtype != DType::kDim) return refused;
  return std::move(refused).hint(
      "TDim is the type of sizes, such as S: cast it to an integer or a float first");
}

}  // namespace

Status not_defined_for(const Fact& input) {
  return with_remedy(fail(Code::kDType, "not defined for ", dtype_name(input.dtype), ": input ",
                          input),
                     input.dtype);
}

Status not_defined_for(const Fact& a, const Fact& b) {
  return with_remedy(fail(Code::kDType, "not defined for ", dtype_name(a.dtype), ": inputs ", a,
                          " and ", b),
                     a.dtype);
}

}  // namespace rill::ops
