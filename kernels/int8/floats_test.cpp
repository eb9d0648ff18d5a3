// Matmuls of floats in integers, compared with their definition in plain integers and with f64.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/int8/sparse.h"
#include "kernels/limited.h"
#include "kernels/matmul/test_support.h"
#include "kernels/matmul_packed/matmul_packed.h"
#include "kernels/matmul_packed/rounding_support.h"

// Builds that compile no models have no such kernels.
#ifndef RILL_STEPS_UNSEEN

namespace rill::kernels {
namespace {

/// Return every kernel of kInt8 that this CPU can run.
std::vector<const MatmulPacked*> int8_kernels() {
  std::vector<const MatmulPacked*> out;
  const KernelList<MatmulPacked> all = kernels_like(static_cast<const MatmulPacked*>(nullptr));
  for (size_t i = 0; i < all.count; ++i) {
    if (all[i].format == PackedFormat::kInt8 && runs_here(all[i])) out.push_back(&all[i]);
  }
  return out;
}

/// A product with its operands: rows of A lie apart, in segments.
struct Product {
  int64_t m, segments, segment_len, n;
  bool accumulate = false, clip = false;
  float slope = 1.0f;
  std::vector<float> a, b, c, bias, residual;  // the last two may be empty

  int64_t k() const { return segments * segment_len; }
  int64_t stride() const { return segment_len + 2; }
  int64_t lda() const { return segments * stride() + 3; }
  int64_t ldc() const { return n + 5; }

  Product(std::mt19937& rng, int64_t rows, int64_t parts, int64_t part, int64_t columns)
      : m(rows), segments(parts), segment_len(part), n(columns) {
    a = random_floats(rng, m * lda());
    for (int64_t i = 0; i < m * lda(); ++i) {
      const int64_t p = i % lda();
      const bool read = p < segments * stride() && p % stride() < segment_len;
      if (!read) a[static_cast<size_t>(i)] = kNan;
    }
    b = random_floats(rng, k() * n);
    c.assign(static_cast<size_t>(m * ldc()), kGuard);
  }

  float& at(int64_t row, int64_t p) {
    const int64_t i = row * lda() + p / segment_len * stride() + p % segment_len;
    return a[static_cast<size_t>(i)];
  }
  /// Set a block of 8 columns by 4 values of k to zeros with a probability in percent.
  void clear_blocks(std::mt19937& rng, int64_t percent) {
    for (int64_t p = 0; p < k(); p += 4) {
      for (int64_t j = 0; j < n; j += 8) {
        if (random_int(rng, 0, 99) >= percent) continue;
        for (int64_t i = 0; i < 32; ++i) {
          const int64_t row = p + i / 8, column = j + i % 8;
          if (row < k() && column < n) b[static_cast<size_t>(row * n + column)] = 0.0f;
        }
      }
    }
  }
  std::vector<float> row(int64_t i) {
    std::vector<float> out;
    for (int64_t p = 0; p < k(); ++p) out.push_back(at(i, p));
    return out;
  }
  float start(int64_t i, int64_t j) const {
    if (accumulate) return c[static_cast<size_t>(i * ldc() + j)];
    return bias.empty() ? 0.0f : bias[static_cast<size_t>(j)];
  }

  AlignedFloats packed(const MatmulPacked& kernel) const {
    AlignedFloats out(matmul_packed_bytes(kernel, k(), n) / 4);
    matmul_floats_pack(kernel, k(), n, b.data(), n, 1, reinterpret_cast<std::byte*>(out.data()));
    return out;
  }

  std::vector<float> run(const MatmulPacked& kernel) const {
    AlignedFloats weights = packed(kernel);
    return run(kernel, weights);
  }

  std::vector<float> run(const MatmulPacked& kernel, AlignedFloats& weights) const {
    const auto* const bytes = reinterpret_cast<const std::byte*>(weights.data());
    std::vector<float> out = c;
    MatmulF32Args g;
    g.m = m;
    g.n = n;
    g.segments = segments;
    g.segment_len = segment_len;
    g.segment_stride = stride();
    g.a = a.data();
    g.lda = lda();
    g.c = out.data();
    g.ldc = ldc();
    g.bias = bias.empty() ? nullptr : bias.data();
    g.residual = residual.empty() ? nullptr : residual.data();
    g.ldr = n;
    g.accumulate = accumulate;
    g.slope = slope;
    g.clip = clip;
    g.lo = -0.25f;
    g.hi = 1.5f;
    AlignedFloats scratch(matmul_packed_scratch_floats(kernel, g));
    kernel.run({g, bytes, scratch.data()});
    return out;
  }

  /// Compute the product by its definition, in plain integers.
  std::vector<float> reference() {
    std::vector<Int8Values> rows, columns;
    for (int64_t i = 0; i < m; ++i) rows.push_back(rounded_to_int8(row(i)));
    for (int64_t j = 0; j < n; ++j) columns.push_back(rounded_to_int8(column_of(b, k(), n, j)));
    std::vector<float> out = c;
    for (int64_t i = 0; i < m * n; ++i) {
      const int64_t r = i / n, j = i % n;
      float sum = int8_product(rows[static_cast<size_t>(r)], columns[static_cast<size_t>(j)]);
      if (accumulate || !bias.empty()) sum = start(r, j) + sum;
      if (!residual.empty()) sum = sum + residual[static_cast<size_t>(i)];
      sum = slope == 1.0f ? sum : leaked(sum, slope);
      out[static_cast<size_t>(r * ldc() + j)] = clip ? limited(sum, -0.25f, 1.5f) : sum;
    }
    return out;
  }
};

TEST(Int8Floats, HaveTheBitsOfExactSumsInEveryTier) {
  std::mt19937 rng(21);
  for (int i = 0; i < 300; ++i) {
    Product product(rng, random_int(rng, 0, i % 20 == 0 ? 120 : 12),
                    random_int(rng, 1, i % 4 == 0 ? 3 : 1),
                    random_int(rng, i % 30 == 0 ? 0 : 1, i % 10 == 0 ? 600 : 70),
                    random_int(rng, 1, 150));
    // Rows and columns of all magnitudes; some are zeros.
    for (int64_t row = 0; row < product.m; ++row) {
      const float size = std::ldexp(1.0f, static_cast<int>(random_int(rng, -60, 60)));
      for (int64_t p = 0; p < product.k(); ++p) product.at(row, p) *= row % 9 == 8 ? 0.0f : size;
    }
    for (int64_t at = 0; at < product.k() * product.n; ++at) {
      product.b[static_cast<size_t>(at)] *= at % product.n % 7 == 6 ? 0x1p-40f : 1.0f;
    }
    if (i % 2 == 0) product.bias = random_floats(rng, product.n);
    if (i % 3 == 0) product.residual = random_floats(rng, product.m * product.n);
    product.accumulate = i % 5 == 0;
    product.clip = i % 7 == 0;
    product.slope = i % 4 == 0 ? 0.3f : 1.0f;
    const std::vector<float> want = product.reference();
    for (const MatmulPacked* kernel : int8_kernels()) {
      ASSERT_TRUE(same(product.run(*kernel), want))
          << kernel->name << ", " << product.m << "x" << product.segments << "*"
          << product.segment_len << "x" << product.n;
    }
  }
}

/// Blocks of zeros are left out, from none to all of them.
TEST(Int8Floats, HaveTheBitsOfExactSumsWithBlocksOfZeros) {
  std::mt19937 rng(26);
  for (int i = 0; i < 300; ++i) {
    Product product(rng, random_int(rng, 1, i % 20 == 0 ? 120 : 12),
                    random_int(rng, 1, i % 4 == 0 ? 3 : 1),
                    random_int(rng, 1, i % 10 == 0 ? 600 : 70), random_int(rng, 1, 150));
    product.clear_blocks(rng, i % 5 == 0 ? 100 : random_int(rng, 0, 100));
    if (i % 2 == 0) product.bias = random_floats(rng, product.n);
    const std::vector<float> want = product.reference();
    for (const MatmulPacked* kernel : int8_kernels()) {
      ASSERT_TRUE(same(product.run(*kernel), want))
          << kernel->name << ", " << product.m << "x" << product.segments << "*"
          << product.segment_len << "x" << product.n;
    }
  }
}

/// The marks of sparse panels: the scale of their first column is negative.
int64_t sparse_panels(const MatmulPacked& kernel, const Product& product,
                      AlignedFloats& packed) {
  int64_t found = 0;
  const int64_t step = packed_panel_bytes(kernel.format, product.k(), kernel.nr) / 4;
  for (int64_t col = 0; col < product.n; col += kernel.nr) {
    found += std::signbit(packed.data()[col / kernel.nr * step]) ? 1 : 0;
  }
  return found;
}

TEST(Int8Floats, LeaveOutBlocksIfManyAreZeros) {
  std::mt19937 rng(27);
  for (const MatmulPacked* kernel : int8_kernels()) {
    for (const int64_t percent : {0, 20, 60, 100}) {
      Product product(rng, 1, 1, 256, 128);
      product.clear_blocks(rng, percent);
      const int64_t panels = percent < 50 ? 0 : 128 / kernel->nr;
      AlignedFloats packed = product.packed(*kernel);
      EXPECT_EQ(sparse_panels(*kernel, product, packed), panels)
          << kernel->name << ", " << percent << " %";
    }
  }
}

/// Positions in a file can have any values. The address sanitizer finds reads beyond the panels.
TEST(Int8Floats, StayInsideSparsePanelsOfAnyBytes) {
  std::mt19937 rng(28);
  for (const MatmulPacked* kernel : int8_kernels()) {
    for (int i = 0; i < 100; ++i) {
      Product product(rng, random_int(rng, 1, 6), 1, random_int(rng, 1, 90),
                      random_int(rng, 1, 70));
      product.clear_blocks(rng, 80);
      AlignedFloats packed = product.packed(*kernel);
      auto* const bytes = reinterpret_cast<uint8_t*>(packed.data());
      const int64_t panel = packed_panel_bytes(kernel->format, product.k(), kernel->nr);
      const int64_t all = matmul_packed_bytes(*kernel, product.k(), product.n);
      for (int64_t at = 0; at < all; ++at) {
        if (at % panel < 8 * kernel->nr) continue;
        bytes[at] = i % 3 == 0 ? 0xFF : static_cast<uint8_t>(rng());
      }
      const std::vector<float> got = product.run(*kernel, packed);
      for (int64_t row = 0; row < product.m; ++row) {
        EXPECT_EQ(got[static_cast<size_t>(row * product.ldc() + product.n)], kGuard);
      }
    }
  }
}

/// Rounding moves a value by at most half a step of 1/127 of the largest one. So k products of
/// values up to A and W lie within k A W (1/127 + 1/254^2) of the exact sum, and the roundings of
/// floats within 2^-20 of that size.
TEST(Int8Floats, LieWithinTheBoundOfTheirRounding) {
  std::mt19937 rng(22);
  for (const MatmulPacked* kernel : int8_kernels()) {
    for (const int64_t k : {1, 7, 64, 384, 1000}) {
      Product product(rng, 3, 1, k, 40);
      product.bias = random_floats(rng, product.n);
      const std::vector<float> got = product.run(*kernel);
      for (int64_t i = 0; i < product.m; ++i) {
        double farthest_a = 0, farthest_w = 0;
        for (const float value : product.row(i)) {
          farthest_a = std::max(farthest_a, std::fabs(double{value}));
        }
        for (int64_t j = 0; j < product.n; ++j) {
          double exact = product.bias[static_cast<size_t>(j)];
          farthest_w = 0;
          for (int64_t p = 0; p < k; ++p) {
            const double w = product.b[static_cast<size_t>(p * product.n + j)];
            exact += double{product.at(i, p)} * w;
            farthest_w = std::max(farthest_w, std::fabs(w));
          }
          const double size = static_cast<double>(k) * farthest_a * farthest_w;
          const double bound = size * (1.0 / 127 + 1.0 / 64516) + (size + 1) * 0x1p-20;
          const float value = got[static_cast<size_t>(i * product.ldc() + j)];
          EXPECT_LE(std::fabs(value - exact), bound) << kernel->name << ", k " << k;
        }
      }
    }
  }
}

TEST(Int8Floats, ANanOrAnInfinityGivesNanInItsRowAlone) {
  std::mt19937 rng(23);
  for (const float bad : {kNan, -kNan, kInf, -kInf}) {
    for (const int64_t k : {5, 64, 77}) {
      Product product(rng, 9, 1, k, 35);
      product.at(4, k - 1) = bad;
      for (const MatmulPacked* kernel : int8_kernels()) {
        const std::vector<float> got = product.run(*kernel);
        for (int64_t i = 0; i < product.m; ++i) {
          for (int64_t j = 0; j < product.n; ++j) {
            const float value = got[static_cast<size_t>(i * product.ldc() + j)];
            ASSERT_EQ(std::isnan(value), i == 4) << kernel->name << ", row " << i;
          }
        }
      }
    }
  }
}

/// The largest and smallest floats neither overflow nor trap, and the longest sum fits 32 bits.
TEST(Int8Floats, ReachTheLimitsOfTheirNumbers) {
  std::mt19937 rng(24);
  constexpr float kMost = std::numeric_limits<float>::max();
  for (const MatmulPacked* kernel : int8_kernels()) {
    Product ends(rng, 2, 1, 6, 3);
    for (int64_t p = 0; p < 6; ++p) {
      ends.at(0, p) = kMost;
      ends.at(1, p) = 1e-42f;
      for (int64_t j = 0; j < 3; ++j) ends.b[static_cast<size_t>(p * 3 + j)] = 0x1p-20f;
    }
    const std::vector<float> got = ends.run(*kernel);
    EXPECT_NEAR(got[0] / (6.0 * kMost * 0x1p-20), 1.0, 0x1p-20) << kernel->name;
    EXPECT_EQ(got[static_cast<size_t>(ends.ldc())], 0.0f) << kernel->name;

    Product longest(rng, 1, 1, kInt8MostK, 2);
    for (float& value : longest.b) value = -1.0f;
    for (int64_t p = 0; p < kInt8MostK; ++p) longest.at(0, p) = 1.0f;
    EXPECT_NEAR(longest.run(*kernel)[0], -static_cast<double>(kInt8MostK), 0.1) << kernel->name;
  }
}

/// A row has the same bits among any others.
TEST(Int8Floats, AnyNumberOfRowsGivesTheSameBits) {
  std::mt19937 rng(25);
  for (const MatmulPacked* kernel : int8_kernels()) {
    Product all(rng, 60, 1, 93, 70);
    const std::vector<float> together = all.run(*kernel);
    for (int64_t i = 0; i < all.m; ++i) {
      Product one(rng, 1, 1, 93, 70);
      one.b = all.b;
      for (int64_t p = 0; p < 93; ++p) one.at(0, p) = all.at(i, p);
      const auto first = together.begin() + i * all.ldc();
      ASSERT_TRUE(same(one.run(*kernel), std::vector<float>(first, first + all.ldc())))
          << kernel->name << ", row " << i;
    }
  }
}

}  // namespace
}  // namespace rill::kernels

#endif
