// Matmuls of several streams as one matmul give the same bits as one after the other, for any rows,
// segments and epilogue.

#include "ops/nn/gathered_step.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "kernels/cpu.h"

namespace rill::ops::test {
namespace {

using kernels::MatmulF32;
using kernels::MatmulF32Args;

/// Where the residual of a matmul lies.
enum class Residual { kNone, kOther, kResult };

/// A matmul of several streams, each with separate memory.
class Streams {
 public:
  Streams(uint32_t seed, size_t count, int64_t rows, int64_t k, int64_t n)
      : random_(seed), k_(k), n_(n) {
    args_.m = rows;
    args_.n = n;
    args_.segments = k % 3 == 0 ? 3 : 1;
    args_.segment_len = k / args_.segments;
    args_.segment_stride = args_.segment_len + 2;
    args_.lda = k + 5;
    args_.ldc = n + 3;
    args_.ldr = n + 1;
    args_.slope = draw(1) > 0 ? 0.25f : 1.0f;
    args_.clip = draw(1) > 0;
    args_.lo = -0.5f;
    args_.hi = 0.5f;
    for (float& v : bias_ = std::vector<float>(static_cast<size_t>(n))) v = draw(1);
    b_ = std::vector<float>(static_cast<size_t>(k * n));
    for (float& v : b_) v = draw(1);
    for (size_t i = 0; i < count; ++i) {
      a_.push_back(floats(rows * args_.lda + args_.segments * 2));
      c_.push_back(floats(rows * args_.ldc));
      r_.push_back(floats(rows * args_.ldr));
    }
  }

  /// Run all at once, or one after the other; return the results, and the values around them.
  std::vector<std::vector<float>> run(const MatmulF32& kernel, Residual residual, bool together) {
    std::vector<std::vector<float>> c = c_;
    MatmulF32Args args = args_;
    if (residual == Residual::kResult) args.ldr = args.ldc;
    std::vector<float> packed(
        static_cast<size_t>(kernels::matmul_f32_packed_floats(kernel, k_, n_)) + 16);
    float* b = packed.data() + (64 - reinterpret_cast<uintptr_t>(packed.data()) % 64) % 64 / 4;
    kernels::matmul_f32_pack(kernel, k_, n_, b_.data(), n_, 1, b);
    args.b = b;
    args.bias = bias_.data();
    std::vector<StreamRows> rows;
    for (size_t i = 0; i < c.size(); ++i) {
      rows.push_back({a_[i].data(), nullptr, c[i].data()});
      if (residual == Residual::kOther) rows.back().residual = r_[i].data();
      if (residual == Residual::kResult) rows.back().residual = c[i].data();
    }
    if (together) {
      run_gathered(kernel, args, rows);
      return c;
    }
    for (const StreamRows& each : rows) {
      MatmulF32Args alone = args;
      alone.a = each.a;
      alone.c = each.c;
      alone.residual = each.residual;
      kernel.run(alone);
    }
    return c;
  }

 private:
  float draw(float most) { return std::uniform_real_distribution<float>(-most, most)(random_); }
  std::vector<float> floats(int64_t count) {
    std::vector<float> out(static_cast<size_t>(count));
    for (float& v : out) v = draw(1);
    return out;
  }

  std::mt19937 random_;
  int64_t k_, n_;
  MatmulF32Args args_;
  std::vector<float> bias_, b_;
  std::vector<std::vector<float>> a_, c_, r_;
};

TEST(Gathered, MatmulsOfStreamsGiveTheBitsOfOneAfterTheOther) {
  constexpr int64_t kShapes[][3] = {{1, 40, 1},    {1, 48, 160}, {2, 33, 7},  {1, 384, 1152},
                                    {3, 126, 128}, {7, 9, 40},   {8, 24, 33}, {1, 3000, 50},
                                    {1, 9000, 4},  {5, 1, 65}};
  uint32_t seed = 0;
  for (const auto& [rows, k, n] : kShapes) {
    for (const size_t count : {size_t{2}, size_t{5}, size_t{16}}) {
      Streams streams(++seed, count, rows, k, n);
      for (const kernels::Tier tier : kernels::kAllTiers) {
        if (!kernels::supports(kernels::detected_tier(), tier)) continue;
        const MatmulF32& kernel = kernels::matmul_f32(tier);
        for (const Residual residual : {Residual::kNone, Residual::kOther, Residual::kResult}) {
          const auto got = streams.run(kernel, residual, /*together=*/true);
          const auto want = streams.run(kernel, residual, /*together=*/false);
          for (size_t i = 0; i < count; ++i) {
            EXPECT_EQ(std::memcmp(got[i].data(), want[i].data(), 4 * want[i].size()), 0)
                << kernel.name << ", stream " << i << " of " << count << ": " << rows << " x " << k
                << " x " << n;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace rill::ops::test
