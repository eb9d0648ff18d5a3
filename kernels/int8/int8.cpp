#define RILL_SCALAR
#include "kernels/int8/int8.h"

#include <algorithm>
#include <limits>

#include "kernels/int8/floats_impl.h"
#include "kernels/int8/quantise_impl.h"

namespace rill::kernels {
namespace {

constexpr MatmulInt8 kProducts[] = {
#define RILL_KERNEL(needs, dot, name, columns, depth, a_form) \
  {"int8_" #name, Tier::needs, dot, columns, depth, a_form, matmul_int8_##name},
#include "kernels/int8/kernels.inc"
#undef RILL_KERNEL
};

constexpr NamedKernel<QuantiseFn> kRoundings[] = {
#define RILL_KERNEL(needs, name) {"quantise_" #name, Tier::needs, quantise_##name},
#include "kernels/int8/quantise.inc"
#undef RILL_KERNEL
};

int64_t groups_of(const MatmulInt8& kernel, int64_t k) {
  return (k + kernel.depth - 1) / kernel.depth;
}

}  // namespace

void matmul_int8_scalar(const MatmulInt8Args& args) noexcept { matmul_int8_of(args); }

void quantise_scalar(const QuantiseArgs& args) noexcept { quantise_of(args); }

RILL_BY_INT8(scalar)

float int8_row(const FloatRow& row, const ByteTiles& tiles, uint8_t* to) {
  int32_t bits = 0;
  for (int64_t s = 0; s < row.segments; ++s) {
    bits = std::max(bits, tiles.largest_bits(row.a + s * row.segment_stride, row.segment_len));
  }
  float largest = 0.0f;
  std::memcpy(&largest, &bits, sizeof largest);
  const bool finite = bits < 0x7F800000;
  const float bound = finite ? std::max(largest, kInt8LeastBound) : kInt8LeastBound;
  const float steps = finite ? 127.0f / bound : 0.0f;
  const int64_t value_bytes = 4 / tiles.depth, k = row.segments * row.segment_len;
  uint8_t* const end = to + int8_padded(k) * value_bytes;
  for (int64_t s = 0; s < row.segments; ++s, to += row.segment_len * value_bytes) {
    tiles.to_bytes(row.a + s * row.segment_stride, row.segment_len, steps, to);
  }
  while (to < end) *to++ = 0;
  return finite ? bound / 127.0f : std::numeric_limits<float>::quiet_NaN();
}

void matmul_by_tiles(const MatmulPackedArgs& args, const ByteTiles& tiles) {
  constexpr int kMostVecs = 16;
  const MatmulF32Args& g = args.product;
  const int nr = tiles.lanes * tiles.panel_vecs;
  const int64_t k = g.segments * g.segment_len;
  // Kernels with 8-bit rows use half of the space, those with 16-bit rows all of it.
  const int64_t row_bytes = int8_padded(k) * 2;
  const int64_t panel_bytes = packed_panel_bytes(PackedFormat::kInt8, k, nr);
  auto* const bytes = reinterpret_cast<uint8_t*>(args.scratch);
  alignas(64) float sums[kMostByteSums];
  float scales[kPackedGroup];
  for (int64_t first = 0; first < g.m; first += kPackedGroup) {
    const int64_t count = std::min(g.m - first, kPackedGroup);
    for (int64_t i = 0; i < count; ++i) {
      const FloatRow row{g.a + (first + i) * g.lda, g.segments, g.segment_len, g.segment_stride};
      scales[i] = int8_row(row, tiles, bytes + i * row_bytes);
    }
    const int64_t step = count == 1 ? tiles.row_vecs / tiles.panel_vecs : 1;
    const std::byte* panel = args.b;
    for (int64_t col = 0; col < g.n; col += step * nr, panel += step * panel_bytes) {
      const int64_t panels = std::min(step, (g.n - col + nr - 1) / nr);
      const int vecs = static_cast<int>(panels) * tiles.panel_vecs;
      FewBitsVector vectors[kMostVecs];
      for (int j = 0; j < vecs; ++j) {
        vectors[j] = {panel + j / tiles.panel_vecs * panel_bytes,
                      int64_t{j % tiles.panel_vecs} * tiles.lanes};
      }
      for (int64_t i = 0; i < count; i += tiles.rows) {
        const auto rows = static_cast<int>(std::min<int64_t>(count - i, tiles.rows));
        const ByteRows some{bytes + i * row_bytes, row_bytes, scales + i, rows, k, nr};
        (rows == 1 ? tiles.one_row : tiles.many_rows)(some, vectors, vecs, sums);
        tiles.finish(g, {first + i, col, rows, vecs, sums});
      }
    }
  }
}

KernelList<MatmulInt8> kernels_like(const MatmulInt8*) { return kProducts; }

const MatmulInt8& matmul_int8(Tier cpu, bool dot) {
  const MatmulInt8* found = kProducts;
  while (!supports(cpu, found->tier) || (found->dot && !(dot && has_dot_products(found->tier)))) {
    ++found;
  }
  return *found;
}

KernelList<NamedKernel<QuantiseFn>> kernels_like(QuantiseFn) { return kRoundings; }

QuantiseFn quantise(Tier cpu) { return kernels_like(QuantiseFn{}).best(cpu).run; }

int64_t matmul_int8_bytes(const MatmulInt8& kernel, int64_t k, int64_t n) {
  return (n + kernel.nr - 1) / kernel.nr * kernel.nr * groups_of(kernel, k) * kernel.depth;
}

int64_t matmul_int8_scratch_bytes(const MatmulInt8& kernel, int64_t m, int64_t k) {
  const int64_t row_bytes = groups_of(kernel, k) * 4 + 4;
  return std::min(m, matmul_int8_block(row_bytes)) * row_bytes;
}

void matmul_int8_pack(const MatmulInt8& kernel, int64_t k, int64_t n, const int8_t* b,
                      int64_t k_stride, int64_t n_stride, int8_t* packed) noexcept {
  for (int64_t col = 0; col < n; col += kernel.nr) {
    for (int64_t begin = 0; begin < k; begin += kernel.depth) {
      for (int64_t j = col; j < col + kernel.nr; ++j) {
        for (int64_t p = begin; p < begin + kernel.depth; ++p) {
          const bool inside = j < n && p < k;
          *packed++ = inside ? b[p * k_stride + j * n_stride] : int8_t{0};
        }
      }
    }
  }
}

void matmul_int8_start(const MatmulInt8& kernel, int64_t k, int64_t n, const int8_t* packed,
                       bool a_signed, int32_t a_zero, int32_t b_zero, const int32_t* bias,
                       int32_t* start) noexcept {
  const int64_t groups = groups_of(kernel, k);
  // The offset that the kernel's form adds to a byte of A.
  const int32_t shift = kernel.form == Int8Form::kUnsigned && a_signed    ? 128
                        : kernel.form == Int8Form::kSigned && !a_signed ? -128
                                                                        : 0;
  for (int64_t j = 0; j < n; ++j) {
    const int8_t* column =
        packed + (j / kernel.nr * groups * kernel.nr + j % kernel.nr) * kernel.depth;
    uint32_t sum = 0;
    for (int64_t group = 0; group < groups; ++group, column += kernel.nr * kernel.depth) {
      for (int i = 0; i < kernel.depth; ++i) sum += static_cast<uint32_t>(column[i]);
    }
    const uint32_t from = bias == nullptr ? 0 : static_cast<uint32_t>(bias[j]);
    const uint32_t both = static_cast<uint32_t>(k) * static_cast<uint32_t>(a_zero) *
                          static_cast<uint32_t>(b_zero);
    start[j] = static_cast<int32_t>(from + both - static_cast<uint32_t>(a_zero + shift) * sum);
  }
}

}  // namespace rill::kernels
