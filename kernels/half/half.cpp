#include "kernels/half/half.h"

#include <cstring>

#include "kernels/half/half_args.h"
#include "kernels/half/half_bits.h"

namespace rill::kernels {
namespace {

constexpr HalfCasts kCasts[] = {
#define RILL_KERNEL(needs, name) \
  {"half_" #name, Tier::needs, upcast_f16_##name, downcast_f16_##name},
#include "kernels/half/kernels.inc"
#undef RILL_KERNEL
};

}  // namespace

void upcast_f16_scalar(int64_t n, const uint16_t* x, float* y) noexcept {
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t bits = float_bits_of_half(x[i]);
    std::memcpy(y + i, &bits, sizeof bits);
  }
}

void downcast_f16_scalar(int64_t n, const float* x, uint16_t* y) noexcept {
  for (int64_t i = 0; i < n; ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, x + i, sizeof bits);
    y[i] = static_cast<uint16_t>(nearest_half_of_float_bits(bits));
  }
}

KernelList<HalfCasts> kernels_like(const HalfCasts*) { return kCasts; }

const HalfCasts& half_casts(Tier cpu) {
  return kernels_like(static_cast<const HalfCasts*>(nullptr)).best(cpu);
}

}  // namespace rill::kernels
