#include "ops/nn/window_taps.h"

#include <numeric>
#include <utility>

namespace rill::ops {
namespace {

double ceil_of(int64_t a, int64_t b) { return static_cast<double>(a / b + (a % b != 0 ? 1 : 0)); }

double product_of(const Operand& x) {
  double product = 1;
  for (int i = 0; i < x.rank; ++i) product *= static_cast<double>(x.extent(i));
  return product;
}

}  // namespace

TapSteps::TapSteps(int64_t dilation, int64_t stride) {
  shared_ = std::gcd(dilation, stride);
  step_ = stride / shared_;
  // By Euclid's extended algorithm: dilation / shared_ * inverse_ = 1 modulo step_.
  int64_t a = step_, b = dilation / shared_ % step_;
  int64_t for_a = 0, for_b = 1;
  while (b > 1) {
    const int64_t times = a / b;
    a = std::exchange(b, a - times * b);
    for_a = std::exchange(for_b, for_a - times * for_b);
  }
  inverse_ = for_b < 0 ? for_b + step_ : for_b;
}

std::optional<int64_t> TapSteps::first(int64_t raw) const {
  if (raw % shared_ != 0) return std::nullopt;
  const int64_t rest = raw / shared_ % step_;
  return (rest < 0 ? rest + step_ : rest) * inverse_ % step_;
}

bool padding_is_cheap(const Operand& x, const Operand& y, double products,
                      std::span<const PaddedAxis> axes) {
  constexpr double kFewReads = 0x1p32;     // a second of a core, at most
  constexpr double kFewElements = 0x1p24;  // 64 MiB
  constexpr double kMuch = 64;
  double reads = static_cast<double>(y.extent(0)) * static_cast<double>(y.extent(1)) * products;
  double waste = 1;
  double padded = static_cast<double>(x.extent(0)) * static_cast<double>(x.extent(1));
  for (const PaddedAxis& axis : axes) {
    reads *= axis.reads;
    waste *= axis.reads / std::max(axis.useful, 1.0);
    padded *= axis.padded;
  }
  return (reads <= kFewReads || waste <= kMuch) &&
         (padded <= kFewElements || padded <= kMuch * (product_of(x) + product_of(y)));
}

bool padding_is_cheap(const Window& window, const Operand& x, const Operand& y, double products) {
  std::vector<PaddedAxis> axes;
  for (int i = 0; i < window.axes(); ++i) {
    const auto a = static_cast<size_t>(i);
    const int64_t extent = x.extent(i + 2);
    const auto [before, after] = window.pads(i, extent);
    const auto kernel = static_cast<double>(window.kernel[a]);
    const auto outputs = static_cast<double>(y.extent(i + 2));
    const double taps = std::min(kernel, ceil_of(extent, window.dilation[a]));
    const double windows = std::min(outputs, ceil_of(extent, window.stride[a]));
    axes.push_back({outputs * kernel, std::min(outputs * taps, kernel * windows),
                    static_cast<double>(extent) + static_cast<double>(before) +
                        static_cast<double>(after)});
  }
  return padding_is_cheap(x, y, products, axes);
}

}  // namespace rill::ops
