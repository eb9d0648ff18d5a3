#include "core/graph/typed.h"

namespace rill {

Result<Tensor> as_type_of(const Tensor& value, const Fact& wire) {
  return cast(value, wire.dtype, wire.q);
}

Status expect_type_of(std::string_view what, const Tensor& value, const Fact& wire) {
  if (value.dtype() != wire.dtype) {
    return fail(Code::kDType, what, " of ", dtype_name(value.dtype()), " for ", wire);
  }
  if (!is_quantised(wire.dtype) || value.qparams() == wire.q) return {};
  const QParams& own = value.qparams();
  return fail(Code::kDType, what, " of zero point ", own.zero_point, " and scale ", own.scale,
              " for ", wire, " of zero point ", wire.q.zero_point, " and scale ", wire.q.scale);
}

}  // namespace rill
