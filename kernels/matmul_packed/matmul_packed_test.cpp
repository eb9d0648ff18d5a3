#include "kernels/matmul_packed/matmul_packed.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "kernels/matmul/matmul.h"
#include "kernels/matmul/test_support.h"

namespace rill::kernels {
namespace {

/// B in its few bits, column by column, and what it stands for, [k][n].
struct Weights {
  std::vector<std::byte> bytes;
  int64_t column_bytes = 0;
  std::vector<float> floats;
};

/// What a half stands for, by the definition of the format.
float half_value(uint16_t half) {
  const int exponent = half >> 10 & 31;
  const auto mantissa = static_cast<float>(half & 1023);
  const float size =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024.0f, exponent - 25);
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
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t p = 0; p < k;) {
      const uint16_t half = random_half(rng);
      append_half(half, &w.bytes);
      for (int64_t i = 0; i < 16; ++i) {
        const auto byte = static_cast<int>(random_int(rng, 0, 255));
        w.bytes.push_back(static_cast<std::byte>(byte));
        const float scale = half_value(half);
        w.floats[static_cast<size_t>((p + i) * n + j)] = scale * static_cast<float>(byte % 16 - 8);
        w.floats[static_cast<size_t>((p + 16 + i) * n + j)] =
            scale * static_cast<float>(byte / 16 - 8);
      }
      p += 32;
    }
  }
  w.column_bytes = n > 0 ? static_cast<int64_t>(w.bytes.size()) / n : 0;
  return w;
}

struct Case {
  int64_t m, k, n;
  bool bias, residual, clip, accumulate;
};

/// The product by both ways, from rows of A and into rows of C that lie apart.
std::string problem(Tier tier, PackedFormat format, const Case& shape, std::mt19937& rng) {
  const auto [m, k, n, bias, residual, clip, accumulate] = shape;
  const Weights w = random_weights(rng, k, n);
  const MatmulF32& plain = matmul_f32(tier);
  const MatmulPacked& packed = matmul_packed(tier, format);
  if (packed.tier != plain.tier || packed.nr != plain.nr) return "another tier or width";
  AlignedFloats panels(matmul_f32_packed_floats(plain, k, n));
  matmul_f32_pack(plain, k, n, w.floats.data(), n, 1, panels.data());
  AlignedFloats few(matmul_packed_bytes(packed, k, n) / 4 + 1);
  auto* bytes = reinterpret_cast<std::byte*>(few.data());
  matmul_packed_pack(packed, k, n, w.bytes.data(), w.column_bytes, bytes);
  AlignedFloats scratch(matmul_packed_scratch_floats(packed, m, k));
  const int64_t lda = k + 3, ldc = n + 5;
  std::vector<float> a = random_floats(rng, m * lda);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t p = k; p < lda; ++p) a[static_cast<size_t>(i * lda + p)] = kNan;
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
  g.segment_len = k;
  g.a = a.data();
  g.lda = lda;
  g.b = panels.data();
  g.c = expected.data();
  g.ldc = ldc;
  g.bias = bias ? biases.data() : nullptr;
  g.residual = residual ? added.data() : nullptr;
  g.ldr = n;
  g.accumulate = accumulate;
  g.clip = clip;
  g.lo = 0.0f;
  g.hi = kInf;
  plain.run(g);
  g.c = found.data();
  g.b = nullptr;
  packed.run({g, bytes, scratch.data()});
  if (same(found, expected)) return {};
  for (size_t i = 0; i < found.size(); ++i) {
    if (same(found[i], expected[i])) continue;
    return "row " + std::to_string(i / static_cast<size_t>(ldc)) + ", column " +
           std::to_string(i % static_cast<size_t>(ldc)) + ": " + std::to_string(found[i]) +
           ", not " + std::to_string(expected[i]);
  }
  return {};
}

TEST(MatmulPacked, HasTheBitsOfTheProductWithWeightsWrittenOut) {
  std::mt19937 rng(7);
  for (Tier tier : tiers()) {
    for (PackedFormat format : {PackedFormat::kQ4_0}) {
      for (int i = 0; i < 120; ++i) {
        const Case shape = {random_int(rng, 0, 9),
                            32 * random_int(rng, 0, i % 10 == 0 ? 20 : 5),
                            random_int(rng, 1, 150),
                            i % 2 == 0,
                            i % 3 == 0,
                            i % 5 == 0,
                            i % 7 == 0};
        const std::string found = problem(tier, format, shape, rng);
        ASSERT_EQ(found, "") << tier_name(tier) << ", " << shape.m << "x" << shape.k << "x"
                             << shape.n;
      }
    }
  }
}

TEST(MatmulPacked, TakesTheBitsThatItSays) {
  for (Tier tier : tiers()) {
    const MatmulPacked& q4 = matmul_packed(tier, PackedFormat::kQ4_0);
    EXPECT_EQ(matmul_packed_bytes(q4, 320, 64) * 8, 320 * 64 * 9 / 2);
    EXPECT_EQ(matmul_packed_scratch_floats(q4, kPackedFewRows, 320), 0);
  }
}

}  // namespace
}  // namespace rill::kernels
