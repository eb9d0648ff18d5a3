#include "kernels/matmul_packed/matmul_packed.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/half/half_bits.h"
#include "kernels/int8/int8.h"
#include "kernels/int8/sparse.h"
#include "kernels/limited.h"
#include "kernels/simd/mul_add.h"

namespace rill::kernels {

int64_t packed_panel_bytes(PackedFormat format, int64_t k, int64_t columns) noexcept {
  const int64_t scales = (k + kPackedBlock - 1) / kPackedBlock * 2;
  switch (format) {
    case PackedFormat::kF16:
      return columns * (2 * k);
    case PackedFormat::kQ8:
      return columns * (scales + k);
    case PackedFormat::kQ4_0:
    case PackedFormat::kQ4:
      return columns * (scales + (k + kQ4Unit - 1) / kQ4Unit * (kQ4Unit / 2));
    case PackedFormat::kInt8:
      return columns * (8 + int8_padded(k));
  }
  return 0;
}
namespace {

constexpr int kScalarNr = 8;
constexpr int64_t kQ4BlockBytes = 18;

constexpr MatmulPacked kKernels[] = {
#define RILL_KERNEL(needs, format, name, columns, upcast) \
  {#name, Tier::needs, format, columns, name, upcast},
#include "kernels/matmul_packed/kernels.inc"
#undef RILL_KERNEL
// Only the compiler of plans makes kInt8 weights.
#ifndef RILL_STEPS_UNSEEN
#define RILL_KERNEL(needs, dot, name, columns, depth, form)                              \
  {"matmul_by_int8_" #name, Tier::needs,         PackedFormat::kInt8,                    \
   columns,                 matmul_by_int8_##name, nullptr,                              \
   dot,                     depth,               (form) == Int8Form::kUnsigned,          \
   int8_row_##name,         sums_by_int8_##name},
#include "kernels/int8/kernels.inc"
#undef RILL_KERNEL
#endif
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

/// Return the two bytes at `from`.
uint16_t half_at(const std::byte* from) RILL_NONBLOCKING {
  uint16_t half = 0;
  std::memcpy(&half, from, sizeof half);
  return half;
}

float float_of_half(const std::byte* from) { return float_of(float_bits_of_half(half_at(from))); }

float float_of_upper_half(const std::byte* from) RILL_NONBLOCKING {
  return float_of(uint32_t{half_at(from)} << 16u);
}

/// Return the half that equals a float, or -1.
int32_t half_of_float(float value) RILL_NONBLOCKING { return half_of_float_bits(bits_of(value)); }

/// Return element (p, j) of a kQ8 or kQ4 panel that `packed_column` wrote.
float scaled_value(PackedFormat format, const std::byte* panel, int64_t columns, int64_t p,
                   int64_t j) RILL_NONBLOCKING {
  const int64_t first = p / kPackedBlock * kPackedBlock;
  const std::byte* block = panel + packed_panel_bytes(format, first, columns);
  const int64_t within = p % kPackedBlock;
  const bool two = format == PackedFormat::kQ4;
  const auto byte =
      static_cast<uint32_t>(block[2 * columns + (two ? within / 2 : within) * columns + j]);
  const uint32_t up = !two ? byte << 24u : byte << (within % 2 == 0 ? 28u : 24u);
  const int32_t value = static_cast<int32_t>(up) >> (two ? 28 : 24);
  return static_cast<float>(value) * float_of_upper_half(block + 2 * j);
}

/// Reads the values of a row of A in order, across segments, then zeros.
class RowOfA {
 public:
  RowOfA(const MatmulF32Args& g, int64_t row)
      : at_(g.a + row * g.lda),
        left_(g.segments * g.segment_len),
        in_segment_(g.segment_len),
        len_(g.segment_len),
        gap_(g.segment_stride - g.segment_len) {}

  int64_t left() const { return left_; }
  float next() {
    if (left_ <= 0) return 0.0f;
    --left_;
    const float value = *at_++;
    if (--in_segment_ == 0) {
      in_segment_ = len_;
      at_ += gap_;
    }
    return value;
  }

 private:
  const float* at_;
  int64_t left_, in_segment_, len_, gap_;
};

/// The reference implementation of every matmul. `chain` continues a sum with the products of a row
/// of A and column j of a panel of B.
void scalar_product(const MatmulPackedArgs& args, PackedFormat format,
                    float (*chain)(PackedFormat format, float sum, RowOfA a,
                                   const std::byte* panel, int64_t j) RILL_NONBLOCKING)
    RILL_NONBLOCKING {
  const MatmulF32Args& g = args.product;
  const int64_t panel_bytes = packed_panel_bytes(format, g.segments * g.segment_len, kScalarNr);
  for (int64_t col = 0; col < g.n; ++col) {
    const std::byte* panel = args.b + col / kScalarNr * panel_bytes;
    for (int64_t row = 0; row < g.m; ++row) {
      float* c = g.c + row * g.ldc + col;
      float sum = g.accumulate ? *c : g.bias != nullptr ? g.bias[col] : 0.0f;
      sum = chain(format, sum, RowOfA(g, row), panel, col % kScalarNr);
      if (g.residual != nullptr) sum = sum + g.residual[row * g.ldr + col];
      sum = leaked(sum, g.slope);
      if (g.clip) sum = limited(sum, g.lo, g.hi);
      *c = sum;
    }
  }
}

float f16_chain(PackedFormat, float sum, RowOfA a, const std::byte* panel,
                int64_t j) RILL_NONBLOCKING {
  for (panel += 2 * j; a.left() > 0; panel += 2 * kScalarNr) {
    sum = mul_add(a.next(), float_of_half(panel), sum);
  }
  return sum;
}

float block_chain(PackedFormat format, float sum, RowOfA a, const std::byte* panel,
                  int64_t j) RILL_NONBLOCKING {
  const bool bytes = format == PackedFormat::kQ8;
  while (a.left() > 0) {
    const float scale = format == PackedFormat::kQ4_0 ? float_of_half(panel + 2 * j)
                                                      : float_of_upper_half(panel + 2 * j);
    const int64_t count = std::min(a.left(), kPackedBlock);
    panel += 2 * kScalarNr;
    float part = 0.0f;
    if (bytes) {
      for (int64_t p = 0; p < count; ++p, panel += kScalarNr) {
        part = mul_add(a.next(), static_cast<float>(static_cast<int8_t>(panel[j])), part);
      }
    } else {
      for (int64_t p = 0; p < count; p += kQ4Unit, panel += 4 * kScalarNr) {
        uint32_t word = 0;
        std::memcpy(&word, panel + 4 * j, sizeof word);
        for (const int begin : kQ4WordBits) {
          const int32_t value = static_cast<int32_t>(word << (28 - begin)) >> 28;
          part = mul_add(a.next(), static_cast<float>(value), part);
        }
      }
    }
    sum = mul_add(part, scale, sum);
  }
  return sum;
}

void upcast_scaled(PackedFormat format, const std::byte* panel, int64_t k, int64_t columns,
                  float* to) RILL_NONBLOCKING {
  for (int64_t p = 0; p < k; ++p) {
    for (int64_t j = 0; j < columns; ++j) *to++ = scaled_value(format, panel, columns, p, j);
  }
}

/// A block of a column: its scale, in the format's bits, its integers, then zeros.
struct Block {
  uint16_t scale = 0;
  int8_t values[kPackedBlock] = {};

  uint32_t nibble(int64_t p) const { return static_cast<uint32_t>(values[p]) & 15u; }
};

/// Unpack a kQ4_0 block of a file: its nibbles are the values plus 8.
Block block_of_file(const std::byte* from) RILL_NONBLOCKING {
  Block block;
  block.scale = half_at(from);
  for (int64_t p = 0; p < kPackedBlock; ++p) {
    const auto two = static_cast<uint32_t>(from[2 + p % 16]);
    block.values[p] = static_cast<int8_t>(static_cast<int>((p < 16 ? two : two >> 4u) & 15u) - 8);
  }
  return block;
}

/// Pack `count` values of a block into words of eight nibbles; the words of a column are `nr` words
/// apart.
void pack_words(int64_t nr, int64_t lane, const Block& block, int64_t count,
                std::byte* to) RILL_NONBLOCKING {
  for (int64_t p = 0; p < count; p += kQ4Unit, to += nr * 4) {
    uint32_t word = 0;
    for (int64_t i = 0; i < kQ4Unit; ++i) word |= block.nibble(p + i) << kQ4WordBits[i];
    std::memcpy(to + lane * 4, &word, sizeof word);
  }
}

/// Pack the values of a block for vectors of eight columns, in the layout of `Q4Bytes` in
/// values_impl.h: each value plus 8.
void pack_bytes(int64_t nr, int64_t lane, const Block& block, int64_t count,
                std::byte* to) RILL_NONBLOCKING {
  const int64_t half = lane % 8 / 4, within = lane % 4 * 2 + lane / 8;
  for (int64_t p = 0; p < (count + kQ4Unit - 1) / kQ4Unit * kQ4Unit; p += 4) {
    for (int64_t i = 0; i < 2; ++i) {
      const uint32_t two = block.nibble(p + i) | block.nibble(p + 2 + i) << 4u;
      to[p / 2 * nr + half * 16 + i * 8 + within] = static_cast<std::byte>(two ^ 0x88u);
    }
  }
}

/// Pack a block of 4-bit values into column `lane` of a panel, in the order of the tier.
void pack_nibbles(const MatmulPacked& kernel, int64_t lane, const Block& block, int64_t count,
                  std::byte* to) RILL_NONBLOCKING {
  std::memcpy(to + lane * 2, &block.scale, sizeof block.scale);
  to += kernel.nr * 2;
  const auto pack = kernel.tier == Tier::kAvx2 ? pack_bytes : pack_words;
  pack(kernel.nr, lane, block, count, to);
}

}  // namespace

void matmul_q4_0_scalar(const MatmulPackedArgs& args) noexcept {
  scalar_product(args, PackedFormat::kQ4_0, block_chain);
}

void matmul_f16_scalar(const MatmulPackedArgs& args) noexcept {
  scalar_product(args, PackedFormat::kF16, f16_chain);
}

void matmul_q8_scalar(const MatmulPackedArgs& args) noexcept {
  scalar_product(args, PackedFormat::kQ8, block_chain);
}

void matmul_q4_scalar(const MatmulPackedArgs& args) noexcept {
  scalar_product(args, PackedFormat::kQ4, block_chain);
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

KernelList<MatmulPacked> kernels_like(const MatmulPacked*) { return kKernels; }

const MatmulPacked& matmul_packed(Tier cpu, PackedFormat format) {
  const MatmulPacked* found = nullptr;
  for (const MatmulPacked& kernel : kKernels) {
    if (kernel.format != format) continue;
    found = &kernel;
    if (supports(cpu, kernel.tier) && (!kernel.dot || has_dot_products(kernel.tier))) break;
  }
  return *found;
}

int64_t matmul_packed_bytes(const MatmulPacked& kernel, int64_t k, int64_t n) {
  return packed_panel_bytes(kernel.format, k, (n + kernel.nr - 1) / kernel.nr * kernel.nr);
}

int64_t matmul_packed_scratch_floats(const MatmulPacked& kernel, const MatmulF32Args& product) {
  const MatmulF32Args& g = product;
  const int64_t k = g.segments * g.segment_len;
  // Kernels that multiply pairs of 16 bits take two bytes for each value of a row.
  if (kernel.format == PackedFormat::kInt8) return std::min(g.m, kPackedGroup) * int8_padded(k) / 2;
  if (kernel.tier == Tier::kScalar) return 0;
  const int64_t padded = (k + kQ4Unit - 1) / kQ4Unit * kQ4Unit;
  return packed_joins(kernel.format, g) ? std::min(g.m, kPackedGroup) * padded : 0;
}

void matmul_packed_pack(const MatmulPacked& kernel, int64_t k, int64_t n, const std::byte* b,
                        int64_t column_bytes, std::byte* packed) noexcept {
  const int64_t nr = kernel.nr;
  const int64_t panel_bytes = matmul_packed_bytes(kernel, k, nr);
  std::memset(packed, 0, static_cast<size_t>(matmul_packed_bytes(kernel, k, n)));
  for (int64_t j = 0; j < n; ++j) {
    std::byte* panel = packed + j / nr * panel_bytes;
    const std::byte* from = b + j * column_bytes;
    for (int64_t block = 0; block < k / kPackedBlock; ++block) {
      pack_nibbles(kernel, j % nr, block_of_file(from + block * kQ4BlockBytes), kPackedBlock,
                   panel + block * nr * kQ4BlockBytes);
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

/// Return the scale of a block, the upper 16 bits of a float, from its value of largest magnitude.
uint32_t scale_of(PackedFormat format, float farthest) RILL_NONBLOCKING {
  if (format == PackedFormat::kQ8) {
    return (bits_of(std::abs(farthest) / 127.0f) + 0xFFFFu) >> 16u;
  }
  const uint32_t bits = bits_of(farthest / -8.0f);
  return (bits + 0x7FFFu + (bits >> 16u & 1u)) >> 16u;
}

/// Round `rows` values to a block.
Block rounded_block(PackedFormat format, int64_t rows, const float* from,
                    int64_t stride) RILL_NONBLOCKING {
  constexpr float kLeast = 0x1p-100f;
  float farthest = 0.0f;
  for (int64_t p = 0; p < rows; ++p) {
    const float value = from[p * stride];
    if (std::abs(value) > std::abs(farthest)) farthest = value;
  }
  const uint32_t half = std::abs(farthest) < kLeast ? 0 : scale_of(format, farthest);
  const float scale = float_of(half << 16u);
  const bool bytes = format == PackedFormat::kQ8;
  const float lo = bytes ? -127.0f : -8.0f, hi = bytes ? 127.0f : 7.0f;
  Block block;
  block.scale = static_cast<uint16_t>(half);
  for (int64_t p = 0; p < rows; ++p) {
    const float exact = half == 0 ? 0.0f : from[p * stride] / scale;
    const float steps = std::isnan(exact) ? 0.0f : std::nearbyint(exact);
    block.values[p] = static_cast<int8_t>(std::clamp(steps, lo, hi));
  }
  return block;
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
  for (int64_t begin = 0; begin < k; begin += kPackedBlock) {
    const int64_t rows = std::min(k - begin, kPackedBlock);
    const Block block = rounded_block(format, rows, from + begin * stride, stride);
    std::byte* to = panel + packed_panel_bytes(format, begin, columns);
    std::memcpy(to + 2 * column, &block.scale, sizeof block.scale);
    to += 2 * columns + column;
    for (int64_t p = 0; p < rows; ++p) {
      if (format == PackedFormat::kQ8) {
        to[p * columns] = static_cast<std::byte>(block.values[p]);
      } else {
        to[p / 2 * columns] |= static_cast<std::byte>(block.nibble(p) << (p % 2 * 4));
      }
    }
  }
}

namespace {

/// Return the magnitude of k floats that becomes 127.
float int8_bound(int64_t k, const float* from, int64_t stride) RILL_NONBLOCKING {
  float bound = kInt8LeastBound;
  for (int64_t p = 0; p < k; ++p) bound = std::max(bound, std::abs(from[p * stride]));
  return bound;
}

/// A strip of columns as integers, block by block.
class IntegerStrip {
 public:
  static constexpr int64_t kMost = sparse_strip(16);

  IntegerStrip(int64_t k, const FloatColumns& values, int64_t first, int64_t strip)
      : k_(k), values_(values), first_(first), width_(std::min(strip, values.count - first)) {
    for (int64_t j = 0; j < width_; ++j) bounds_[j] = int8_bound(k, at(0, j), values.k_stride);
  }

  int64_t width() const { return width_; }  ///< columns; the others of the strip are zeros
  float bound(int64_t j) const { return bounds_[j]; }

  /// Round the next block, [columns][terms]. Return whether it has a value that is not zero.
  bool next(int8_t (&block)[kMost][kSparseTerms]) RILL_NONBLOCKING {
    bool any = false;
    for (int64_t j = 0; j < width_; ++j) {
      const float steps = 127.0f / bounds_[j];
      for (int64_t i = 0; i < kSparseTerms; ++i) {
        const float value = p_ + i < k_ ? std::nearbyint(*at(p_ + i, j) * steps) : 0.0f;
        block[j][i] = static_cast<int8_t>(value);
        any |= block[j][i] != 0;
      }
    }
    p_ += kSparseTerms;
    return any;
  }

 private:
  const float* at(int64_t p, int64_t j) const {
    return values_.from + p * values_.k_stride + (first_ + j) * values_.n_stride;
  }

  int64_t k_;
  FloatColumns values_;
  int64_t first_, width_;
  float bounds_[kMost] = {};
  int64_t p_ = 0;
};

/// Return the columns of a block of a kernel, which has two vectors per panel.
int64_t strip_of(const MatmulPacked& kernel) RILL_NONBLOCKING {
  return kernel.tier == Tier::kScalar ? 1 : sparse_strip(kernel.nr / 2);
}

}  // namespace

void count_sparse_panel(const MatmulPacked& kernel, int64_t k, int64_t columns,
                        const FloatColumns& values, SparseBlocks* blocks) noexcept {
  const int64_t strip = strip_of(kernel);
  const SparseLayout layout(k, columns, strip);
  int64_t kept = 0;
  for (int64_t first = 0; first < values.count; first += strip) {
    IntegerStrip integers(k, values, first, strip);
    int8_t block[IntegerStrip::kMost][kSparseTerms] = {};
    for (int64_t group = 0; group < layout.groups; ++group) kept += integers.next(block) ? 1 : 0;
    blocks->all += layout.groups;
  }
  blocks->kept += kept;
  blocks->fit = blocks->fit && layout.capacity > 0 && kept <= layout.capacity;
}

void pack_sparse_panel(const MatmulPacked& kernel, int64_t k, int64_t columns,
                       const FloatColumns& values, std::byte* panel) noexcept {
  const int64_t strip = strip_of(kernel), depth = kernel.depth;
  const SparseLayout layout(k, columns, strip);
  uint32_t count = 0;
  const auto set_begin = [&](int64_t first) {
    std::memcpy(panel + layout.begins + first / strip * 4, &count, sizeof count);
  };
  for (int64_t first = 0; first < columns; first += strip) {
    set_begin(first);
    if (first >= values.count) continue;
    IntegerStrip integers(k, values, first, strip);
    int32_t sums[IntegerStrip::kMost] = {};
    int8_t block[IntegerStrip::kMost][kSparseTerms] = {};
    for (int64_t group = 0; group < layout.groups; ++group) {
      if (!integers.next(block)) continue;
      const auto index = static_cast<uint16_t>(group);
      std::memcpy(panel + layout.indices + 2 * int64_t{count}, &index, sizeof index);
      std::byte* const to = panel + layout.blocks + int64_t{count++} * strip * kSparseTerms;
      for (int64_t j = 0; j < integers.width(); ++j) {
        for (int64_t i = 0; i < kSparseTerms; ++i) {
          to[(i / depth * strip + j) * depth + i % depth] = static_cast<std::byte>(block[j][i]);
          sums[j] += block[j][i];
        }
      }
    }
    for (int64_t j = 0; j < integers.width(); ++j) {
      const float scale = integers.bound(j) / (first + j == 0 ? -127.0f : 127.0f);
      const int32_t start = kernel.lifts ? -128 * sums[j] : 0;
      std::memcpy(panel + 4 * (first + j), &scale, sizeof scale);
      std::memcpy(panel + 4 * (columns + first + j), &start, sizeof start);
    }
  }
  set_begin(columns);
}

void int8_column(const MatmulPacked& kernel, int64_t k, int64_t columns, int64_t column,
                 const float* from, int64_t stride, std::byte* panel) noexcept {
  const float bound = int8_bound(k, from, stride);
  const float scale = bound / 127.0f, steps = 127.0f / bound;
  std::byte* const values = panel + 8 * columns;
  int32_t sum = 0;
  for (int64_t p = 0; p < k; ++p) {
    const auto value = static_cast<int8_t>(std::nearbyint(from[p * stride] * steps));
    values[(p / kernel.depth * columns + column) * kernel.depth + p % kernel.depth] =
        static_cast<std::byte>(value);
    sum += value;
  }
  const int32_t start = kernel.lifts ? -128 * sum : 0;
  std::memcpy(panel + 4 * column, &scale, sizeof scale);
  std::memcpy(panel + 4 * (columns + column), &start, sizeof start);
}

namespace {

/// Pack a kInt8 B without its blocks of zeros, if enough of them are zero.
bool pack_sparse(const MatmulPacked& kernel, int64_t k, int64_t n, const FloatColumns& b,
                 std::byte* packed) RILL_NONBLOCKING {
  const int64_t nr = kernel.nr, panel_bytes = matmul_packed_bytes(kernel, k, nr);
  const auto panel = [&](int64_t first) {
    return FloatColumns{b.from + first * b.n_stride, b.k_stride, b.n_stride,
                        std::min(nr, n - first)};
  };
  SparseBlocks blocks;
  for (int64_t first = 0; first < n; first += nr) {
    count_sparse_panel(kernel, k, nr, panel(first), &blocks);
  }
  if (!blocks.pay()) return false;
  for (int64_t first = 0; first < n; first += nr, packed += panel_bytes) {
    pack_sparse_panel(kernel, k, nr, panel(first), packed);
  }
  return true;
}

}  // namespace

void matmul_floats_pack(const MatmulPacked& kernel, int64_t k, int64_t n, const float* b,
                        int64_t k_stride, int64_t n_stride, std::byte* packed) noexcept {
  if (k == 0 || n == 0) return;
  const PackedFormat format = kernel.format;
  const int64_t nr = kernel.nr, panel_bytes = packed_panel_bytes(format, k, nr);
  std::memset(packed, 0, static_cast<size_t>(matmul_packed_bytes(kernel, k, n)));
  if (format == PackedFormat::kInt8 &&
      pack_sparse(kernel, k, n, {b, k_stride, n_stride, n}, packed)) {
    return;
  }
  for (int64_t j = 0; j < n; ++j) {
    const float* from = b + j * n_stride;
    std::byte* panel = packed + j / nr * panel_bytes;
    if (format == PackedFormat::kInt8) {
      int8_column(kernel, k, nr, j % nr, from, k_stride, panel);
      continue;
    }
    if (format != PackedFormat::kQ4) {
      packed_column(format, k, nr, j % nr, from, k_stride, panel);
      continue;
    }
    for (int64_t p = 0; p < k; p += kPackedBlock) {
      const int64_t rows = std::min(k - p, kPackedBlock);
      pack_nibbles(kernel, j % nr, rounded_block(format, rows, from + p * k_stride, k_stride),
                   rows, panel + packed_panel_bytes(format, p, nr));
    }
  }
}

}  // namespace rill::kernels
