#include "kernels/matmul_packed/matmul_packed.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/half/half_bits.h"
#include "kernels/limited.h"
#include "kernels/simd/mul_add.h"

namespace rill::kernels {

int64_t packed_panel_bytes(PackedFormat format, int64_t k, int64_t columns) noexcept {
  const int64_t scales = (k + kPackedBlock - 1) / kPackedBlock * 2;
  switch (format) {
    case PackedFormat::kQ4_0:
      return columns * (k / kPackedBlock * 18);
    case PackedFormat::kF16:
      return columns * (2 * k);
    case PackedFormat::kQ8:
      return columns * (scales + k);
    case PackedFormat::kQ4:
      return columns * (scales + (k + 1) / 2);
  }
  return 0;
}
namespace {

constexpr int kScalarNr = 8;
constexpr int64_t kQ4Block = kPackedBlock;
constexpr int64_t kQ4BlockBytes = 18;

constexpr MatmulPacked kKernels[] = {
#define RILL_KERNEL(needs, format, name, columns, upcast) \
  {#name, Tier::needs, format, columns, name, upcast},
#include "kernels/matmul_packed/kernels.inc"
#undef RILL_KERNEL
};

uint32_t bits_of(float value) RILL_NONBLOCKING {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

float float_of(uint32_t bits) RILL_NONBLOCKING {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

float float_of_half(const std::byte* from) {
  uint16_t half = 0;
  std::memcpy(&half, from, sizeof half);
  return float_of(float_bits_of_half(half));
}

/// The half that a float is, or -1.
int32_t half_of_float(float value) RILL_NONBLOCKING { return half_of_float_bits(bits_of(value)); }

/// Return element p, j of a panel of kQ8 or kQ4.
float scaled_value(PackedFormat format, const std::byte* panel, int64_t columns, int64_t p,
                   int64_t j) RILL_NONBLOCKING {
  const int64_t first = p / kPackedBlock * kPackedBlock;
  const std::byte* block = panel + packed_panel_bytes(format, first, columns);
  uint16_t half = 0;
  std::memcpy(&half, block + 2 * j, sizeof half);
  const int64_t within = p % kPackedBlock;
  const bool two = format == PackedFormat::kQ4;
  const auto byte =
      static_cast<uint32_t>(block[2 * columns + (two ? within / 2 : within) * columns + j]);
  const uint32_t up = !two ? byte << 24u : byte << (within % 2 == 0 ? 28u : 24u);
  const int32_t value = static_cast<int32_t>(up) >> (two ? 28 : 24);
  return static_cast<float>(value) * float_of(uint32_t{half} << 16u);
}

/// The whole number at p, j of a panel.
float q4_value(const std::byte* panel, int64_t p, int64_t j) {
  const std::byte* block = panel + p / kQ4Block * kScalarNr * kQ4BlockBytes;
  const int64_t within = p % kQ4Block;
  uint32_t word = 0;
  std::memcpy(&word, block + kScalarNr * 2 + (within / 8 * kScalarNr + j) * 4, sizeof word);
  return static_cast<float>(static_cast<int32_t>(word << (28 - kQ4WordBits[within % 8])) >> 28);
}

/// The reference form of every matmul. `chain` continues a sum with the values of a segment: those
/// of A, and those of a panel of B from `p` on.
void scalar_product(const MatmulPackedArgs& args, PackedFormat format,
                    float (*chain)(float sum, const float* a, const std::byte* panel, int64_t p,
                                   int64_t j, int64_t count) RILL_NONBLOCKING) RILL_NONBLOCKING {
  const MatmulF32Args& g = args.product;
  const int64_t panel_bytes = packed_panel_bytes(format, g.segments * g.segment_len, kScalarNr);
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
      sum = leaked(sum, g.slope);
      if (g.clip) sum = limited(sum, g.lo, g.hi);
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

template <PackedFormat kFormat>
float scaled_chain(float sum, const float* a, const std::byte* panel, int64_t p, int64_t j,
                   int64_t count) RILL_NONBLOCKING {
  for (int64_t i = 0; i < count; ++i) {
    sum = mul_add(a[i], scaled_value(kFormat, panel, kScalarNr, p + i, j), sum);
  }
  return sum;
}

void upcast_scaled(PackedFormat format, const std::byte* panel, int64_t k, int64_t columns,
                  float* to) RILL_NONBLOCKING {
  for (int64_t p = 0; p < k; ++p) {
    for (int64_t j = 0; j < columns; ++j) *to++ = scaled_value(format, panel, columns, p, j);
  }
}

/// The nibble of value p of a block, as two's complement; in the file it is 8 more than it stands
/// for.
uint32_t q4_nibble(const std::byte* from, int64_t p) {
  const auto two = static_cast<uint32_t>(from[2 + p % 16]);
  return ((p < 16 ? two : two >> 4u) & 15u) ^ 8u;
}

/// Pack the values of a block into words of eight; the words of a column are `nr` words apart.
void pack_words(int nr, int64_t lane, const std::byte* from, std::byte* to) {
  for (int64_t w = 0; w < 4; ++w) {
    uint32_t word = 0;
    for (int64_t i = 0; i < 8; ++i) word |= q4_nibble(from, w * 8 + i) << kQ4WordBits[i];
    std::memcpy(to + (w * nr + lane) * 4, &word, sizeof word);
  }
}

/// Pack the values of a block for vectors of eight columns, in the layout of `Q4Bytes` in
/// q4_impl.h: each value plus 8.
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

void matmul_q8_scalar(const MatmulPackedArgs& args) noexcept {
  scalar_product(args, PackedFormat::kQ8, scaled_chain<PackedFormat::kQ8>);
}

void matmul_q4_scalar(const MatmulPackedArgs& args) noexcept {
  scalar_product(args, PackedFormat::kQ4, scaled_chain<PackedFormat::kQ4>);
}

void upcast_f16_scalar(const std::byte* panel, int64_t k, int64_t columns, float* to) noexcept {
  for (int64_t i = 0; i < k * columns; ++i) to[i] = float_of_half(panel + 2 * i);
}

void upcast_q8_scalar(const std::byte* panel, int64_t k, int64_t columns, float* to) noexcept {
  upcast_scaled(PackedFormat::kQ8, panel, k, columns, to);
}

void upcast_q4_scalar(const std::byte* panel, int64_t k, int64_t columns, float* to) noexcept {
  upcast_scaled(PackedFormat::kQ4, panel, k, columns, to);
}

/// A residual that is C itself would be lost to a partial sum, so that k is whole then.
void packed_written_out(const MatmulPackedArgs& args, const WrittenOut& how) {
  const MatmulF32Args& g = args.product;
  if (g.m <= 0 || g.n <= 0) return;
  const int64_t nr = how.nr, k = g.segments * g.segment_len;
  const bool few = g.m <= kPackedFewToWrite;
  const int64_t most = few ? kPackedFewK : kPackedBlockK;
  const int64_t step = g.segments == 1 && g.residual != g.c && k > most ? most : k;
  const int64_t panel_bytes = packed_panel_bytes(how.format, k, nr);
  MatmulF32Args block = g;
  block.b = args.scratch;
  block.whole_panels = true;
  for (int64_t begin = 0; begin == 0 || begin < k; begin += step) {
    const int64_t count = std::min(k - begin, step);
    const bool last = begin + count == k;
    const int64_t fit = few || count == 0 ? 1 : kPackedBlockFloats / (count * nr);
    const int64_t columns = std::max<int64_t>(fit, 1) * nr;
    if (g.segments == 1) block.segment_len = count;
    block.a = g.a + begin;
    block.accumulate = g.accumulate || begin > 0;
    block.clip = g.clip && last;
    block.slope = last ? g.slope : 1.0f;
    const std::byte* panel = args.b + packed_panel_bytes(how.format, begin, nr);
    for (int64_t col = 0; col < g.n; col += columns) {
      block.n = std::min(g.n - col, columns);
      for (int64_t j = 0; j < block.n; j += nr, panel += panel_bytes) {
        how.upcast(panel, count, nr, args.scratch + j * count);
      }
      block.c = g.c + col;
      block.bias = g.bias == nullptr ? nullptr : g.bias + col;
      block.residual = g.residual == nullptr || !last ? nullptr : g.residual + col;
      how.plain(block);
    }
    if (count == 0) break;
  }
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
  return packed_panel_bytes(kernel.format, k, (n + kernel.nr - 1) / kernel.nr * kernel.nr);
}

int64_t matmul_packed_scratch_floats(const MatmulPacked& kernel, int64_t m, int64_t k, int64_t n) {
  if (kernel.tier == Tier::kScalar || kernel.format == PackedFormat::kQ4_0) return 0;
  const bool few = m <= kPackedFewRows;
  const bool in_registers = kernel.format == PackedFormat::kF16 && kernel.tier != Tier::kSse42;
  const int64_t panel = k * kernel.nr, all = (n + kernel.nr - 1) / kernel.nr * panel;
  if (few) return in_registers ? 0 : panel;
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

namespace {

/// The upper half of a float: of a scale by which `most` steps reach `farthest`.
uint32_t scale_of(PackedFormat format, float farthest) RILL_NONBLOCKING {
  if (format == PackedFormat::kQ8) {
    return (bits_of(std::abs(farthest) / 127.0f) + 0xFFFFu) >> 16u;
  }
  const uint32_t bits = bits_of(farthest / -8.0f);
  return (bits + 0x7FFFu + (bits >> 16u & 1u)) >> 16u;
}

/// A block of a column: its scale, and its values.
void pack_block(PackedFormat format, int64_t rows, int64_t columns, int64_t column,
                const float* from, int64_t stride, std::byte* block) RILL_NONBLOCKING {
  constexpr float kLeast = 0x1p-100f;
  float farthest = 0.0f;
  for (int64_t p = 0; p < rows; ++p) {
    const float value = from[p * stride];
    if (std::abs(value) > std::abs(farthest)) farthest = value;
  }
  const uint32_t half = std::abs(farthest) < kLeast ? 0 : scale_of(format, farthest);
  const float scale = float_of(half << 16u);
  const auto two = static_cast<uint16_t>(half);
  std::memcpy(block + 2 * column, &two, sizeof two);
  const bool bytes = format == PackedFormat::kQ8;
  const float lo = bytes ? -127.0f : -8.0f, hi = bytes ? 127.0f : 7.0f;
  for (int64_t p = 0; p < rows; ++p) {
    const float exact = half == 0 ? 0.0f : from[p * stride] / scale;
    const float steps = std::isnan(exact) ? 0.0f : std::nearbyint(exact);
    const auto value = static_cast<uint32_t>(static_cast<int32_t>(std::clamp(steps, lo, hi)));
    std::byte& to = block[2 * columns + (bytes ? p : p / 2) * columns + column];
    if (bytes) {
      to = static_cast<std::byte>(value);
    } else {
      to |= static_cast<std::byte>((value & 15u) << (p % 2 * 4));
    }
  }
}

}  // namespace

void packed_column(PackedFormat format, int64_t k, int64_t columns, int64_t column,
                   const float* from, int64_t stride, std::byte* panel) noexcept {
  if (format == PackedFormat::kF16) {
    for (int64_t p = 0; p < k; ++p) {
      const float value = from[p * stride];
      const int32_t exact = half_of_float(value);
      const auto half = static_cast<uint16_t>(
          exact >= 0 ? static_cast<uint32_t>(exact) : nearest_half_of_float_bits(bits_of(value)));
      std::memcpy(panel + (p * columns + column) * 2, &half, sizeof half);
    }
    return;
  }
  for (int64_t p = 0; p < k; p += kPackedBlock) {
    pack_block(format, std::min(k - p, kPackedBlock), columns, column, from + p * stride, stride,
               panel + packed_panel_bytes(format, p, columns));
  }
}

void matmul_floats_pack(const MatmulPacked& kernel, int64_t k, int64_t n, const float* b,
                        int64_t k_stride, int64_t n_stride, std::byte* packed) noexcept {
  if (k == 0 || n == 0) return;
  const int64_t nr = kernel.nr, panel_bytes = packed_panel_bytes(kernel.format, k, nr);
  std::memset(packed, 0, static_cast<size_t>(matmul_packed_bytes(kernel, k, n)));
  for (int64_t j = 0; j < n; ++j) {
    packed_column(kernel.format, k, nr, j % nr, b + j * n_stride, k_stride,
                  packed + j / nr * panel_bytes);
  }
}

}  // namespace rill::kernels
