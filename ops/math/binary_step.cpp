#include "ops/math/binary_step.h"

#include "ops/array/walk.h"
#include "ops/math/float_binary.h"
#include "ops/math/integers.h"

namespace rill::ops {
namespace {

void combine_numbers(BinaryKind kind, const View& a, const View& b, const View& out) {
  visit_number(a.dtype, [&](auto tag) {
    using T = decltype(tag);
    for_each_element<3>({out, a, b}, [&](const std::array<int64_t, 3>& at) {
      const Wide<T> x = widen(a.as<const T>()[at[1]]);
      const Wide<T> y = widen(b.as<const T>()[at[2]]);
      if (is_comparison(kind)) {
        out.as<uint8_t>()[at[0]] = compare(kind, x, y) ? 1 : 0;
      } else if constexpr (std::is_integral_v<Wide<T>>) {
        constexpr int kBits = 8 * static_cast<int>(sizeof(T));
        out.as<T>()[at[0]] = narrow<T>(integer_binary(kind, x, y, kBits));
      } else {
        out.as<T>()[at[0]] = narrow<T>(float_binary(kind, x, y));
      }
    });
  });
}

/// Comparisons of f32, which masks are made of.
void compare_f32(BinaryKind kind, const View& a, const View& b, const View& out) {
  using Places = std::array<int64_t, 3>;
  for_each_row<3>({out, a, b}, [&](const Places& at, const Places& steps, int64_t count) {
    auto* to = out.as<uint8_t>() + at[0];
    const float* x = a.as<const float>() + at[1];
    const float* y = b.as<const float>() + at[2];
    const auto row = [&](const auto& holds) {
      for (int64_t i = 0; i < count; ++i) {
        to[i * steps[0]] = holds(x[i * steps[1]], y[i * steps[2]]) ? 1 : 0;
      }
    };
    switch (kind) {
      case BinaryKind::kEq:
        return row([](float p, float q) { return p == q; });
      case BinaryKind::kNe:
        return row([](float p, float q) { return !(p == q); });
      case BinaryKind::kLt:
        return row([](float p, float q) { return p < q; });
      case BinaryKind::kLe:
        return row([](float p, float q) { return p <= q; });
      case BinaryKind::kGt:
        return row([](float p, float q) { return p > q; });
      default:
        return row([](float p, float q) { return p >= q; });
    }
  });
}

/// Sums, differences and products of I32, which quantised numbers are made of; they wrap.
void combine_i32(BinaryKind kind, const View& a, const View& b, const View& out) {
  using Places = std::array<int64_t, 3>;
  for_each_row<3>({out, a, b}, [&](const Places& at, const Places& steps, int64_t count) {
    auto* to = out.as<uint32_t>() + at[0];
    const auto* x = a.as<const uint32_t>() + at[1];
    const auto* y = b.as<const uint32_t>() + at[2];
    const auto row = [&](const auto& of) {
      for (int64_t i = 0; i < count; ++i) to[i * steps[0]] = of(x[i * steps[1]], y[i * steps[2]]);
    };
    if (kind == BinaryKind::kAdd) return row([](uint32_t p, uint32_t q) { return p + q; });
    if (kind == BinaryKind::kSub) return row([](uint32_t p, uint32_t q) { return p - q; });
    row([](uint32_t p, uint32_t q) { return p * q; });
  });
}

void combine_bools(BinaryKind kind, const View& a, const View& b, const View& out) {
  for_each_element<3>({out, a, b}, [&](const std::array<int64_t, 3>& at) {
    const bool x = a.as<const uint8_t>()[at[1]] != 0;
    const bool y = b.as<const uint8_t>()[at[2]] != 0;
    bool truth = x != y;
    if (kind == BinaryKind::kAnd || kind == BinaryKind::kBitAnd) truth = x && y;
    if (kind == BinaryKind::kOr || kind == BinaryKind::kBitOr) truth = x || y;
    if (kind == BinaryKind::kEq) truth = x == y;
    out.as<uint8_t>()[at[0]] = truth ? 1 : 0;
  });
}

}  // namespace

void combine_elements(BinaryKind kind, const View& a, const View& b, const View& out) {
  if (a.dtype == DType::kBool) return combine_bools(kind, a, b, out);
  if (a.dtype == DType::kF32 && is_comparison(kind)) return compare_f32(kind, a, b, out);
  const bool is_sum = kind == BinaryKind::kAdd || kind == BinaryKind::kSub ||
                      kind == BinaryKind::kMul;
  if (a.dtype == DType::kI32 && is_sum) return combine_i32(kind, a, b, out);
  combine_numbers(kind, a, b, out);
}

void run_binary(const BinaryArgs& args, const Frame& frame) noexcept {
  combine_elements(args.kind, frame.view(args.a), frame.view(args.b), frame.view(args.out));
}

void touch_binary(const BinaryArgs& args, StepTouches& touches) {
  touches.within(static_cast<int64_t>(args.kind), 0, static_cast<int64_t>(BinaryKind::kFloorDiv));
  const DType type = args.a.dtype;
  touches.require(type == DType::kBool || is_number(type), "numbers or bools");
  touches.require(args.kind != BinaryKind::kFloorDiv || is_int(type), "whole numbers");
  touches.alike(args.a, args.b);
  PlacedView out = args.out;
  touches.require(out.dtype == (is_comparison(args.kind) ? DType::kBool : type),
                  "an output of its type");
  out.dtype = type;
  touches.alike(args.a, out);
  if (!touches.holds()) return;
  touches.reads(args.a);
  touches.reads(args.b);
  touches.writes(args.out);
}

extern const StepKind binary_kind;
const StepKind binary_kind = kBinary;

}  // namespace rill::ops
