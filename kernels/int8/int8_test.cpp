#include "kernels/int8/int8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "kernels/matmul/test_support.h"

namespace rill::kernels {
namespace {

/// Return every int8 matmul that this CPU can run.
std::vector<const MatmulInt8*> products() {
  std::vector<const MatmulInt8*> found;
  for (Tier tier : tiers()) {
    for (const bool dot : {true, false}) {
      const MatmulInt8* one = &matmul_int8(tier, dot);
      if (found.empty() || found.back() != one) found.push_back(one);
    }
  }
  return found;
}

struct Case {
  int64_t m, segments, segment_len, n;
  bool a_signed, bias;
  int32_t a_zero, b_zero;
  int64_t run = 0;  ///< rows that are one run
};

/// Return random bytes: any values, or with `ends`, only the least and the greatest.
std::vector<uint8_t> random_bytes(std::mt19937& rng, int64_t count, bool ends, bool is_signed) {
  std::vector<uint8_t> out(static_cast<size_t>(count));
  for (uint8_t& byte : out) {
    byte = static_cast<uint8_t>(rng());
    if (ends) byte = is_signed ? (byte % 2 == 0 ? 0x80 : 0x7F) : (byte % 2 == 0 ? 0 : 0xFF);
  }
  return out;
}

std::string problem(const MatmulInt8& kernel, const Case& t, bool ends, std::mt19937& rng) {
  const int64_t k = t.segments * t.segment_len, stride = t.segment_len + 3;
  const int64_t lda = t.segments * stride + 1, ldc = t.n + 2;
  // Exactly as long as needed: the address sanitizer finds reads beyond the end.
  const int64_t row_bytes = (t.segments - 1) * stride + t.segment_len;
  const int64_t run = t.run > 0 ? t.run : t.m;
  // Runs of rows may overlap, as the windows of images do.
  const int64_t run_stride = run / 2 * lda + 1;
  const int64_t last = t.m == 0 ? 0 : (t.m - 1) / run * run_stride + (run - 1) * lda;
  const int64_t a_bytes = t.m == 0 ? 0 : last + row_bytes;
  const std::vector<uint8_t> a = random_bytes(rng, a_bytes, ends, t.a_signed);
  const std::vector<uint8_t> raw = random_bytes(rng, k * t.n, ends, true);
  std::vector<int8_t> b(raw.begin(), raw.end());
  std::vector<int32_t> bias(static_cast<size_t>(t.n));
  for (int32_t& value : bias) value = static_cast<int32_t>(rng());
  AlignedFloats panels(matmul_int8_bytes(kernel, k, t.n) / 4 + 1);
  auto* packed = reinterpret_cast<int8_t*>(panels.data());
  matmul_int8_pack(kernel, k, t.n, b.data(), t.n, 1, packed);
  std::vector<int32_t> start(static_cast<size_t>(t.n));
  matmul_int8_start(kernel, k, t.n, packed, t.a_signed, t.a_zero, t.b_zero,
                    t.bias ? bias.data() : nullptr, start.data());
  AlignedFloats scratch(matmul_int8_scratch_bytes(kernel, t.m, k) / 4 + 1);
  std::vector<int32_t> c(static_cast<size_t>(t.m * ldc), 777);
  MatmulInt8Args g;
  g.m = t.m;
  g.n = t.n;
  g.segments = t.segments;
  g.segment_len = t.segment_len;
  g.segment_stride = stride;
  g.a = a.data();
  g.lda = lda;
  g.run = t.run;
  g.run_stride = run_stride;
  g.a_signed = t.a_signed;
  g.b = packed;
  g.start = start.data();
  g.b_zero = t.b_zero;
  g.c = c.data();
  g.ldc = ldc;
  g.scratch = reinterpret_cast<uint8_t*>(scratch.data());
  kernel.run(g);
  for (int64_t i = 0; i < t.m; ++i) {
    for (int64_t j = 0; j < ldc; ++j) {
      int64_t sum = t.bias && j < t.n ? bias[static_cast<size_t>(j)] : 0;
      for (int64_t p = 0; j < t.n && p < k; ++p) {
        const uint8_t byte = a[static_cast<size_t>(i / run * run_stride + i % run * lda +
                                                   p / t.segment_len * stride +
                                                   p % t.segment_len)];
        const int64_t x = t.a_signed ? static_cast<int8_t>(byte) : byte;
        sum += (x - t.a_zero) * (b[static_cast<size_t>(p * t.n + j)] - t.b_zero);
      }
      const auto expected = j < t.n ? static_cast<int32_t>(sum) : 777;
      const int32_t found = c[static_cast<size_t>(i * ldc + j)];
      if (found == expected) continue;
      return "row " + std::to_string(i) + ", column " + std::to_string(j) + ": " +
             std::to_string(found) + ", not " + std::to_string(expected);
    }
  }
  return {};
}

TEST(MatmulInt8, GivesTheSumsOnEveryTier) {
  std::mt19937 rng(11);
  for (const MatmulInt8* kernel : products()) {
    for (int i = 0; i < 200; ++i) {
      const bool is_signed = i % 2 == 0;
      // The longest matrices have more bytes than the kernel quantises at once.
      const int64_t run = i % 2 == 0 ? random_int(rng, 1, 9) : 0;
      const int64_t rows = random_int(rng, 0, i % 40 == 0 ? 300 : i % 20 == 0 ? 70 : 10);
      const Case shape = {run > 0 ? rows / run * run : rows,
                          random_int(rng, 1, i % 4 == 0 ? 3 : 1),
                          random_int(rng, 0, i % 10 == 0 ? 700 : 40),
                          random_int(rng, 1, 150),
                          is_signed,
                          i % 3 == 0,
                          static_cast<int32_t>(is_signed ? random_int(rng, -128, 127)
                                                         : random_int(rng, 0, 255)),
                          static_cast<int32_t>(i % 5 < 3 ? 0 : random_int(rng, -128, 127)),
                          run};
      const std::string found = problem(*kernel, shape, i % 7 == 0, rng);
      ASSERT_EQ(found, "") << kernel->name << ", " << shape.m << "x" << shape.segments << "*"
                           << shape.segment_len << "x" << shape.n << ", runs of " << run;
    }
  }
}

/// Products of the largest bytes do not saturate on the way; only the sum wraps.
TEST(MatmulInt8, AddsTheLargestBytesWithoutLoss) {
  std::mt19937 rng(12);
  for (const MatmulInt8* kernel : products()) {
    for (const bool is_signed : {true, false}) {
      for (const int64_t k : {1, 2, 3, 4, 5, 64, 1000, 70000}) {
        const int32_t zero = is_signed ? 127 : 255;
        for (const Case& shape : {Case{1, 1, k, 33, is_signed, false, 0, 0},
                                  Case{5, 1, k, 3, is_signed, true, zero, 127}}) {
          const std::string found = problem(*kernel, shape, true, rng);
          ASSERT_EQ(found, "") << kernel->name << ", " << k;
        }
      }
    }
  }
}

std::vector<QuantiseFn> roundings() {
  std::vector<QuantiseFn> found;
  for (Tier tier : tiers()) found.push_back(quantise(tier));
  return found;
}

TEST(Quantise, RoundsHalfToEvenAndLimits) {
  const std::vector<int32_t> in = {0, 1, 3, 5, -1, -3, -5, 7, 1000, -1000, INT32_MAX, INT32_MIN, 2};
  const std::vector<uint8_t> halves = {10, 10, 12, 12, 10, 8, 8, 14, 255, 0, 255, 0, 11};
  for (const QuantiseFn run : roundings()) {
    for (const bool narrow : {true, false}) {
      std::vector<uint8_t> found(in.size() + 1, 77);
      QuantiseArgs g;
      g.rounding = {1, 2, 0, 10, 0, 255, narrow};
      g.n = static_cast<int64_t>(in.size());
      g.integers = in.data();
      g.y = found.data();
      run(g);
      EXPECT_EQ(std::vector<uint8_t>(found.begin(), found.end() - 1), halves);
      EXPECT_EQ(found.back(), 77);
    }
  }
}

TEST(Quantise, RoundsAsFloatsOrDoublesOneOperationAtATime) {
  std::mt19937 rng(13);
  for (const QuantiseFn run : roundings()) {
    for (int i = 0; i < 300; ++i) {
      const int64_t n = random_int(rng, 0, 40);
      std::vector<int32_t> in(static_cast<size_t>(n));
      const auto bits = static_cast<int>(random_int(rng, 0, 24));
      for (int32_t& value : in) value = static_cast<int32_t>(rng()) >> bits;
      const double mul = std::ldexp(static_cast<double>(rng()), -40);
      const auto div = std::ldexp(static_cast<float>(rng()), -34);
      const auto zero = static_cast<float>(random_int(rng, -128, 127));
      std::vector<int32_t> found(static_cast<size_t>(n)), expected(static_cast<size_t>(n));
      const bool narrow = i % 2 == 0;
      for (size_t j = 0; j < in.size(); ++j) {
        double v = 0;
        if (narrow) {
          v = std::nearbyint(static_cast<float>(in[j] * mul) / div + zero);
        } else {
          v = std::nearbyint(in[j] * mul / static_cast<double>(div) + static_cast<double>(zero));
        }
        expected[j] = static_cast<int32_t>(std::fmin(std::fmax(v, -2147483648.0), 2147483647.0));
      }
      QuantiseArgs g;
      g.rounding = {mul, static_cast<double>(div), static_cast<double>(zero), 0,
                    -2147483648.0, 2147483647.0, narrow};
      g.n = n;
      g.integers = in.data();
      g.y = found.data();
      g.y_bytes = 4;
      run(g);
      ASSERT_EQ(found, expected);
    }
  }
}

TEST(Quantise, TakesFloatsOfAllKinds) {
  const std::vector<float> in = {kNan, kInf, -kInf, 0.25f, 0.75f, -0.25f, 1e30f, -1e30f, 1.25f};
  const std::vector<int8_t> expected = {0, 127, -128, 4, 6, 4, 127, -128, 6};
  for (const QuantiseFn run : roundings()) {
    std::vector<int8_t> found(in.size());
    QuantiseArgs g;
    g.rounding = {1, 0.5, 4, 0, -128, 127, true};
    g.n = static_cast<int64_t>(in.size());
    g.floats = in.data();
    g.y = found.data();
    run(g);
    EXPECT_EQ(found, expected);
  }
}

/// 16-bit integers, in whole vectors and in the remainder, in f32 and, because of 1e-7, in f64.
TEST(Quantise, MakesIntegersOf16Bits) {
  const std::vector<float> values = {kNan,  kInf,     -kInf,     0.5f, 1.5f,
                                     -0.5f, 65534.5f, -32768.5f, 9e9f};
  const std::vector<int32_t> wanted = {0, 65535, 0, 3, 5, 3, 65535, 0, 65535};
  std::vector<float> in;
  std::vector<int32_t> expected;
  for (size_t i = 0; i < 77; ++i) {
    in.push_back(values[i % 9]);
    expected.push_back(wanted[i % 9]);
  }
  for (const QuantiseFn run : roundings()) {
    for (const double before : {0.0, 1e-7}) {
      for (int64_t n = 0; n <= 77; ++n) {
        std::vector<uint16_t> found(78, 777);
        QuantiseArgs g;
        g.rounding = {1, 1, before, 3, 0, 65535, before == 0.0};
        g.n = n;
        g.floats = in.data();
        g.y = found.data();
        g.y_bytes = 2;
        run(g);
        for (int64_t i = 0; i < n; ++i) {
          const size_t at = static_cast<size_t>(i);
          // With an offset added, a tie may no longer be one.
          if (before != 0.0 && std::abs(in[at]) == 0.5f) continue;
          ASSERT_EQ(found[at], expected[at]) << in[at] << ", " << before;
        }
        ASSERT_EQ(found[static_cast<size_t>(n)], 777);
      }
    }
  }
}

/// Each operation rounds to f32, even if f32 cannot hold its constant.
TEST(Quantise, MakesBytesOfFloatsOneOperationAtATime) {
  std::mt19937 rng(14);
  for (int i = 0; i < 400; ++i) {
    const int64_t n = random_int(rng, 0, 90);
    std::vector<float> in(static_cast<size_t>(n));
    for (float& value : in) value = std::ldexp(static_cast<float>(rng()) - 0x1p31f, -18);
    for (float& value : in) {
      if (random_int(rng, 0, 9) == 0) value = std::nearbyint(value) + 0.5f;
      if (random_int(rng, 0, 30) == 0) value = random_int(rng, 0, 1) == 1 ? kNan : -kInf;
    }
    const bool inexact = i % 5 == 0;  // constants that f32 cannot hold
    const double mul = i % 3 == 0 ? 1 : inexact ? 1.1 : static_cast<double>(0.037f);
    const double div = i % 4 == 0 ? 1 : inexact ? 0.3 : static_cast<double>(0.7f);
    const auto before = static_cast<double>(i % 2 == 0 ? 0 : random_int(rng, -128, 127));
    const auto after = static_cast<double>(random_int(rng, -128, 255));
    const bool is_signed = random_int(rng, 0, 1) == 1;
    const double lo = is_signed ? -128 : 0, hi = is_signed ? 127 : 255;
    std::vector<uint8_t> expected(static_cast<size_t>(n));
    for (size_t j = 0; j < in.size(); ++j) {
      const auto scaled = static_cast<float>(static_cast<double>(in[j]) * mul);
      const auto divided = static_cast<float>(static_cast<double>(scaled) / div);
      const auto moved = static_cast<float>(static_cast<double>(divided) + before);
      const double v = std::nearbyint(static_cast<double>(moved)) + after;
      const double kept = std::isnan(v) ? 0 : std::fmin(std::fmax(v, lo), hi);
      expected[j] = static_cast<uint8_t>(static_cast<int32_t>(kept));
    }
    for (const QuantiseFn run : roundings()) {
      std::vector<uint8_t> found(in.size() + 1, 77);
      QuantiseArgs g;
      g.rounding = {mul, div, before, after, lo, hi, true};
      g.n = n;
      g.floats = in.data();
      g.y = found.data();
      run(g);
      EXPECT_EQ(found.back(), 77);
      found.pop_back();
      ASSERT_EQ(found, expected) << "case " << i;
    }
  }
}

}  // namespace
}  // namespace rill::kernels
