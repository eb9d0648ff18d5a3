#include "kernels/matmul_packed/matmul_packed.h"

#include <algorithm>
#include <cstring>

#include "kernels/half/half_bits.h"

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

/// The bytes of `columns` columns of k values.
int64_t packed_bytes(PackedFormat format, int64_t k, int64_t columns) RILL_NONBLOCKING {
  const int64_t bytes = format == PackedFormat::kF16 ? 2 * k : k / kQ4Block * kQ4BlockBytes;
  return columns * bytes;
}

float float_of_half(const std::byte* from) {
  uint16_t half = 0;
  std::memcpy(&half, from, sizeof half);
  const uint32_t bits = float_bits_of_half(half);
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// The half that a float is, or -1.
int32_t half_of_float(float value) RILL_NONBLOCKING {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return half_of_float_bits(bits);
}

float q4_value(const std::byte* panel, int64_t p, int64_t j) RILL_NONBLOCKING {
  const std::byte* block = panel + p / kQ4Block * kScalarNr * kQ4BlockBytes;
  const int64_t within = p % kQ4Block;
  uint32_t word = 0;
  std::memcpy(&word, block + kScalarNr * 2 + (within / 8 * kScalarNr + j) * 4, sizeof word);
  const auto value = static_cast<int32_t>(word << (28 - 4 * (within % 8))) >> 28;
  return static_cast<float>(value) * float_of_half(block + j * 2);
}

float f16_value(const std::byte* panel, int64_t p, int64_t j) RILL_NONBLOCKING {
  return float_of_half(panel + (p * kScalarNr + j) * 2);
}

/// The plain form of every product; `value` reads B.
void scalar_product(const MatmulPackedArgs& args, PackedFormat format,
                    float (*value)(const std::byte* panel, int64_t p,
                                   int64_t j) RILL_NONBLOCKING) RILL_NONBLOCKING {
  const MatmulF32Args& g = args.product;
  const int64_t panel_bytes = packed_bytes(format, g.segments * g.segment_len, kScalarNr);
  for (int64_t col = 0; col < g.n; ++col) {
    const std::byte* panel = args.b + col / kScalarNr * panel_bytes;
    for (int64_t row = 0; row < g.m; ++row) {
      float* c = g.c + row * g.ldc + col;
      float sum = g.accumulate ? *c : g.bias != nullptr ? g.bias[col] : 0.0f;
      for (int64_t s = 0, p = 0; s < g.segments; ++s) {
        const float* a = g.a + row * g.lda + s * g.segment_stride;
        for (int64_t i = 0; i < g.segment_len; ++i, ++p) {
          sum = __builtin_fmaf(a[i], value(panel, p, col % kScalarNr), sum);
        }
      }
      if (g.residual != nullptr) sum = sum + g.residual[row * g.ldr + col];
      if (g.clip && g.lo > -__builtin_inff()) sum = sum > g.lo ? sum : g.lo;
      if (g.clip && g.hi < __builtin_inff()) sum = sum < g.hi ? sum : g.hi;
      *c = sum;
    }
  }
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
  scalar_product(args, PackedFormat::kQ4_0, q4_value);
}

void matmul_f16_scalar(const MatmulPackedArgs& args) noexcept {
  scalar_product(args, PackedFormat::kF16, f16_value);
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
  return packed_bytes(kernel.format, k, (n + kernel.nr - 1) / kernel.nr * kernel.nr);
}

int64_t matmul_packed_scratch_floats(const MatmulPacked& kernel, int64_t m, int64_t k, int64_t n) {
  if (m <= kPackedFewRows || kernel.tier == Tier::kScalar) return 0;
  const int64_t panel = k * kernel.nr, all = (n + kernel.nr - 1) / kernel.nr * panel;
  return std::max(panel, std::min(all, kPackedBlockFloats));
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

bool are_halves(const float* values, int64_t count) noexcept {
  for (int64_t i = 0; i < count; ++i) {
    if (half_of_float(values[i]) < 0) return false;
  }
  return true;
}

void matmul_f16_pack(const MatmulPacked& kernel, int64_t k, int64_t n, const float* b,
                     int64_t k_stride, int64_t n_stride, std::byte* packed) noexcept {
  const int64_t nr = kernel.nr;
  for (int64_t col = 0; col < n; col += nr) {
    for (int64_t p = 0; p < k; ++p) {
      for (int64_t j = 0; j < nr; ++j, packed += 2) {
        const int64_t at = col + j;
        const int32_t half = at < n ? half_of_float(b[p * k_stride + at * n_stride]) : 0;
        const auto bits = static_cast<uint16_t>(half);
        std::memcpy(packed, &bits, sizeof bits);
      }
    }
  }
}

}  // namespace rill::kernels
