#include "ops/nn/f16_product.h"

namespace rill::ops {
namespace {

/// The minimum number of weights for which reading and upcasting f16 is faster than reading f32: in
/// f32, they fill the first-level cache of 32 KiB.
constexpr int64_t kManyWeights = 8 * 1024;

}  // namespace

const kernels::MatmulPacked* f16_product(const Tensor& weights) {
  const kernels::Tier tier = kernels::active_tier();
  const kernels::MatmulPacked& product =
      kernels::matmul_packed(tier, kernels::PackedFormat::kF16);
  const bool pays = product.tier == tier && tier != kernels::Tier::kSse42 &&
                    weights.volume() >= kManyWeights;
  if (!pays || weights.block_format() != BlockFormat::kNone || weights.dtype() != DType::kF32 ||
      !kernels::fit_f16(weights.data<float>(), weights.volume())) {
    return nullptr;
  }
  return &product;
}

}  // namespace rill::ops
