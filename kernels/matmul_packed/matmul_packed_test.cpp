#include "kernels/matmul_packed/matmul_packed.h"
#include "kernels/simd/mul_add.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include "kernels/matmul/matmul.h"
#include "kernels/matmul/test_support.h"
#include "kernels/matmul_packed/rounding_support.h"

namespace rill::kernels {
namespace {

/// B in its packed format, column by column, and its real numbers: values, [k][n], and, except for
/// kF16, the scale of each block, [blocks][n].
struct Weights {
  std::vector<std::byte> bytes;
  int64_t column_bytes = 0;
  std::vector<float> floats;
  std::vector<float> scales;
};

/// The value of an f16, by the definition of the format.
float half_value(uint16_t half) {
  const int exponent = half >> 10 & 31;
  const auto mantissa = static_cast<float>(half & 1023);
  const float size = exponent == 31  ? (mantissa == 0 ? kInf : kNan)
                     : exponent == 0 ? std::ldexp(mantissa, -24)
                                     : std::ldexp(mantissa + 1024.0f, exponent - 25);
  return (half & 0x8000) != 0 ? -size : size;
}

uint16_t random_half(std::mt19937& rng) {
  const auto any = static_cast<uint16_t>(rng());
  const bool subnormal = random_int(rng, 0, 9) == 0;
  const int64_t exponent = subnormal ? 0 : random_int(rng, 8, 17);
  return static_cast<uint16_t>((any & 0x83FF) | exponent << 10);
}

void append_half(uint16_t half, std::vector<std::byte>* to) {
  to->push_back(static_cast<std::byte>(half & 255));
  to->push_back(static_cast<std::byte>(half >> 8));
}

Weights random_weights(std::mt19937& rng, int64_t k, int64_t n) {
  Weights w;
  w.floats.resize(static_cast<size_t>(k * n));
  w.scales.resize(static_cast<size_t>(k / 32 * n));
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t p = 0; p < k; p += 32) {
      const uint16_t half = random_half(rng);
      append_half(half, &w.bytes);
      w.scales[static_cast<size_t>(p / 32 * n + j)] = half_value(half);
      for (int64_t i = p; i < p + 16; ++i) {
        const auto byte = static_cast<int>(random_int(rng, 0, 255));
        w.bytes.push_back(static_cast<std::byte>(byte));
        w.floats[static_cast<size_t>(i * n + j)] = static_cast<float>(byte % 16 - 8);
        w.floats[static_cast<size_t>((i + 16) * n + j)] = static_cast<float>(byte / 16 - 8);
      }
    }
  }
  w.column_bytes = n > 0 ? static_cast<int64_t>(w.bytes.size()) / n : 0;
  return w;
}

/// Return f16 weights: of any bits if `any` is set, else only finite numbers.
Weights random_f16(std::mt19937& rng, int64_t k, int64_t n, bool any) {
  Weights w;
  w.floats.resize(static_cast<size_t>(k * n));
  for (float& value : w.floats) {
    value = half_value(any ? static_cast<uint16_t>(rng()) : random_half(rng));
  }
  return w;
}

/// Return rounded weights; columns and blocks have many magnitudes, and some are all zeros.
/// `before`: the f32 weights before rounding.
Weights random_rounded(std::mt19937& rng, PackedFormat format, int64_t k, int64_t n,
                       std::vector<float>* before) {
  *before = random_floats(rng, k * n);
  for (int64_t i = 0; i < k * n; ++i) {
    if (i % 24 == 0 && random_int(rng, 0, 5) == 0) {
      const auto exponent = static_cast<int>(random_int(rng, -120, 100));
      for (int64_t j = i; j < k * n; j += n) {
        float& value = (*before)[static_cast<size_t>(j)];
        const float scaled = exponent < -110 ? 0.0f : std::ldexp(value, exponent);
        if (std::fabs(scaled) < 0x1p100f) value = scaled;
      }
    }
  }
  Weights w;
  w.floats = *before;
  for (int64_t p = 0; p < k; p += kPackedBlock) {
    for (int64_t j = 0; j < n; ++j) {
      const int64_t count = std::min(kPackedBlock, k - p);
      float* values = w.floats.data() + p * n + j;
      const float scale = round_block(format, values, count, n);
      w.scales.push_back(scale);
      for (int64_t i = 0; i < count && scale != 0.0f; ++i) values[i * n] /= scale;
    }
  }
  return w;
}

struct Case {
  int64_t m, segments, segment_len, n;
  bool bias, residual, clip, accumulate;
};

/// Compute the matmul with blocks by its definition; SSE4.2 rounds products before it adds them.
/// Words of 4-bit values are padded with zeros.
void by_blocks(Tier tier, PackedFormat format, const MatmulF32Args& g, const Weights& w) {
  const auto link = [&](float x, float y, float sum) {
    const float rounded = x * y;
    return tier == Tier::kSse42 ? rounded + sum : mul_add(x, y, sum);
  };
  const int64_t k = g.segments * g.segment_len, unit = format == PackedFormat::kQ8 ? 1 : kQ4Unit;
  for (int64_t i = 0; i < g.m * g.n; ++i) {
    const int64_t row = i / g.n, col = i % g.n;
    float* c = g.c + row * g.ldc + col;
    float sum = g.accumulate ? *c : g.bias ? g.bias[col] : 0.0f;
    for (int64_t begin = 0; begin < k; begin += 32) {
      float part = 0.0f;
      const int64_t end = std::min(begin + 32, k);
      for (int64_t p = begin; p < end; ++p) {
        const int64_t at = p / g.segment_len * g.segment_stride + p % g.segment_len;
        part = link(g.a[row * g.lda + at], w.floats[static_cast<size_t>(p * g.n + col)], part);
      }
      if (end % unit != 0) part = link(0.0f, 0.0f, part);
      sum = link(part, w.scales[static_cast<size_t>(begin / 32 * g.n + col)], sum);
    }
    if (g.residual) sum += g.residual[row * g.ldr + col];
    sum = std::max(sum, sum * g.slope);
    *c = g.clip && !(sum > g.lo) ? g.lo : sum;
  }
}

/// Return the error of the matmul, compared with f64 and the real weights of B, as a share of the
/// bound that `MatmulPacked::run` states.
double share_of_bound(Tier tier, const MatmulF32Args& g, const Weights& w) {
  const int64_t k = g.segments * g.segment_len;
  const double roundings = (33.0 + static_cast<double>(k) / 32) * (tier == Tier::kSse42 ? 2 : 1);
  double worst = 0.0;
  for (int64_t i = 0; i < g.m * g.n; ++i) {
    const int64_t row = i / g.n, col = i % g.n;
    double exact = g.bias ? g.bias[col] : 0.0, size = std::fabs(exact);
    for (int64_t p = 0; p < k; ++p) {
      const double a = g.a[row * g.lda + p / g.segment_len * g.segment_stride + p % g.segment_len];
      const double product = a * w.floats[static_cast<size_t>(p * g.n + col)] *
                             w.scales[static_cast<size_t>(p / 32 * g.n + col)];
      exact += product;
      size += std::fabs(product);
    }
    const double bound = roundings * 0x1p-24 * size + 0x1p-149 * static_cast<double>(k + 1);
    worst = std::max(worst, std::fabs(g.c[row * g.ldc + col] - exact) / bound);
  }
  return worst;
}

/// Multiply with gaps between the rows of A and of C, by the packed kernel and the f32 kernel.
/// Return the first difference; empty if there is none.
std::string problem(Tier tier, PackedFormat format, const Case& shape, std::mt19937& rng) {
  const auto [m, segments, segment_len, n, bias, residual, clip, accumulate] = shape;
  const int64_t k = segments * segment_len;
  const bool is_f16 = format == PackedFormat::kF16, is_q4_0 = format == PackedFormat::kQ4_0;
  std::vector<float> before;
  const Weights w = is_f16    ? random_f16(rng, k, n, random_int(rng, 0, 3) == 0)
                    : is_q4_0 ? random_weights(rng, k, n)
                              : random_rounded(rng, format, k, n, &before);
  const MatmulF32& plain = matmul_f32(tier);
  const MatmulPacked& packed = matmul_packed(tier, format);
  if (packed.tier != plain.tier || packed.nr != plain.nr) return "another tier or width";
  AlignedFloats panels(matmul_f32_packed_floats(plain, k, n));
  matmul_f32_pack(plain, k, n, w.floats.data(), n, 1, panels.data());
  AlignedFloats few(matmul_packed_bytes(packed, k, n) / 4 + 1);
  auto* bytes = reinterpret_cast<std::byte*>(few.data());
  if (is_f16) {
    if (!fit_f16(w.floats.data(), k * n)) return "f16 written out as f32 is taken for other floats";
    matmul_floats_pack(packed, k, n, w.floats.data(), n, 1, bytes);
  } else if (!is_q4_0) {
    matmul_floats_pack(packed, k, n, before.data(), n, 1, bytes);
  } else {
    matmul_packed_pack(packed, k, n, w.bytes.data(), w.column_bytes, bytes);
  }
  const int64_t segment_stride = segment_len + 2, lda = segments * segment_stride + 3, ldc = n + 5;
  std::vector<float> a = random_floats(rng, m * lda);
  for (int64_t i = 0; i < m * lda; ++i) {
    const int64_t p = i % lda;
    const bool read = p < segments * segment_stride && p % segment_stride < segment_len;
    if (!read) a[static_cast<size_t>(i)] = kNan;
  }
  const std::vector<float> biases = random_floats(rng, n), added = random_floats(rng, m * n);
  std::vector<float> expected(static_cast<size_t>(m * ldc), kGuard);
  for (int64_t i = 0; accumulate && i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) expected[static_cast<size_t>(i * ldc + j)] = 0.25f;
  }
  std::vector<float> found = expected;
  MatmulF32Args g;
  g.m = m;
  g.n = n;
  g.segments = segments;
  g.segment_len = segment_len;
  g.segment_stride = segment_stride;
  g.a = a.data();
  g.lda = lda;
  g.b = panels.data();
  g.c = expected.data();
  g.ldc = ldc;
  g.bias = bias ? biases.data() : nullptr;
  g.residual = residual ? added.data() : nullptr;
  g.ldr = n;
  g.accumulate = accumulate;
  g.slope = residual ? 0.3f : 1.0f;
  g.clip = clip;
  g.lo = 0.0f;
  g.hi = kInf;
  if (is_f16) {
    plain.run(g);
  } else {
    by_blocks(tier, format, g, w);
  }
  g.c = found.data();
  g.b = nullptr;
  AlignedFloats scratch(matmul_packed_scratch_floats(packed, g));
  packed.run({g, bytes, scratch.data()});
  if (!is_f16 && !residual && !clip && !accumulate) {
    const double share = share_of_bound(tier, g, w);
    if (!(share <= 1.0)) return "an error of " + std::to_string(share) + " times the bound";
  }
  if (same(found, expected)) return {};
  for (size_t i = 0; i < found.size(); ++i) {
    if (same(found[i], expected[i])) continue;
    return "row " + std::to_string(i / static_cast<size_t>(ldc)) + ", column " +
           std::to_string(i % static_cast<size_t>(ldc)) + ": " + std::to_string(found[i]) +
           ", not " + std::to_string(expected[i]);
  }
  return {};
}

// A build that compiles no models has no kernels of kQ8 and kQ4.
#ifdef RILL_STEPS_UNSEEN
constexpr PackedFormat kFormats[] = {PackedFormat::kQ4_0, PackedFormat::kF16};
#else
constexpr PackedFormat kFormats[] = {PackedFormat::kQ4_0, PackedFormat::kF16, PackedFormat::kQ8,
                                     PackedFormat::kQ4};
#endif

TEST(MatmulPacked, HasTheDocumentedBitsInEveryTier) {
  std::mt19937 rng(7);
  for (Tier tier : tiers()) {
    for (PackedFormat format : kFormats) {
      const int64_t unit = format == PackedFormat::kQ4_0 ? 32 : 1;
      for (int i = 0; i < 150; ++i) {
        const int64_t most = i % 10 == 0 ? 1600 : 150;
        const Case shape = {random_int(rng, 0, i % 20 == 0 ? 40 : 9),
                            random_int(rng, 1, i % 4 == 0 ? 3 : 1),
                            unit * random_int(rng, 0, most / unit),
                            random_int(rng, 1, 150),
                            i % 2 == 0,
                            i % 3 == 0,
                            i % 5 == 0,
                            i % 7 == 0};
        const std::string found = problem(tier, format, shape, rng);
        ASSERT_EQ(found, "") << matmul_packed(tier, format).name << ", " << shape.m << "x"
                             << shape.segments << "*" << shape.segment_len << "x" << shape.n;
      }
    }
  }
}

/// Streams compute rows in groups of any size and have the bits of a whole run.
TEST(MatmulPacked, ARowHasTheSameBitsAmongAnyNumberOfRows) {
  std::mt19937 rng(5);
  for (Tier tier : tiers()) {
    for (PackedFormat format : kFormats) {
      const MatmulPacked& packed = matmul_packed(tier, format);
      const bool is_q4_0 = format == PackedFormat::kQ4_0;
      for (int64_t m = 1; m <= 70; ++m) {
        const int64_t unit = is_q4_0 ? 32 : 1, n = random_int(rng, 1, m % 4 == 0 ? 100 : 20);
        const int64_t segments = random_int(rng, 1, m % 3 == 0 ? 3 : 1);
        const int64_t most = m % 10 == 0 ? 600 : 100;
        const int64_t segment_len = unit * random_int(rng, 1, most / unit / segments);
        const int64_t k = segments * segment_len;
        AlignedFloats few(matmul_packed_bytes(packed, k, n) / 4 + 1);
        auto* bytes = reinterpret_cast<std::byte*>(few.data());
        if (is_q4_0) {
          const Weights w = random_weights(rng, k, n);
          matmul_packed_pack(packed, k, n, w.bytes.data(), w.column_bytes, bytes);
        } else {
          const std::vector<float> values = random_floats(rng, k * n);
          matmul_floats_pack(packed, k, n, values.data(), n, 1, bytes);
        }
        MatmulF32Args g;
        g.m = m;
        g.n = g.ldc = n;
        g.segments = segments;
        g.segment_len = segment_len;
        g.segment_stride = segment_len + 1;
        g.lda = segments * g.segment_stride;
        const std::vector<float> a = random_floats(rng, m * g.lda), bias = random_floats(rng, n);
        std::vector<float> together(static_cast<size_t>(m * n)), alone = together;
        g.a = a.data();
        g.bias = bias.data();
        g.c = together.data();
        AlignedFloats scratch(matmul_packed_scratch_floats(packed, g));
        packed.run({g, bytes, scratch.data()});
        g.m = 1;
        g.c = alone.data();
        for (int64_t row = 0; row < m; ++row, g.a += g.lda, g.c += n) {
          packed.run({g, bytes, scratch.data()});
        }
        ASSERT_TRUE(same(together, alone)) << packed.name << ", " << m << "x" << segments << "*"
                                           << segment_len << "x" << n;
      }
    }
  }
}

TEST(MatmulPacked, KnowsEveryHalfAndNoOtherFloat) {
  for (int bits = 0; bits < 65536; ++bits) {
    const float value = half_value(static_cast<uint16_t>(bits));
    ASSERT_TRUE(fit_f16(&value, 1)) << bits;
    if (std::isnan(value)) continue;
    for (const float other : {std::nextafter(value, kInf), std::nextafter(value, -kInf)}) {
      if (std::isinf(value) || std::isinf(other)) continue;
      ASSERT_FALSE(fit_f16(&other, 1)) << bits << ": " << other;
    }
  }
  for (const float value : {65520.0f, 65536.0f, 0x1.8p-24f, 0x1p-25f, 0x1p-149f}) {
    EXPECT_FALSE(fit_f16(&value, 1)) << value;
  }
}

TEST(MatmulPacked, RoundsBlocksAsItSays) {
  std::mt19937 rng(11);
  for (Tier tier : tiers()) {
    for (PackedFormat format : kFormats) {
      if (format == PackedFormat::kQ4_0) continue;
      const MatmulPacked& packed = matmul_packed(tier, format);
      for (const int64_t k : {1, 2, 31, 32, 33, 65, 100}) {
        const int64_t columns = packed.nr;
        std::vector<float> before = random_floats(rng, k * columns);
        for (int64_t p = 0; p < k; ++p) before[static_cast<size_t>(p * columns)] = 0.0f;
        std::vector<std::byte> panel(
            static_cast<size_t>(packed_panel_bytes(format, k, columns)));
        for (int64_t j = 0; j < columns; ++j) {
          packed_column(format, k, columns, j, before.data() + j, columns, panel.data());
        }
        std::vector<float> after(before.size(), kGuard);
        packed.upcast(panel.data(), k, columns, after.data());
        EXPECT_TRUE(same(after, rounded_columns(format, before, k, columns)))
            << packed.name << " " << k;
      }
    }
  }
}

struct Rounding {
  PackedFormat format;
  std::vector<float> before, after;
};

TEST(MatmulPacked, RoundsAsNumPyDoes) {
  const Rounding roundings[] = {
#include "kernels/matmul_packed/rounding.inc"
  };
  for (const Rounding& each : roundings) {
    if (std::count(std::begin(kFormats), std::end(kFormats), each.format) == 0) continue;
    const auto k = static_cast<int64_t>(each.before.size());
    for (Tier tier : tiers()) {
      const MatmulPacked& packed = matmul_packed(tier, each.format);
      std::vector<std::byte> panel(
          static_cast<size_t>(packed_panel_bytes(each.format, k, packed.nr)));
      packed_column(each.format, k, packed.nr, 3, each.before.data(), 1, panel.data());
      std::vector<float> after(static_cast<size_t>(k * packed.nr), kGuard);
      packed.upcast(panel.data(), k, packed.nr, after.data());
      for (int64_t p = 0; p < k; ++p) {
        EXPECT_EQ(after[static_cast<size_t>(p * packed.nr + 3)],
                  each.after[static_cast<size_t>(p)])
            << packed.name << " " << p;
        EXPECT_EQ(after[static_cast<size_t>(p * packed.nr + 4)], 0.0f) << packed.name;
      }
    }
  }
}

/// A product with the identity gives B back.
TEST(MatmulPacked, UpcastsEveryHalf) {
  std::vector<float> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = half_value(static_cast<uint16_t>(i));
  const float one = 1.0f;
  for (Tier tier : tiers()) {
    const MatmulPacked& packed = matmul_packed(tier, PackedFormat::kF16);
    const auto n = static_cast<int64_t>(all.size());
    AlignedFloats b(n / 2);
    auto* bytes = reinterpret_cast<std::byte*>(b.data());
    matmul_floats_pack(packed, 1, n, all.data(), n, 1, bytes);
    std::vector<float> minus_zero(all.size(), -0.0f), found(all.size());
    MatmulF32Args g;
    g.m = 1;
    g.n = g.ldc = n;
    g.segment_len = g.lda = 1;
    g.a = &one;
    g.bias = minus_zero.data();
    g.c = found.data();
    AlignedFloats scratch(matmul_packed_scratch_floats(packed, g));
    packed.run({g, bytes, scratch.data()});
    EXPECT_TRUE(same(found, all)) << packed.name;
  }
}

TEST(MatmulPacked, TakesTheBitsThatItSays) {
  for (Tier tier : tiers()) {
    const MatmulPacked& q4 = matmul_packed(tier, PackedFormat::kQ4_0);
    EXPECT_EQ(matmul_packed_bytes(q4, 320, 64) * 8, 320 * 64 * 9 / 2);
    const MatmulPacked& f16 = matmul_packed(tier, PackedFormat::kF16);
    EXPECT_EQ(matmul_packed_bytes(f16, 320, 64), 320 * 64 * 2);
    MatmulF32Args g;
    g.m = 100;
    g.n = 64;
    g.segment_len = 320;
    for (const int64_t rows : {int64_t{1}, kPackedFewRows, int64_t{100}}) {
      g.m = rows;
      EXPECT_EQ(matmul_packed_scratch_floats(q4, g), 0);
      EXPECT_EQ(matmul_packed_scratch_floats(f16, g), 0);
    }
#ifndef RILL_STEPS_UNSEEN
    const MatmulPacked& q8 = matmul_packed(tier, PackedFormat::kQ8);
    EXPECT_EQ(matmul_packed_bytes(q8, 320, 64) * 2, 320 * 64 * 17 / 8);
    const MatmulPacked& few = matmul_packed(tier, PackedFormat::kQ4);
    EXPECT_EQ(matmul_packed_bytes(few, 320, 64) * 8, 320 * 64 * 9 / 2);
    EXPECT_EQ(matmul_packed_bytes(few, 33, 64), 64 * (16 + 4 + 2 * 2));
#endif
  }
}

}  // namespace
}  // namespace rill::kernels
