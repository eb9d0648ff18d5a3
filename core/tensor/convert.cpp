// Conversions between element types, and copies between views.

#include "core/tensor/convert_element.h"
#include "core/tensor/plain_cast.h"
#include "core/tensor/strided_copy.h"
#include "core/tensor/tensor.h"

namespace rill {
namespace {

RILL_NOT_IN_STEPS_BEGIN

Status cast_from_dims(const View& from, const View& to) RILL_NONBLOCKING {
  Status status;
  for_each_pair(from, to, [&](int64_t a, int64_t b) {
    const Dim& dim = from.as<Dim>()[a];
    const auto number = dim.to_int();
    if (!number) {
      if (status.ok()) status = dim.as_int().take_status();
      return;
    }
    visit_type(to.dtype, [&](auto target) {
      using To = decltype(target);
      to.as<To>()[b] = convert_element<To>(*number);
    });
  });
  return status;
}

void cast_to_dims(const View& from, const View& to) RILL_NONBLOCKING {
  visit_type(from.dtype, [&](auto source) {
    using From = decltype(source);
    for_each_pair(from, to, [&](int64_t a, int64_t b) {
      to.as<Dim>()[b] = Dim(convert_element<int64_t>(from.as<From>()[a]));
    });
  });
}

void copy_objects(const View& from, const View& to) RILL_NONBLOCKING {
  if (from.dtype == DType::kString) {
    for_each_pair(from, to, [&](int64_t a, int64_t b) {
      to.as<std::string>()[b] = from.as<std::string>()[a];
    });
    return;
  }
  for_each_pair(from, to, [&](int64_t a, int64_t b) { to.as<Dim>()[b] = from.as<Dim>()[a]; });
}

RILL_NOT_IN_STEPS_END

}  // namespace

Status cast_into(const View& from, const View& to) {
  if (from.dtype == to.dtype && from.q == to.q) {
    copy_view(from, to);
    return {};
  }
  if (from.dtype == DType::kString || to.dtype == DType::kString) {
    return fail(Code::kUnsupported, "no cast from ", dtype_name(from.dtype), " to ",
                dtype_name(to.dtype));
  }
  if (from.dtype == DType::kDim) return cast_from_dims(from, to);
  if (to.dtype == DType::kDim) {
    cast_to_dims(from, to);
    return {};
  }
  cast_plain(from, to);
  return {};
}

Result<Tensor> cast(const Tensor& tensor, DType to, QParams q) {
  if (tensor.block_format() != BlockFormat::kNone) {
    RILL_ASSIGN(const Tensor plain, dequantised(tensor));
    return cast(plain, to, q);
  }
  if (tensor.dtype() == to && tensor.qparams() == q) return tensor;
  RILL_ASSIGN(Tensor out, Tensor::zeros(to, tensor.shape(), q));
  View target = out.view();
  RILL_TRY(cast_into(tensor.view(), target));
  return out;
}

void copy_view(const View& from, const View& to) {
  if (!is_plain(from.dtype)) return copy_objects(from, to);
  copy_plain(from, to);
}

Result<int64_t> element_as_int(const Tensor& tensor, int64_t index) {
  if (index < 0 || index >= tensor.volume()) {
    return fail(Code::kShape, "no element ", index, " in a tensor of ", tensor.volume());
  }
  if (tensor.dtype() == DType::kDim) return tensor.data<Dim>()[index].as_int();
  int64_t value = 0;
  const bool known = visit_type(tensor.dtype(), [&](auto source) {
    using From = decltype(source);
    value = convert_element<int64_t>(tensor.data<From>()[index]);
  });
  if (!known) return fail(Code::kDType, "expected a number, found ", dtype_name(tensor.dtype()));
  return value;
}

Result<double> element_as_double(const Tensor& tensor, int64_t index) {
  if (index < 0 || index >= tensor.volume()) {
    return fail(Code::kShape, "no element ", index, " in a tensor of ", tensor.volume());
  }
  if (tensor.dtype() == DType::kDim) {
    RILL_ASSIGN(const int64_t value, tensor.data<Dim>()[index].as_int());
    return static_cast<double>(value);
  }
  double value = 0;
  const bool known = visit_type(tensor.dtype(), [&](auto source) {
    using From = decltype(source);
    value = convert_element<double>(tensor.data<From>()[index]);
  });
  if (!known) return fail(Code::kDType, "expected a number, found ", dtype_name(tensor.dtype()));
  if (is_quantised(tensor.dtype())) {
    value = (value - tensor.qparams().zero_point) * static_cast<double>(tensor.qparams().scale);
  }
  return value;
}

Result<Dim> element_as_dim(const Tensor& tensor, int64_t index) {
  if (tensor.dtype() == DType::kDim && index >= 0 && index < tensor.volume()) {
    return tensor.data<Dim>()[index];
  }
  RILL_ASSIGN(const int64_t value, element_as_int(tensor, index));
  return Dim(value);
}

}  // namespace rill
