#include "kernels/matmul_packed/matmul_packed.h"

#include <cstring>

#include "kernels/matmul_packed/half_bits.h"

namespace rill::kernels {
namespace {

constexpr int kScalarNr = 8;
constexpr int64_t kQ4Block = 32;
constexpr int64_t kQ4BlockBytes = 18;

constexpr MatmulPacked kKernels[] = {
#define RILL_MATMUL_PACKED(tier, format, name, columns) {#name, tier, format, columns, name},
#include "kernels/matmul_packed/kernels.inc"
#undef RILL_MATMUL_PACKED
};

float float_of_half(const std::byte* from) {
  uint16_t half = 0;
  std::memcpy(&half, from, sizeof half);
  const uint32_t bits = float_bits_of_half(half);
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

float scalar_value(const std::byte* panel, int64_t p, int64_t j) {
  const std::byte* block = panel + p / kQ4Block * kScalarNr * kQ4BlockBytes;
  const int64_t within = p % kQ4Block;
  uint32_t word = 0;
  std::memcpy(&word, block + kScalarNr * 2 + (within / 8 * kScalarNr + j) * 4, sizeof word);
  const auto value = static_cast<int32_t>(word << (28 - 4 * (within % 8))) >> 28;
  return static_cast<float>(value) * float_of_half(block + j * 2);
}

/// One block of a column into its lane of a panel's block.
void pack_q4_block(int nr, int64_t lane, const std::byte* from, std::byte* to) {
  std::memcpy(to + lane * 2, from, 2);
  for (int64_t w = 0; w < 4; ++w) {
    uint32_t word = 0;
    for (int64_t i = 0; i < 8; ++i) {
      const int64_t p = w * 8 + i;
      const auto two = static_cast<uint32_t>(from[2 + p % 16]);
      const uint32_t value = (p < 16 ? two : two >> 4u) & 15u;
      word |= (value ^ 8u) << (4 * i);  // 8 more than it stands for, as two's complement
    }
    std::memcpy(to + nr * 2 + (w * nr + lane) * 4, &word, sizeof word);
  }
}

}  // namespace

void matmul_q4_0_scalar(const MatmulPackedArgs& args) noexcept {
  const MatmulF32Args& g = args.product;
  const int64_t k = g.segment_len;
  const int64_t panel_bytes = k / kQ4Block * kScalarNr * kQ4BlockBytes;
  for (int64_t col = 0; col < g.n; ++col) {
    const std::byte* panel = args.b + col / kScalarNr * panel_bytes;
    for (int64_t row = 0; row < g.m; ++row) {
      float* c = g.c + row * g.ldc + col;
      float sum = g.accumulate ? *c : g.bias != nullptr ? g.bias[col] : 0.0f;
      for (int64_t p = 0; p < k; ++p) {
        sum = __builtin_fmaf(g.a[row * g.lda + p], scalar_value(panel, p, col % kScalarNr), sum);
      }
      if (g.residual != nullptr) sum = sum + g.residual[row * g.ldr + col];
      if (g.clip && g.lo > -__builtin_inff()) sum = sum > g.lo ? sum : g.lo;
      if (g.clip && g.hi < __builtin_inff()) sum = sum < g.hi ? sum : g.hi;
      *c = sum;
    }
  }
}

const MatmulPacked& matmul_packed(Tier cpu, PackedFormat format) {
  const MatmulPacked* found = nullptr;
  for (const MatmulPacked& kernel : kKernels) {
    if (kernel.format != format) continue;
    found = &kernel;
    if (supports(cpu, kernel.tier)) break;
  }
  return *found;
}

int64_t matmul_packed_bytes(const MatmulPacked& kernel, int64_t k, int64_t n) {
  const int64_t columns = (n + kernel.nr - 1) / kernel.nr * kernel.nr;
  return columns * (k / kQ4Block) * kQ4BlockBytes;
}

int64_t matmul_packed_scratch_floats(const MatmulPacked& kernel, int64_t m, int64_t k) {
  return m <= kPackedFewRows || kernel.tier == Tier::kScalar ? 0 : k * kernel.nr;
}

void matmul_packed_pack(const MatmulPacked& kernel, int64_t k, int64_t n, const std::byte* b,
                        int64_t column_bytes, std::byte* packed) noexcept {
  const int64_t nr = kernel.nr;
  const int64_t panel_bytes = matmul_packed_bytes(kernel, k, nr);
  std::memset(packed, 0, static_cast<size_t>(matmul_packed_bytes(kernel, k, n)));
  for (int64_t j = 0; j < n; ++j) {
    std::byte* panel = packed + j / nr * panel_bytes;
    const std::byte* from = b + j * column_bytes;
    for (int64_t block = 0; block < k / kQ4Block; ++block) {
      pack_q4_block(kernel.nr, j % nr, from + block * kQ4BlockBytes,
                    panel + block * nr * kQ4BlockBytes);
    }
  }
}

}  // namespace rill::kernels
