#include "kernels/fft/fft.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/testing.h"

namespace rill::kernels {
namespace {

using Complex = std::complex<double>;

constexpr int64_t kSizes[] = {
    1,  2,  3,  4,  5,  6,   7,   8,   9,   10,  11,  12,  13,  14,   15,   16,   17,  18, 19, 20,
    21, 22, 23, 24, 25, 26,  27,  28,  29,  30,  31,  32,  33,  34,   35,   36,   37,  38, 39, 40,
    41, 42, 43, 44, 45, 46,  47,  48,  49,  50,  51,  52,  53,  54,   55,   56,   57,  58, 59, 60,
    61, 62, 63, 64, 97, 100, 127, 160, 240, 257, 400, 480, 512, 1000, 1009, 1024, 1200};

struct Plan {
  FftPlan plan;
  std::vector<float> tables;
  std::vector<float> scratch;
  Plan(int64_t n, FftKind kind, Tier tier) : tables(fft_tables_floats(n, kind), NAN) {
    fft_init(&plan, n, kind, tables.data(), tier);
    scratch.assign(fft_scratch_floats(plan), NAN);
  }
};

std::vector<float> random_floats(int64_t n, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> dist;
  std::vector<float> x(static_cast<size_t>(n));
  for (float& v : x) v = dist(rng);
  return x;
}

std::vector<Complex> naive_dft(const std::vector<Complex>& x, bool inverse) {
  const size_t n = x.size();
  std::vector<Complex> root(n), y(n);
  for (size_t i = 0; i < n; ++i) {
    root[i] = std::polar(1.0, (inverse ? 2 : -2) * M_PI * static_cast<double>(i) / double(n));
  }
  for (size_t k = 0; k < n; ++k) {
    for (size_t i = 0; i < n; ++i) y[k] += x[i] * root[i * k % n];
  }
  return y;
}

/// The bound on |error|_2 / |X|_2, u = 2^-24. A pass rounds each value in a twiddle (sqrt 5 u, and
/// u for the table) and in up to 5 chained operations of radix 5: 10 u with the spread of the sums.
/// Bluestein's algorithm makes two transforms and three products; its convolution over all of m
/// points has up to twice the norm of the n results kept.
double error_bound(const FftPlan& plan) {
  const double u = std::ldexp(1.0, -24);
  const double passes = plan.passes.count + 1;  // and one for the split of a real transform
  return plan.bluestein ? 2.0 * u * (20.0 * passes + 12.0) : u * (10.0 * passes + 4.0);
}

double relative_error(const std::vector<float>& re, const std::vector<float>& im,
                      const std::vector<Complex>& want) {
  double error = 0.0, norm = 0.0;
  for (size_t i = 0; i < re.size(); ++i) {
    error += std::norm(Complex(static_cast<double>(re[i]), static_cast<double>(im[i])) - want[i]);
  }
  for (const Complex& w : want) norm += std::norm(w);
  return std::sqrt(error / norm);
}

TEST(Fft, EqualsTheSumThatDefinesItInBothDirections) {
  for (int64_t n : kSizes) {
    const std::vector<float> re = random_floats(n, 1), im = random_floats(n, 2);
    std::vector<Complex> x(re.size());
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = {static_cast<double>(re[i]), static_cast<double>(im[i])};
    }
    for (bool inverse : {false, true}) {
      const std::vector<Complex> want = naive_dft(x, inverse);
      for (Tier tier : tiers()) {
        Plan p(n, FftKind::kComplex, tier);
        std::vector<float> yr(x.size()), yi(x.size());
        fft_execute(p.plan, re.data(), im.data(), yr.data(), yi.data(), inverse, p.scratch.data());
        EXPECT_LE(relative_error(yr, yi, want), error_bound(p.plan))
            << tier_name(tier) << " n " << n << (inverse ? " inverse" : "");
      }
    }
  }
}

TEST(Fft, InPlaceGivesTheSameBits) {
  for (int64_t n : kSizes) {
    for (Tier tier : tiers()) {
      Plan p(n, FftKind::kComplex, tier);
      std::vector<float> re = random_floats(n, 3), im = random_floats(n, 4);
      std::vector<float> yr(re.size()), yi(re.size());
      fft_execute(p.plan, re.data(), im.data(), yr.data(), yi.data(), false, p.scratch.data());
      fft_execute(p.plan, re.data(), im.data(), re.data(), im.data(), false, p.scratch.data());
      ASSERT_EQ(re, yr) << tier_name(tier) << " n " << n;
      ASSERT_EQ(im, yi) << tier_name(tier) << " n " << n;
    }
  }
}

TEST(Fft, ThereAndBackIsNTimesTheInput) {
  for (int64_t n : {8, 60, 97, 400, 512}) {
    for (Tier tier : tiers()) {
      Plan p(n, FftKind::kComplex, tier);
      const std::vector<float> re = random_floats(n, 5), im = random_floats(n, 6);
      std::vector<float> yr = re, yi = im;
      for (bool inverse : {false, true}) {
        fft_execute(p.plan, yr.data(), yi.data(), yr.data(), yi.data(), inverse, p.scratch.data());
      }
      std::vector<Complex> want(re.size());
      for (size_t i = 0; i < want.size(); ++i) {
        want[i] = static_cast<double>(n) * Complex(double(re[i]), double(im[i]));
      }
      EXPECT_LE(relative_error(yr, yi, want), 2 * error_bound(p.plan)) << tier_name(tier) << n;
    }
  }
}

TEST(Fft, TheEnergyIsKept) {
  for (int64_t n : {16, 100, 113, 512}) {
    for (Tier tier : tiers()) {
      Plan p(n, FftKind::kComplex, tier);
      const std::vector<float> re = random_floats(n, 7), im = random_floats(n, 8);
      std::vector<float> yr(re.size()), yi(re.size());
      fft_execute(p.plan, re.data(), im.data(), yr.data(), yi.data(), false, p.scratch.data());
      double before = 0.0, after = 0.0;
      for (size_t i = 0; i < re.size(); ++i) {
        before += std::norm(Complex(double(re[i]), double(im[i])));
        after += std::norm(Complex(double(yr[i]), double(yi[i])));
      }
      // Parseval: the sum of squares grows n times; its relative error is twice that of the norm.
      EXPECT_NEAR(after / (before * static_cast<double>(n)), 1.0, 2 * error_bound(p.plan));
    }
  }
}

TEST(Rfft, EqualsTheSumThatDefinesItForAnyNumberOfBins) {
  for (int64_t n : kSizes) {
    const std::vector<float> x = random_floats(n, 9), window = random_floats(n, 10);
    for (bool windowed : {false, true}) {
      std::vector<Complex> z(x.size());
      for (size_t i = 0; i < z.size(); ++i) {
        z[i] = windowed ? static_cast<double>(x[i] * window[i]) : static_cast<double>(x[i]);
      }
      const std::vector<Complex> want = naive_dft(z, false);
      for (Tier tier : tiers()) {
        Plan p(n, FftKind::kReal, tier);
        for (int64_t bins : {int64_t{1}, n / 2 + 1, n}) {
          std::vector<float> yr(static_cast<size_t>(bins) + 1, 7.0f), yi = yr;
          rfft_execute(p.plan, x.data(), windowed ? window.data() : nullptr, yr.data(), yi.data(),
                       bins, p.scratch.data());
          ASSERT_EQ(yr.back(), 7.0f) << "wrote past the bins";
          ASSERT_EQ(yi.back(), 7.0f) << "wrote past the bins";
          yr.pop_back();
          yi.pop_back();
          EXPECT_LE(relative_error(yr, yi, want), error_bound(p.plan))
              << tier_name(tier) << " n " << n << " bins " << bins;
        }
      }
    }
  }
}

TEST(Rfft, AFramesBitsDoNotDependOnTheScratchOrTheBins) {
  for (int64_t n : {20, 97, 400, 512}) {
    for (Tier tier : tiers()) {
      Plan p(n, FftKind::kReal, tier);
      const std::vector<float> x = random_floats(n, 11), other = random_floats(n, 12);
      const int64_t all = n / 2 + 1;
      std::vector<float> yr(static_cast<size_t>(all)), yi = yr, zr = yr, zi = yr;
      rfft_execute(p.plan, x.data(), nullptr, yr.data(), yi.data(), all, p.scratch.data());
      rfft_execute(p.plan, other.data(), nullptr, zr.data(), zi.data(), all, p.scratch.data());
      for (int64_t bins = 1; bins <= all; bins += 3) {
        rfft_execute(p.plan, x.data(), nullptr, zr.data(), zi.data(), bins, p.scratch.data());
        const size_t bytes = static_cast<size_t>(bins) * sizeof(float);
        ASSERT_EQ(std::memcmp(zr.data(), yr.data(), bytes), 0) << tier_name(tier) << n << bins;
        ASSERT_EQ(std::memcmp(zi.data(), yi.data(), bytes), 0) << tier_name(tier) << n << bins;
      }
    }
  }
}

TEST(Fft, TiersWithFusedMultiplyAddGiveTheSameBits) {
  for (int64_t n : kSizes) {
    const std::vector<float> re = random_floats(n, 13), im = random_floats(n, 14);
    std::vector<float> want_re(re.size()), want_im(re.size()), yr(re.size()), yi(re.size());
    Plan scalar(n, FftKind::kComplex, Tier::kScalar);
    fft_execute(scalar.plan, re.data(), im.data(), want_re.data(), want_im.data(), false,
                scalar.scratch.data());
    for (Tier tier : tiers()) {
      if (tier == Tier::kSse42) continue;
      Plan p(n, FftKind::kComplex, tier);
      fft_execute(p.plan, re.data(), im.data(), yr.data(), yi.data(), false, p.scratch.data());
      ASSERT_EQ(yr, want_re) << tier_name(tier) << " n " << n;
      ASSERT_EQ(yi, want_im) << tier_name(tier) << " n " << n;
    }
  }
}

}  // namespace
}  // namespace rill::kernels
