#include "ops/nn/pool_lower.h"

#include <limits>

#include "ops/array/cast.h"
#include "ops/kernel_fields.h"
#include "ops/nn/pool_step.h"

namespace rill::ops {
namespace {

using kernels::PoolF32Args;

}  // namespace

bool lower_pool_f32(Lowering& lowering, const Window& window, float border, float scale,
                    bool largest) {
  const int spatial = window.axes();
  std::vector<int> reached;  // the axes along which windows have several taps
  for (int i = 0; i < spatial; ++i) {
    if (window.kernel[static_cast<size_t>(i)] != 1) reached.push_back(i);
  }
  if (spatial > kPoolLoops || reached.size() > 2) return false;
  if (!padding_is_cheap(window, lowering.in(0), lowering.out_shape(0), 1)) return false;
  const Operand x = padded_rows(lowering, lowering.in(0), window, border);
  const Operand y = lowering.make_out(0, channels_last(x.rank));
  if (y.volume() == 0) return true;
  const auto tap_stride = [&](int i) {
    return window.dilation[static_cast<size_t>(i)] * x.step(i + 2);
  };
  const auto frame_stride = [&](int i) {
    return window.stride[static_cast<size_t>(i)] * x.step(i + 2);
  };
  const int inner = spatial - 1;
  PoolArgs args;
  args.kernel = &kernels::pool_f32(kernels::active_tier());
  args.largest = largest;
  args.x = x.ref;
  args.y = y.ref;
  PoolF32Args& k = args.args;
  k.channels = y.extent(1);
  k.frames = y.extent(inner + 2);
  k.taps = reached.empty() ? 1 : window.kernel[static_cast<size_t>(reached.back())];
  k.x_tap_stride = reached.empty() ? 0 : tap_stride(reached.back());
  k.x_frame_stride = frame_stride(inner);
  k.y_frame_stride = y.step(inner + 2);
  k.scale = scale;
  if (reached.size() == 2) {
    k.taps_outer = window.kernel[static_cast<size_t>(reached[0])];
    k.x_tap_outer_stride = tap_stride(reached[0]);
  }
  args.loops[0] = {y.extent(0), x.step(0), y.step(0)};
  for (int i = 0; i < inner; ++i) {
    args.loops[kPoolLoops - inner + i] = {y.extent(i + 2), frame_stride(i), y.step(i + 2)};
  }
  lowering.step(kPool, args, {x}, {y});
  return true;
}

Result<Tensor> lowest_of(const Fact& x) {
  if (is_float(x.dtype)) {
    return cast(Tensor::scalar(-std::numeric_limits<float>::infinity()), x.dtype);
  }
  RILL_ASSIGN(Tensor lowest, Tensor::zeros(x.dtype, {}, x.q));
  if (x.dtype == DType::kQI8) *lowest.mutable_data<int8_t>() = INT8_MIN;
  if (x.dtype == DType::kQI32) *lowest.mutable_data<int32_t>() = INT32_MIN;
  if (is_unsigned_int(x.dtype) || is_quantised(x.dtype)) return lowest;
  const int64_t bits = dtype_size(x.dtype) * 8;
  return cast(Tensor::scalar(bits == 64 ? INT64_MIN : -(int64_t{1} << (bits - 1))), x.dtype);
}

}  // namespace rill::ops
