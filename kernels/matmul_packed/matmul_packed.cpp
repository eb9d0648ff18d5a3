#include "kernels/matmul_packed/matmul_packed.h"

#include <algorithm>
#include <cstring>

#include "kernels/half/half_bits.h"
#include "kernels/limited.h"
#include "kernels/mul_add.h"

namespace rill::kernels {
namespace {

constexpr int kScalarNr = 8;
constexpr int64_t kQ4Block = 32;
constexpr int64_t kQ4BlockBytes = 18;

constexpr MatmulPacked kKernels[] = {
#define RILL_KERNEL(needs, format, name, columns) {#name, Tier::needs, format, columns, name},
#include "kernels/matmul_packed/kernels.inc"
#undef RILL_KERNEL
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

/// The whole number at p, j of a panel.
float q4_value(const std::byte* panel, int64_t p, int64_t j) {
  const std::byte* block = panel + p / kQ4Block * kScalarNr * kQ4BlockBytes;
  const int64_t within = p % kQ4Block;
  uint32_t word = 0;
  std::memcpy(&word, block + kScalarNr * 2 + (within / 8 * kScalarNr + j) * 4, sizeof word);
  return static_cast<float>(static_cast<int32_t>(word << (28 - kQ4WordBits[within % 8])) >> 28);
}

/// The plain form of every product. `chain` goes on with a sum by the values of a segment: those of
/// A, and those of a panel of B from `p` on.
void scalar_product(const MatmulPackedArgs& args, PackedFormat format,
                    float (*chain)(float sum, const float* a, const std::byte* panel, int64_t p,
                                   int64_t j, int64_t count) RILL_NONBLOCKING) RILL_NONBLOCKING {
  const MatmulF32Args& g = args.product;
  const int64_t panel_bytes = packed_bytes(format, g.segments * g.segment_len, kScalarNr);
  for (int64_t col = 0; col < g.n; ++col) {
    const std::byte* panel = args.b + col / kScalarNr * panel_bytes;
    for (int64_t row = 0; row < g.m; ++row) {
      float* c = g.c + row * g.ldc + col;
      float sum = g.accumulate ? *c : g.bias != nullptr ? g.bias[col] : 0.0f;
      for (int64_t s = 0; s < g.segments; ++s) {
        const float* a = g.a + row * g.lda + s * g.segment_stride;
        sum = chain(sum, a, panel, s * g.segment_len, col % kScalarNr, g.segment_len);
      }
      if (g.residual != nullptr) sum = sum + g.residual[row * g.ldr + col];
      if (g.clip) sum = limited(sum, g.lo, g.hi, g.keep_nan);
      *c = sum;
    }
  }
}

float q4_chain(float sum, const float* a, const std::byte* panel, int64_t p, int64_t j,
               int64_t count) RILL_NONBLOCKING {
  for (int64_t begin = 0; begin < count; begin += kQ4Block) {
    float part = 0.0f;
    for (int64_t i = begin; i < begin + kQ4Block; ++i) {
      part = mul_add(a[i], q4_value(panel, p + i, j), part);
    }
    const std::byte* block = panel + (p + begin) / kQ4Block * kScalarNr * kQ4BlockBytes;
    sum = mul_add(part, float_of_half(block + j * 2), sum);
  }
  return sum;
}

float f16_chain(float sum, const float* a, const std::byte* panel, int64_t p, int64_t j,
                int64_t count) RILL_NONBLOCKING {
  for (int64_t i = 0; i < count; ++i) {
    const std::byte* half = panel + ((p + i) * kScalarNr + j) * 2;
    sum = mul_add(a[i], float_of_half(half), sum);
  }
  return sum;
}

/// The nibble of value p of a block, as two's complement; in the file it is 8 more than it stands
/// for.
uint32_t q4_nibble(const std::byte* from, int64_t p) {
  const auto two = static_cast<uint32_t>(from[2 + p % 16]);
  return ((p < 16 ? two : two >> 4u) & 15u) ^ 8u;
}

/// The values of a block into words of eight, those of a column `nr` words apart.
void pack_words(int nr, int64_t lane, const std::byte* from, std::byte* to) {
  for (int64_t w = 0; w < 4; ++w) {
    uint32_t word = 0;
    for (int64_t i = 0; i < 8; ++i) word |= q4_nibble(from, w * 8 + i) << kQ4WordBits[i];
    std::memcpy(to + (w * nr + lane) * 4, &word, sizeof word);
  }
}

/// The values of a block for vectors of eight columns, as `Q4Bytes` in q4_impl.h tells: 8 more than
/// they stand for.
void pack_bytes(int nr, int64_t lane, const std::byte* from, std::byte* to) {
  const int64_t half = lane % 8 / 4, within = lane % 4 * 2 + lane / 8;
  for (int64_t p = 0; p < kQ4Block; p += 4) {
    for (int64_t i = 0; i < 2; ++i) {
      const uint32_t two = q4_nibble(from, p + i) | q4_nibble(from, p + 2 + i) << 4u;
      to[p / 2 * nr + half * 16 + i * 8 + within] = static_cast<std::byte>(two ^ 0x88u);
    }
  }
}

}  // namespace

void matmul_q4_0_scalar(const MatmulPackedArgs& args) noexcept {
  scalar_product(args, PackedFormat::kQ4_0, q4_chain);
}

void matmul_f16_scalar(const MatmulPackedArgs& args) noexcept {
  scalar_product(args, PackedFormat::kF16, f16_chain);
}

KernelList<MatmulPacked> kernels_like(const MatmulPacked*) { return kKernels; }

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
  const bool few = m <= kPackedFewRows || kernel.tier == Tier::kScalar;
  if (few || kernel.format == PackedFormat::kQ4_0) return 0;
  const int64_t panel = k * kernel.nr, all = (n + kernel.nr - 1) / kernel.nr * panel;
  return std::max(panel, std::min(all, kPackedBlockFloats));
}

void matmul_packed_pack(const MatmulPacked& kernel, int64_t k, int64_t n, const std::byte* b,
                        int64_t column_bytes, std::byte* packed) noexcept {
  const int64_t nr = kernel.nr;
  const int64_t panel_bytes = matmul_packed_bytes(kernel, k, nr);
  const bool as_bytes = kernel.tier == Tier::kAvx2;
  std::memset(packed, 0, static_cast<size_t>(matmul_packed_bytes(kernel, k, n)));
  for (int64_t j = 0; j < n; ++j) {
    std::byte* panel = packed + j / nr * panel_bytes;
    const std::byte* from = b + j * column_bytes;
    for (int64_t block = 0; block < k / kQ4Block; ++block) {
      const std::byte* values = from + block * kQ4BlockBytes;
      std::byte* to = panel + block * nr * kQ4BlockBytes;
      std::memcpy(to + j % nr * 2, values, 2);
      if (as_bytes) {
        pack_bytes(kernel.nr, j % nr, values, to + nr * 2);
      } else {
        pack_words(kernel.nr, j % nr, values, to + nr * 2);
      }
    }
  }
}

bool fit_f16(const float* values, int64_t count) noexcept {
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
