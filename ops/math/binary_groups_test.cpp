#include "ops/math/binary_groups.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "core/tensor/visit_number.h"

namespace rill::ops {
namespace {

template <class T>
T any(std::mt19937_64* random) {
  using Limits = std::numeric_limits<T>;
  const uint64_t bits = (*random)();
  switch (bits % 5) {
    case 0:
      return Limits::lowest();
    case 1:
      return Limits::max();
    case 2:
      return static_cast<T>(bits / 5 % 3);
    case 3:
      if constexpr (Limits::has_quiet_NaN) return Limits::quiet_NaN();
      return static_cast<T>(0);
    default:
      if constexpr (Limits::has_quiet_NaN) return -Limits::infinity();
      return static_cast<T>(bits >> 11U);
  }
}

template <class T>
bool holds(BinaryKind kind, T x, T y) {
  switch (kind) {
    case BinaryKind::kEq:
      return x == y;
    case BinaryKind::kNe:
      return !(x == y);
    case BinaryKind::kLt:
      return x < y;
    case BinaryKind::kLe:
      return x <= y;
    case BinaryKind::kGt:
      return x > y;
    default:
      return x >= y;
  }
}

template <class T>
T computed(BinaryKind kind, T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    if (kind == BinaryKind::kAdd) return x + y;
    if (kind == BinaryKind::kSub) return x - y;
    return kind == BinaryKind::kMul ? x * y : x / y;
  } else {
    const auto p = static_cast<uint64_t>(x);
    const auto q = static_cast<uint64_t>(y);
    if (kind == BinaryKind::kAdd) return static_cast<T>(p + q);
    if (kind == BinaryKind::kSub) return static_cast<T>(p - q);
    return static_cast<T>(p * q);
  }
}

/// Elements with a margin on both sides.
template <class T>
struct Strip {
  std::vector<T> memory;
  View view;

  Strip(DType type, int64_t count, int64_t step, T rest) {
    const int64_t span = (count - 1) * std::abs(step) + 1;
    memory.assign(static_cast<size_t>(span + 2), rest);
    view.dtype = type;
    view.rank = 1;
    view.shape[0] = count;
    view.stride[0] = step;
    view.data = memory.data() + (step < 0 ? span : 1);
  }
  T& at(int64_t i) { return static_cast<T*>(view.data)[i * view.stride[0]]; }
};

struct Shape {
  int64_t count;
  int64_t steps[3];  ///< strides of the output and both operands
};

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const int64_t count : {16, 17, 31, 127, 128, 129, 144, 1000, 4097}) {
    for (const int64_t to : {1, 2, -1}) {
      for (const int64_t a : {1, 0, 3, -2}) {
        for (const int64_t b : {1, 0, -1}) all.push_back({count, {to, a, b}});
      }
    }
  }
  return all;
}

template <class T, class R, class Expected>
void expect_all(BinaryKind kind, DType type, DType result, const Expected& expected) {
  std::mt19937_64 random(static_cast<uint64_t>(kind) * 64 + static_cast<uint64_t>(type));
  for (const auto& [count, steps] : shapes()) {
    Strip<T> a(type, count, steps[1], T(7));
    Strip<T> b(type, count, steps[2], T(7));
    Strip<R> out(result, count, steps[0], R(91));
    for (T& value : a.memory) value = any<T>(&random);
    for (T& value : b.memory) value = any<T>(&random);
    Strip<R> wanted = out;
    wanted.view.data = wanted.memory.data() + (static_cast<R*>(out.view.data) - out.memory.data());
    for (int64_t i = 0; i < count; ++i) wanted.at(i) = expected(a.at(i), b.at(i));
    ASSERT_TRUE(combine_groups(kind, a.view, b.view, out.view));
    for (size_t i = 0; i < out.memory.size(); ++i) {
      const R found = out.memory[i];
      const R want = wanted.memory[i];
      ASSERT_TRUE(found == want || (found != found && want != want))
          << dtype_name(type) << ", kind " << static_cast<int>(kind) << ", " << count
          << " elements, steps " << steps[0] << " " << steps[1] << " " << steps[2] << ", at " << i;
    }
  }
}

constexpr DType kTypes[] = {DType::kU8,  DType::kU16, DType::kU32, DType::kU64, DType::kI8,
                            DType::kI16, DType::kI32, DType::kI64, DType::kF32, DType::kF64};

TEST(BinaryGroups, CompareLikeSingleElements) {
  for (const DType type : kTypes) {
    visit_number(type, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (!std::is_class_v<T>) {
        for (const BinaryKind of : {BinaryKind::kEq, BinaryKind::kNe, BinaryKind::kLt,
                                    BinaryKind::kLe, BinaryKind::kGt, BinaryKind::kGe}) {
          expect_all<T, uint8_t>(of, type, DType::kBool,
                                 [&](T x, T y) { return holds(of, x, y) ? 1 : 0; });
        }
      }
    });
  }
}

TEST(BinaryGroups, ComputeLikeSingleElements) {
  for (const DType type : kTypes) {
    if (type == DType::kF32) continue;  // pointwise kernels compute f32
    visit_number(type, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (!std::is_class_v<T>) {
        for (const BinaryKind kind : {BinaryKind::kAdd, BinaryKind::kSub, BinaryKind::kMul}) {
          expect_all<T, T>(kind, type, type, [&](T x, T y) { return computed(kind, x, y); });
        }
      }
    });
  }
  expect_all<double, double>(BinaryKind::kDiv, DType::kF64, DType::kF64,
                             [](double x, double y) { return x / y; });
}

TEST(BinaryGroups, CombineBoolsOfAnyByte) {
  const auto expect = [](BinaryKind kind, auto of) {
    expect_all<uint8_t, uint8_t>(kind, DType::kBool, DType::kBool, [&](uint8_t x, uint8_t y) {
      return static_cast<uint8_t>(of(x != 0, y != 0) ? 1 : 0);
    });
  };
  for (const BinaryKind kind : {BinaryKind::kAnd, BinaryKind::kBitAnd}) {
    expect(kind, [](bool x, bool y) { return x && y; });
  }
  for (const BinaryKind kind : {BinaryKind::kOr, BinaryKind::kBitOr}) {
    expect(kind, [](bool x, bool y) { return x || y; });
  }
  for (const BinaryKind kind : {BinaryKind::kXor, BinaryKind::kBitXor, BinaryKind::kNe}) {
    expect(kind, [](bool x, bool y) { return x != y; });
  }
  expect(BinaryKind::kEq, [](bool x, bool y) { return x == y; });
}

TEST(BinaryGroups, LeaveOtherWorkUnchanged) {
  Strip<uint8_t> bytes(DType::kU8, 64, 1, 3);
  EXPECT_FALSE(combine_groups(BinaryKind::kPow, bytes.view, bytes.view, bytes.view));
  Strip<uint8_t> few(DType::kU8, 15, 1, 3);
  EXPECT_FALSE(combine_groups(BinaryKind::kAdd, few.view, few.view, few.view));
  Strip<uint16_t> f16(DType::kF16, 64, 1, 0);
  Strip<uint8_t> truths(DType::kBool, 64, 1, 0);
  EXPECT_FALSE(combine_groups(BinaryKind::kLt, f16.view, f16.view, truths.view));
}

}  // namespace
}  // namespace rill::ops
