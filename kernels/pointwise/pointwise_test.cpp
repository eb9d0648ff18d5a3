#include "kernels/pointwise/pointwise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/testing.h"

namespace rill::kernels {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr PointwiseOp kLastOp = PointwiseOp::kOfInteger;

bool same_bits(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }

bool is_binary(PointwiseOp op) { return op < PointwiseOp::kSelect; }

void run(Tier tier, const PointwiseArgs& args) {
  static std::vector<float> scratch(pointwise_scratch_floats(), kNan);
  pointwise_f32(tier)(args, scratch.data());
}

std::vector<float> random_floats(size_t n, uint32_t seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<float> dist(-3.0f, 3.0f);
  std::vector<float> x(n);
  for (float& v : x) v = dist(rng);
  return x;
}

/// One instruction over n dense positions, the operands in registers 0, 1 and 2.
PointwiseArgs dense(PointwiseOp op, int inputs, const float* const* in, float* out, int64_t n) {
  PointwiseArgs args;
  args.extent[3] = n;
  args.inputs = inputs;
  for (int i = 0; i < inputs; ++i) {
    args.in[i].ptr = in[i];
    args.in[i].stride[3] = 1;
  }
  args.out = out;
  args.out_stride[3] = 1;
  args.code_len = 1;
  args.code[0] = {op, 3, 0, 1, 2, PointwiseImm::kNone, 0.25f};
  return args;
}

float apply(Tier tier, PointwiseOp op, float a, float b = 0.0f, float c = 0.0f) {
  const float* in[] = {&a, &b, &c};
  float y = 0.0f;
  run(tier, dense(op, 3, in, &y, 1));
  return y;
}

TEST(Pointwise, ArithmeticIsThatOfIeee) {
  const std::vector<float> values = {0.0f, -0.0f, 1.0f, -1.5f, 3e38f, -3e38f, 1e-40f, kInf, -kInf};
  for (Tier tier : tiers()) {
    for (float a : values) {
      for (float b : values) {
        const auto same = [&](PointwiseOp op, float want) {
          const bool denormal = std::fpclassify(a) == FP_SUBNORMAL ||
                                std::fpclassify(b) == FP_SUBNORMAL ||
                                std::fpclassify(want) == FP_SUBNORMAL;
          if (always_flushes(tier) && denormal) return true;
          const float got = apply(tier, op, a, b);
          return (std::isnan(want) && std::isnan(got)) || same_bits(got, want);
        };
        EXPECT_TRUE(same(PointwiseOp::kAdd, a + b)) << tier_name(tier) << a << " " << b;
        EXPECT_TRUE(same(PointwiseOp::kSub, a - b)) << tier_name(tier) << a << " " << b;
        EXPECT_TRUE(same(PointwiseOp::kMul, a * b)) << tier_name(tier) << a << " " << b;
        EXPECT_TRUE(same(PointwiseOp::kDiv, a / b)) << tier_name(tier) << a << " " << b;
      }
    }
  }
}

TEST(Pointwise, MinNumberAndMaxNumberOfANumberAndANanAreTheNumber) {
  for (Tier tier : tiers()) {
    EXPECT_EQ(apply(tier, PointwiseOp::kMaxNumber, kNan, 0.5f), 0.5f);
    EXPECT_EQ(apply(tier, PointwiseOp::kMaxNumber, 0.5f, kNan), 0.5f);
    EXPECT_EQ(apply(tier, PointwiseOp::kMinNumber, kNan, 0.5f), 0.5f);
    EXPECT_EQ(apply(tier, PointwiseOp::kMinNumber, 0.5f, kNan), 0.5f);
    EXPECT_TRUE(std::isnan(apply(tier, PointwiseOp::kMinNumber, kNan, kNan)));
    EXPECT_EQ(apply(tier, PointwiseOp::kMaxNumber, 1.0f, 2.0f), 2.0f);
    EXPECT_EQ(apply(tier, PointwiseOp::kMinNumber, 1.0f, 2.0f), 1.0f);
  }
}

TEST(Pointwise, MinAndMaxOfANumberAndANanAreNan) {
  for (Tier tier : tiers()) {
    for (const PointwiseOp op : {PointwiseOp::kMin, PointwiseOp::kMax}) {
      EXPECT_TRUE(std::isnan(apply(tier, op, kNan, 0.5f)));
      EXPECT_TRUE(std::isnan(apply(tier, op, 0.5f, kNan)));
      EXPECT_TRUE(std::isnan(apply(tier, op, kNan, kNan)));
      EXPECT_TRUE(std::signbit(apply(tier, op, -0.0f, 0.0f)));
      EXPECT_FALSE(std::signbit(apply(tier, op, 0.0f, -0.0f)));
    }
    EXPECT_EQ(apply(tier, PointwiseOp::kMax, 1.0f, 2.0f), 2.0f);
    EXPECT_EQ(apply(tier, PointwiseOp::kMin, 1.0f, 2.0f), 1.0f);
  }
}

TEST(Pointwise, ComparisonsAreThoseOfIeeeAndGiveOneOrZero) {
  const float values[] = {-1.0f, -0.0f, 0.0f, 2.0f, kInf, kNan};
  for (Tier tier : tiers()) {
    for (float a : values) {
      for (float b : values) {
        EXPECT_EQ(apply(tier, PointwiseOp::kLt, a, b), a < b ? 1.0f : 0.0f);
        EXPECT_EQ(apply(tier, PointwiseOp::kLe, a, b), a <= b ? 1.0f : 0.0f);
        EXPECT_EQ(apply(tier, PointwiseOp::kGt, a, b), a > b ? 1.0f : 0.0f);
        EXPECT_EQ(apply(tier, PointwiseOp::kGe, a, b), a >= b ? 1.0f : 0.0f);
        EXPECT_EQ(apply(tier, PointwiseOp::kEq, a, b), a == b ? 1.0f : 0.0f);
        EXPECT_EQ(apply(tier, PointwiseOp::kNe, a, b), a != b ? 1.0f : 0.0f);
        EXPECT_EQ(apply(tier, PointwiseOp::kAnd, a, b), a != 0 && b != 0 ? 1.0f : 0.0f);
        EXPECT_EQ(apply(tier, PointwiseOp::kOr, a, b), a != 0 || b != 0 ? 1.0f : 0.0f);
        EXPECT_EQ(apply(tier, PointwiseOp::kNot, a), a == 0 ? 1.0f : 0.0f);
        const float chosen = apply(tier, PointwiseOp::kSelect, a, 3.0f, b);
        EXPECT_TRUE(same_bits(chosen, a != 0 ? 3.0f : b)) << a << " " << b << " " << chosen;
      }
    }
  }
}

TEST(Pointwise, TheResultAtAPositionDependsOnItsInputsOnly) {
  constexpr int64_t kMax = 67;
  const std::vector<float> x = random_floats(kMax, 1), y = random_floats(kMax, 2);
  const std::vector<float> z = random_floats(kMax, 3);
  const float* in[] = {x.data(), y.data(), z.data()};
  for (Tier tier : tiers()) {
    for (int op = 0; op <= static_cast<int>(kLastOp); ++op) {
      std::vector<float> whole(kMax);
      run(tier, dense(static_cast<PointwiseOp>(op), 3, in, whole.data(), kMax));
      for (int64_t from = 0; from < kMax; from += 5) {
        for (int64_t n : {1, 2, 3, 7, 8, 15, 17, 33}) {
          if (from + n > kMax) continue;
          const float* part_in[] = {x.data() + from, y.data() + from, z.data() + from};
          std::vector<float> part(static_cast<size_t>(n) + 1, 7.0f);
          run(tier, dense(static_cast<PointwiseOp>(op), 3, part_in, part.data(), n));
          const size_t bytes = static_cast<size_t>(n) * sizeof(float);
          ASSERT_EQ(std::memcmp(part.data(), whole.data() + from, bytes), 0)
              << tier_name(tier) << " op " << op << " from " << from << " n " << n;
          ASSERT_EQ(part.back(), 7.0f) << "wrote past the end";
        }
      }
    }
  }
}

/// Integers of every size, the halves between floats among them, as the compiler converts them.
TEST(Pointwise, IntegersBecomeTheNearestFloats) {
  std::vector<int32_t> whole = {0, 1, -1, INT32_MAX, INT32_MIN, INT32_MAX - 63, INT32_MAX - 64};
  for (const int32_t at : {1 << 24, 1 << 25, -(1 << 24), 1 << 30}) {
    for (int32_t by = -6; by <= 6; ++by) whole.push_back(at + by);
  }
  std::mt19937 rng(5);
  while (whole.size() < 5003) whole.push_back(static_cast<int32_t>(rng()) >> (rng() % 32));
  std::vector<float> bits(whole.size()), out(whole.size());
  std::memcpy(bits.data(), whole.data(), 4 * whole.size());
  const float* in[] = {bits.data(), bits.data(), bits.data()};
  for (Tier tier : tiers()) {
    run(tier, dense(PointwiseOp::kOfInteger, 3, in, out.data(), static_cast<int64_t>(out.size())));
    for (size_t i = 0; i < whole.size(); ++i) {
      ASSERT_EQ(out[i], static_cast<float>(whole[i])) << tier_name(tier) << ", " << whole[i];
    }
  }
}

/// A random program over random strides, with the arrays it works on.
struct RandomCase {
  PointwiseArgs args;
  std::vector<std::vector<float>> in;
  std::vector<float> out;
  int64_t out_offset = 0;
};

RandomCase random_case(uint32_t seed) {
  std::mt19937 rng(seed);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(rng);
  };
  RandomCase c;
  const int64_t choices[] = {1, 1, 2, 3, 5, 16, 33, 64};
  int64_t total = 1;
  for (int64_t& e : c.args.extent) {
    e = choices[pick(0, 7)];
    if (total * e > 6000) e = 1;
    total *= e;
  }
  if (pick(0, 4) == 0) c.args.extent[3] = pick(500, 1100);
  c.args.inputs = static_cast<int>(pick(1, 4));
  const auto strides = [&](int64_t* stride, bool broadcast) {
    int order[] = {0, 1, 2, 3};
    if (pick(0, 2) == 0) std::shuffle(order, order + 4, rng);
    int64_t step = pick(0, 5) == 0 ? 2 : 1;
    for (int k = 3; k >= 0; --k) {
      const int d = order[k];
      stride[d] = step;
      if (broadcast && pick(0, 3) == 0) {
        stride[d] = 0;
      } else {
        step *= c.args.extent[d];
      }
    }
    return step;
  };
  for (int i = 0; i < c.args.inputs; ++i) {
    const int64_t size = strides(c.args.in[i].stride, true);
    c.in.push_back(random_floats(static_cast<size_t>(size), seed * 8 + static_cast<uint32_t>(i)));
    c.args.in[i].ptr = c.in.back().data();
  }
  c.out.assign(static_cast<size_t>(strides(c.args.out_stride, false)), 0.0f);
  c.args.out = c.out.data();
  c.args.code_len = static_cast<int>(pick(1, 6));
  int known = c.args.inputs;
  for (int k = 0; k < c.args.code_len; ++k) {
    PointwiseInstr& instr = c.args.code[k];
    instr.op = static_cast<PointwiseOp>(pick(0, static_cast<int>(PointwiseOp::kCos)));
    instr.a = static_cast<uint8_t>(pick(0, known - 1));
    instr.b = static_cast<uint8_t>(pick(0, known - 1));
    instr.c = static_cast<uint8_t>(pick(0, known - 1));
    instr.dst = static_cast<uint8_t>(pick(0, known));
    known = std::max<int>(known, instr.dst + 1);
    instr.imm = 0.75f;
    if (is_binary(instr.op)) instr.imm_at = static_cast<PointwiseImm>(pick(0, 2));
  }
  return c;
}

/// Run the program at one position, one instruction after the other.
float position(Tier tier, const PointwiseArgs& args, const int64_t* at) {
  float reg[kPointwiseRegisters] = {};
  for (int i = 0; i < args.inputs; ++i) {
    const float* p = args.in[i].ptr;
    for (int d = 0; d < kPointwiseAxes; ++d) p += at[d] * args.in[i].stride[d];
    reg[i] = *p;
  }
  for (int k = 0; k < args.code_len; ++k) {
    const PointwiseInstr& instr = args.code[k];
    const float a = instr.imm_at == PointwiseImm::kA ? instr.imm : reg[instr.a];
    const float b = instr.imm_at == PointwiseImm::kB ? instr.imm : reg[instr.b];
    const float* in[] = {&a, &b, &reg[instr.c]};
    float y = 0.0f;
    PointwiseArgs one = dense(instr.op, 3, in, &y, 1);
    one.code[0].imm = instr.imm;
    run(tier, one);
    reg[instr.dst] = y;
  }
  return reg[args.code[args.code_len - 1].dst];
}

void expect_positions(Tier tier, const RandomCase& c, uint32_t seed) {
  const int64_t* e = c.args.extent;
  // Every position of the small cases, a sample of the others: the reference is slow.
  const int64_t total = e[0] * e[1] * e[2] * e[3], step = total > 400 ? total / 197 + 1 : 1;
  for (int64_t flat = 0; flat < total; flat += step) {
    const int64_t at[] = {flat / (e[1] * e[2] * e[3]), flat / (e[2] * e[3]) % e[1],
                          flat / e[3] % e[2], flat % e[3]};
    const float* got = c.args.out;
    for (int d = 0; d < kPointwiseAxes; ++d) got += at[d] * c.args.out_stride[d];
    const float want = position(tier, c.args, at);
    ASSERT_TRUE(same_bits(*got, want) || (std::isnan(*got) && std::isnan(want)))
        << tier_name(tier) << " seed " << seed << " position " << flat << ": " << *got << " for "
        << want;
  }
}

TEST(Pointwise, AnyProgramOverAnyStridesEqualsOnePositionAtATime) {
  for (Tier tier : tiers()) {
    for (uint32_t seed = 0; seed < 200; ++seed) {
      RandomCase c = random_case(seed);
      run(tier, c.args);
      expect_positions(tier, c, seed);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Pointwise, CollapsedAxesGiveTheSameBits) {
  for (Tier tier : tiers()) {
    for (uint32_t seed = 0; seed < 300; ++seed) {
      RandomCase c = random_case(seed);
      run(tier, c.args);
      const std::vector<float> want = c.out;
      std::fill(c.out.begin(), c.out.end(), 0.0f);
      pointwise_collapse(&c.args);
      run(tier, c.args);
      for (size_t i = 0; i < want.size(); ++i) {
        ASSERT_TRUE(same_bits(c.out[i], want[i]) || (std::isnan(c.out[i]) && std::isnan(want[i])))
            << tier_name(tier) << " seed " << seed << " at " << i;
      }
    }
  }
}

TEST(Pointwise, TheOutputMayBeAnInput) {
  for (Tier tier : tiers()) {
    for (uint32_t seed = 0; seed < 200; ++seed) {
      RandomCase c = random_case(seed);
      c.in[0] = random_floats(c.out.size(), seed);
      c.args.in[0].ptr = c.in[0].data();
      std::copy(c.args.out_stride, c.args.out_stride + kPointwiseAxes, c.args.in[0].stride);
      run(tier, c.args);
      const std::vector<float> want = c.out;
      c.out = c.in[0];
      c.args.in[0].ptr = c.out.data();
      run(tier, c.args);
      for (size_t i = 0; i < want.size(); ++i) {
        if (c.args.out_stride[3] != 1 && want[i] == 0.0f) continue;  // between the positions
        ASSERT_TRUE(same_bits(c.out[i], want[i]) || (std::isnan(c.out[i]) && std::isnan(want[i])))
            << tier_name(tier) << " seed " << seed << " at " << i;
      }
    }
  }
}

TEST(Pointwise, CollapseMergesContiguousAxesAndPutsTheLongOneInnermost) {
  float x = 0.0f, y = 0.0f;
  const float* in[] = {&x};
  PointwiseArgs args = dense(PointwiseOp::kNeg, 1, in, &y, 8);
  for (int d = 2, stride = 8; d >= 0; --d, stride *= 4) {
    args.extent[d] = 4;
    args.in[0].stride[d] = args.out_stride[d] = stride;
  }
  pointwise_collapse(&args);
  EXPECT_EQ(args.extent[3], 512);
  EXPECT_EQ(args.extent[2], 1);
  EXPECT_EQ(args.in[0].stride[3], 1);
  EXPECT_EQ(args.out_stride[3], 1);
}

TEST(Pointwise, AnEmptyAxisWritesNothing) {
  for (Tier tier : tiers()) {
    float x = 1.0f, y = 5.0f;
    const float* in[] = {&x};
    PointwiseArgs args = dense(PointwiseOp::kNeg, 1, in, &y, 0);
    pointwise_collapse(&args);
    run(tier, args);
    EXPECT_EQ(y, 5.0f);
  }
}

}  // namespace
}  // namespace rill::kernels
