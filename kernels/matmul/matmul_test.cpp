#include "kernels/matmul/matmul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/matmul/test_support.h"

namespace rill::kernels {
namespace {

/// A matmul on random data, with all options of the arguments.
struct Case {
  int64_t m = 1, n = 1, segments = 1, segment_len = 1, segment_stride = 0, lda = 0;
  bool bias = false, accumulate = false, residual = false, clip = false;
  float slope = 1.0f, lo = -kInf, hi = kInf;
  std::vector<float> a, b, bias_values, c, residual_values;  // c and residual have 3 columns more

  int64_t k() const { return segments * segment_len; }
  int64_t ldc() const { return n + 3; }

  void fill(std::mt19937& rng) {
    a = random_floats(rng, m * lda + segments * segment_stride + segment_len + 1);
    b = random_floats(rng, k() * n);
    bias_values = random_floats(rng, n);
    c = random_floats(rng, m * ldc());
    for (int64_t i = 0; i < m; ++i) std::fill_n(&c[size_t(i * ldc() + n)], 3, kGuard);
    residual_values = random_floats(rng, m * ldc());
  }

  /// Run rows [row, row + rows) in one call, on `out`, which holds all rows of c.
  void run(const MatmulF32& kernel, const float* packed, int64_t row, int64_t rows,
           std::vector<float>& out) const {
    MatmulF32Args g;
    g.m = rows;
    g.n = n;
    g.segments = segments;
    g.segment_len = segment_len;
    g.segment_stride = segment_stride;
    g.a = a.data() + 1 + row * lda;
    g.lda = lda;
    g.b = packed;
    g.c = out.data() + row * ldc();
    g.ldc = ldc();
    g.bias = bias ? bias_values.data() : nullptr;
    g.accumulate = accumulate;
    g.residual = residual ? residual_values.data() + row * ldc() : nullptr;
    g.ldr = ldc();
    g.slope = slope;
    g.clip = clip;
    g.lo = lo;
    g.hi = hi;
    kernel.run(g);
  }

  /// The exact result before rounding, and a bound of the error: at most two roundings of each of
  /// the k links, of the residual's sum and of the reference itself.
  double exact(int64_t i, int64_t j, double* bound) const {
    double sum = accumulate ? c[size_t(i * ldc() + j)] : bias ? bias_values[size_t(j)] : 0.0;
    double size = std::fabs(sum);
    for (int64_t s = 0, p = 0; s < segments; ++s) {
      for (int64_t q = 0; q < segment_len; ++q, ++p) {
        const double x = a[size_t(1 + i * lda + s * segment_stride + q)], y = b[size_t(p * n + j)];
        sum += x * y;
        size += std::fabs(x * y);
      }
    }
    if (residual) {
      sum += residual_values[size_t(i * ldc() + j)];
      size += std::fabs(residual_values[size_t(i * ldc() + j)]);
    }
    *bound = 2.0 * double(k() + 2) * std::ldexp(1.0, -24) * size;
    if (sum < 0.0) sum *= slope;
    if (clip) sum = std::max(std::min(sum, double(hi)), double(lo));
    return sum;
  }
};

Case random_case(std::mt19937& rng, int64_t m) {
  const auto in = [&](int64_t lo, int64_t hi) { return random_int(rng, lo, hi); };
  Case c;
  c.m = m;
  c.n = in(1, 100);
  c.segments = in(0, 3) == 0 ? in(2, 5) : 1;
  c.segment_len = in(1, c.segments > 1 ? 20 : 70);
  c.segment_stride = c.segment_len + in(-1, 9);
  c.lda = in(0, 2) == 0 ? in(1, 3) : c.segments * c.segment_stride + in(0, 5);
  c.bias = in(0, 1) == 1;
  c.accumulate = in(0, 3) == 0;
  c.residual = in(0, 2) == 0;
  c.slope = in(0, 2) == 0 ? std::ldexp(0.7f, int(in(-20, 0))) : 1.0f;
  c.clip = in(0, 2) == 0;
  c.lo = in(0, 1) == 1 ? -0.5f : -kInf;
  c.hi = in(0, 1) == 1 ? 0.75f : kInf;
  c.fill(rng);
  if (in(0, 4) == 0) c.a[size_t(in(0, int64_t(c.a.size()) - 1))] = kNan;
  return c;
}

std::vector<float> whole(const Case& c, const MatmulF32& kernel) {
  AlignedFloats packed(matmul_f32_packed_floats(kernel, c.k(), c.n));
  matmul_f32_pack(kernel, c.k(), c.n, c.b.data(), c.n, 1, packed.data());
  std::vector<float> out = c.c;
  c.run(kernel, packed.data(), 0, c.m, out);
  return out;
}

void expect_near_exact(const Case& c, const std::vector<float>& out, const char* name) {
  for (int64_t i = 0; i < c.m; ++i) {
    for (int64_t j = 0; j < c.n; ++j) {
      double bound = 0.0;
      const double want = c.exact(i, j, &bound);
      const float got = out[size_t(i * c.ldc() + j)];
      if (std::isnan(bound)) {
        ASSERT_TRUE(std::isnan(got)) << name << " NaN at " << i << ", " << j << " gave " << got;
      } else {
        ASSERT_NEAR(got, want, bound) << name << " at " << i << ", " << j;
      }
    }
    for (int64_t j = c.n; j < c.ldc(); ++j) ASSERT_EQ(out[size_t(i * c.ldc() + j)], kGuard);
  }
}

class Matmul : public ::testing::TestWithParam<int> {};  // the parameter is m

TEST_P(Matmul, IsNearTheExactResultAndWritesNoColumnPastTheLast) {
  std::mt19937 rng(static_cast<uint32_t>(GetParam()));
  for (int repeat = 0; repeat < 12; ++repeat) {
    const Case c = random_case(rng, GetParam());
    for (Tier tier : tiers()) {
      const MatmulF32& kernel = matmul_f32(tier);
      expect_near_exact(c, whole(c, kernel), kernel.name);
    }
  }
}

TEST_P(Matmul, ARowAloneHasTheBitsOfTheRowAmongOthers) {
  std::mt19937 rng(static_cast<uint32_t>(GetParam()) + 1000);
  for (int repeat = 0; repeat < 12; ++repeat) {
    const Case c = random_case(rng, GetParam());
    for (Tier tier : tiers()) {
      const MatmulF32& kernel = matmul_f32(tier);
      AlignedFloats packed(matmul_f32_packed_floats(kernel, c.k(), c.n));
      matmul_f32_pack(kernel, c.k(), c.n, c.b.data(), c.n, 1, packed.data());
      std::vector<float> together = c.c, alone = c.c, chunks = c.c;
      c.run(kernel, packed.data(), 0, c.m, together);
      for (int64_t i = 0; i < c.m; ++i) c.run(kernel, packed.data(), i, 1, alone);
      for (int64_t i = 0; i < c.m; i += 7) {
        c.run(kernel, packed.data(), i, std::min<int64_t>(7, c.m - i), chunks);
      }
      for (size_t i = 0; i < together.size(); ++i) {
        ASSERT_TRUE(same(together[i], alone[i])) << kernel.name << " alone, float " << i;
        ASSERT_TRUE(same(together[i], chunks[i])) << kernel.name << " by sevens, float " << i;
      }
    }
  }
}

TEST_P(Matmul, AllTiersWithFusedMultiplyAddsAgreeInEveryBit) {
  std::mt19937 rng(static_cast<uint32_t>(GetParam()) + 2000);
  for (int repeat = 0; repeat < 12; ++repeat) {
    const Case c = random_case(rng, GetParam());
    const std::vector<float> want = whole(c, matmul_f32(Tier::kScalar));
    for (Tier tier : tiers()) {
      if (tier == Tier::kSse42) continue;
      const std::vector<float> got = whole(c, matmul_f32(tier));
      for (size_t i = 0; i < want.size(); ++i) {
        ASSERT_TRUE(same(got[i], want[i])) << matmul_f32(tier).name << ", float " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, Matmul, ::testing::Range(1, 41));

TEST(MatmulBlocks, BlocksOverKAndPanelsDoNotChangeABit) {
  std::mt19937 rng(7);
  Case c;
  c.m = 29;
  c.n = 333;
  c.segments = 3;
  c.segment_len = 411;
  c.segment_stride = 420;
  c.lda = 1300;
  c.bias = c.residual = c.clip = true;
  c.lo = 0.0f;
  c.fill(rng);
  for (Tier tier : tiers()) {
    const MatmulF32& kernel = matmul_f32(tier);
    AlignedFloats packed(matmul_f32_packed_floats(kernel, c.k(), c.n));
    matmul_f32_pack(kernel, c.k(), c.n, c.b.data(), c.n, 1, packed.data());
    std::vector<float> together = c.c, alone = c.c;
    c.run(kernel, packed.data(), 0, c.m, together);
    for (int64_t i = 0; i < c.m; ++i) c.run(kernel, packed.data(), i, 1, alone);
    EXPECT_EQ(together, alone) << kernel.name;
    expect_near_exact(c, together, kernel.name);
  }
}

TEST(MatmulBlocks, ARowByWeightsThatNoCacheHoldsHasTheBitsOfTheRowAmongOthers) {
  constexpr int64_t kK = 2051, kN = 4107;  // above 8 Mi floats; the last panel is not whole
  std::mt19937 rng(8);
  const std::vector<float> a = random_floats(rng, 2 * kK), b = random_floats(rng, kK * kN);
  for (Tier tier : tiers()) {
    const MatmulF32& kernel = matmul_f32(tier);
    AlignedFloats packed(matmul_f32_packed_floats(kernel, kK, kN));
    matmul_f32_pack(kernel, kK, kN, b.data(), kN, 1, packed.data());
    const auto product = [&](int64_t rows) {
      std::vector<float> c(size_t(rows * kN));
      MatmulF32Args g;
      g.m = rows;
      g.n = g.ldc = kN;
      g.segment_len = g.lda = kK;
      g.a = a.data();
      g.b = packed.data();
      g.c = c.data();
      kernel.run(g);
      c.resize(size_t(kN));
      return c;
    };
    EXPECT_TRUE(same(product(1), product(2))) << kernel.name;
  }
}

TEST(MatmulBlocks, AResidualMayBeTheResultItself) {
  std::mt19937 rng(8);
  Case c;
  c.m = 17;
  c.n = 40;
  c.segment_len = 900;
  c.lda = 900;
  c.bias = c.residual = true;
  c.fill(rng);
  c.residual_values = c.c;
  for (Tier tier : tiers()) {
    const MatmulF32& kernel = matmul_f32(tier);
    AlignedFloats packed(matmul_f32_packed_floats(kernel, c.k(), c.n));
    matmul_f32_pack(kernel, c.k(), c.n, c.b.data(), c.n, 1, packed.data());
    std::vector<float> in_place = c.c;
    MatmulF32Args g;
    g.m = c.m;
    g.n = c.n;
    g.segment_len = c.segment_len;
    g.a = c.a.data() + 1;
    g.lda = c.lda;
    g.b = packed.data();
    g.c = in_place.data();
    g.bias = c.bias_values.data();
    g.residual = in_place.data();
    g.ldc = g.ldr = c.ldc();
    kernel.run(g);
    EXPECT_EQ(in_place, whole(c, kernel)) << kernel.name;
  }
}

TEST(MatmulEdges, NoTermsGiveTheBiasOrZero) {
  for (Tier tier : tiers()) {
    const MatmulF32& kernel = matmul_f32(tier);
    const float bias[] = {1.0f, -2.0f, 3.0f};
    float c[4] = {9.0f, 9.0f, 9.0f, kGuard};
    MatmulF32Args g;
    g.m = 1;
    g.n = 3;
    g.c = c;
    g.bias = bias;
    kernel.run(g);
    EXPECT_EQ(c[0], 1.0f);
    EXPECT_EQ(c[1], -2.0f);
    EXPECT_EQ(c[2], 3.0f);
    g.bias = nullptr;
    kernel.run(g);
    EXPECT_EQ(c[1], 0.0f);
    EXPECT_EQ(c[3], kGuard);
    g.m = 0;
    kernel.run(g);
  }
}

TEST(MatmulEdges, NanPassesEveryLimit) {
  for (Tier tier : tiers()) {
    const MatmulF32& kernel = matmul_f32(tier);
    AlignedFloats packed(matmul_f32_packed_floats(kernel, 1, 1));
    const float one = 1.0f;
    matmul_f32_pack(kernel, 1, 1, &one, 1, 1, packed.data());
    const auto product = [&](bool clip, float lo, float hi) {
      float c = 0.0f;
      MatmulF32Args g;
      g.m = g.n = g.segment_len = 1;
      g.a = &kNan;
      g.b = packed.data();
      g.c = &c;
      g.clip = clip;
      g.lo = lo;
      g.hi = hi;
      kernel.run(g);
      return c;
    };
    EXPECT_TRUE(std::isnan(product(false, 0.0f, 1.0f))) << kernel.name;
    EXPECT_TRUE(std::isnan(product(true, -kInf, kInf))) << kernel.name;
    EXPECT_TRUE(std::isnan(product(true, 0.0f, kInf))) << kernel.name;
    EXPECT_TRUE(std::isnan(product(true, -kInf, 6.0f))) << kernel.name;
    EXPECT_TRUE(std::isnan(product(true, 0.0f, 6.0f))) << kernel.name;
  }
}

TEST(MatmulEdges, AZeroKeepsItsSignAtALimitOfZero) {
  const float signalling = __builtin_bit_cast(float, 0x7fa00000u), minus_one = -1.0f;
  const auto bits = [](float value) { return __builtin_bit_cast(uint32_t, value); };
  for (Tier tier : tiers()) {
    const MatmulF32& kernel = matmul_f32(tier);
    const int64_t n = 2 * kernel.nr;
    for (const int64_t k : {0, 1}) {
      AlignedFloats packed(n);  // zeros
      for (const float start : {0.0f, -0.0f, kNan, signalling}) {
        for (const float lo : {0.0f, -0.0f}) {
          const std::vector<float> bias(size_t(n), start);
          std::vector<float> c(size_t(n), kGuard);
          MatmulF32Args g;
          g.m = 1;
          g.n = n;
          g.segment_len = k;
          g.a = &minus_one;
          g.b = packed.data();
          g.c = c.data();
          g.bias = bias.data();
          g.clip = true;
          g.lo = lo;
          g.hi = kInf;
          kernel.run(g);
          for (const float value : c) {
            const bool kept = std::isnan(start) ? std::isnan(value) : bits(value) == bits(start);
            ASSERT_TRUE(kept) << kernel.name << " k " << k << " from " << start;
          }
        }
      }
    }
  }
}

/// Floats in a vector of a tier; 8 for the scalar one, whose panels are not divided.
int64_t vector_floats(Tier tier) {
  if (tier == Tier::kAvx512) return 16;
  return tier == Tier::kAvx2 || tier == Tier::kScalar ? 8 : 4;
}

TEST(MatmulPack, AnyStridesGiveZeroPaddedPanels) {
  std::mt19937 rng(9);
  const std::vector<float> b = random_floats(rng, 60 * 60 * 2);
  const struct {
    int64_t k_stride, n_stride;
  } kStrides[] = {{60, 1}, {1, 60}, {120, 2}, {0, 1}, {1, 0}};
  for (Tier tier : tiers()) {
    const MatmulF32& kernel = matmul_f32(tier);
    for (int64_t k : {0, 1, 3, 4, 17, 59}) {
      for (int64_t n : {1, 3, 8, 9, 16, 31, 32, 33, 59}) {
        const int64_t lanes = vector_floats(tier), vectors = (n + lanes - 1) / lanes;
        const int64_t nr = std::min<int64_t>(kernel.nr, vectors * lanes);
        for (const auto& stride : kStrides) {
          const int64_t size = matmul_f32_packed_floats(kernel, k, n);
          ASSERT_EQ(size, (n + nr - 1) / nr * nr * k) << kernel.name << " n " << n;
          std::vector<float> packed(size_t(size) + 1, kGuard);
          matmul_f32_pack(kernel, k, n, b.data(), stride.k_stride, stride.n_stride, packed.data());
          for (int64_t at = 0; at < size; ++at) {
            const int64_t col = at / (k * nr) * nr + at % nr;
            const int64_t p = at / nr % k;
            const float want =
                col < n ? b[size_t(p * stride.k_stride + col * stride.n_stride)] : 0.0f;
            ASSERT_EQ(packed[size_t(at)], want) << kernel.name << " k " << k << " n " << n;
          }
          ASSERT_EQ(packed[size_t(size)], kGuard);
        }
      }
    }
  }
}

// The kernel for any number of columns runs on this CPU, and gives the bits of the tier's kernel.
TEST(MatmulOfColumns, AnyKernelThatIsChosenGivesTheSameBits) {
  std::mt19937 rng(12);
  for (int64_t n = 1; n <= 130; ++n) {
    const MatmulF32& chosen = matmul_f32_of_columns(n);
    ASSERT_TRUE(supports(active_tier(), chosen.tier));
    Case c = random_case(rng, 13);
    c.n = n;
    c.fill(rng);
    ASSERT_TRUE(same(whole(c, chosen), whole(c, matmul_f32(active_tier())))) << n << " columns";
  }
}

TEST(MatmulOfColumns, ATargetHasTheKernelsOfItsTier) {
  for (const Tier tier : {Tier::kAvx2, Tier::kAvx512, Tier::kNeon}) {
    if (!compiles_for(tier)) continue;
    const TargetCpu target(tier);
    // A vector of 512 bits would be mostly empty.
    const Tier few = tier == Tier::kAvx512 ? Tier::kAvx2 : tier;
    for (const int64_t n : {1, 8}) EXPECT_EQ(matmul_f32_of_columns(n).name, matmul_f32(few).name);
    for (const int64_t n : {9, 16, 24, 40, 100}) {
      EXPECT_EQ(matmul_f32_of_columns(n).name, matmul_f32(tier).name);
    }
  }
}

}  // namespace
}  // namespace rill::kernels
