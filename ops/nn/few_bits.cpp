#include "ops/nn/few_bits.h"

#include <cmath>

#include "ops/nn/f16_product.h"

namespace rill::ops {
namespace {

using kernels::PackedFormat;

// Only a build that compiles models can request quantized weights.
#if defined(RILL_STEPS_UNSEEN)
constexpr bool kCompilesModels = false;
#else
constexpr bool kCompilesModels = true;
#endif

PackedFormat packed_format(WeightFormat format) {
  switch (format) {
    case WeightFormat::kF16:
      return PackedFormat::kF16;
    case WeightFormat::kQ8:
      return PackedFormat::kQ8;
    case WeightFormat::kInt8:
      return PackedFormat::kInt8;
    default:
      return PackedFormat::kQ4;
  }
}

/// Return the reason why a format cannot represent a weight; empty if it can.
std::string refusal(PackedFormat format, float value) {
  // The largest f16; for other formats, a bound below which rounding up a scale stays finite.
  const float most = format == PackedFormat::kF16 ? 65504.0F : 0x1p120F;
  if (std::isnan(value)) return "it has a weight that is not a number";
  if (std::isinf(value)) return "it has an infinite weight";
  return std::abs(value) > most ? str_cat("it has a weight of ", value, ", beyond ", most) : "";
}

}  // namespace

std::optional<PackedFormat> few_bits_format(Lowering& lowering,
                                            std::span<const TensorPtr> weights, int64_t k) {
  const WeightFormat asked = lowering.weight_format();
  if (!kCompilesModels || asked == WeightFormat::kF32) return std::nullopt;
  const PackedFormat format = packed_format(asked);
  if (format == PackedFormat::kInt8 && k > kernels::kInt8MostK) {
    lowering.keep_weights(str_cat("it sums ", k, " products, more than fit 32 bits"));
    return std::nullopt;
  }
  for (const TensorPtr& each : weights) {
    for (const float value : each->values<float>()) {
      const std::string why = refusal(format, value);
      if (why.empty()) continue;
      lowering.keep_weights(why);
      return std::nullopt;
    }
  }
  return format;
}

int64_t packed_floats(const kernels::MatmulF32& plain, const kernels::MatmulPacked* few_bits,
                      int64_t k, int64_t columns) {
  const int64_t floats = few_bits != nullptr
                             ? kernels::matmul_packed_bytes(*few_bits, k, columns) / 4
                             : kernels::matmul_f32_packed_floats(plain, k, columns);
  return (floats + 15) / 16 * 16;
}

const kernels::MatmulPacked* few_bits_product(Lowering& lowering, const kernels::MatmulF32& plain,
                                              const TensorPtr& weights, int64_t k,
                                              int64_t columns) {
  // Panels of f32 are narrower: for fewer columns, int8 takes as much memory. With fewer terms,
  // rounding a row takes longer than its products.
  constexpr int64_t kLeastColumns = 8;
  constexpr int64_t kLeastTerms = 8;
  if (lowering.weight_format() == WeightFormat::kInt8 &&
      (columns < kLeastColumns || k < kLeastTerms)) {
    lowering.keep_weights(columns < kLeastColumns
                              ? str_cat("it has fewer than ", kLeastColumns, " outputs")
                              : str_cat("it sums fewer than ", kLeastTerms, " products"));
    return f16_product(*weights);
  }
  if (const auto format = few_bits_format(lowering, {&weights, 1}, k)) {
    const auto& kernel = kernels::matmul_packed(kernels::active_tier(), *format);
    // Panels of f32 can be narrower, so that the padding of the other format outweighs its bits.
    if (packed_floats(plain, &kernel, k, columns) < packed_floats(plain, nullptr, k, columns)) {
      return &kernel;
    }
    lowering.keep_weights("it takes no more memory in f32");
  }
  return f16_product(*weights);
}

}  // namespace rill::ops
