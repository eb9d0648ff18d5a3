#include "ops/nn/f16_product.h"

#include "ops/array/cast.h"

namespace rill::ops {
namespace {

/// The fewest weights for which reading f16 and widening it takes less time than reading f32: more
/// f32 weights than these do not fit the first-level cache of 32 KiB.
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

Status fuse_as_f32(const Op& op, Rewrite& rewrite) {
  const Node& node = rewrite.node();
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (rewrite.in(static_cast<int>(i)).dtype != DType::kF16) return {};
  }
  std::vector<OutletId> inputs = rewrite.mapped_inputs(node);
  for (OutletId& input : inputs) {
    RILL_ASSIGN(input, rewrite.wire1(node.name + "_wide", make_op<Cast>(DType::kF32), {input}));
  }
  RILL_ASSIGN(const OutletId sums, rewrite.wire1(node.name + "_sums", op.clone(), inputs));
  return rewrite.replace_by(make_op<Cast>(DType::kF16), {sums});
}

}  // namespace rill::ops
