#include "ops/math/unary_step.h"

#include "ops/array/walk.h"
#include "ops/math/binary_step.h"
#include "ops/math/float_unary.h"

namespace rill::ops {
namespace {

template <class W>
W integer_unary(UnaryKind kind, W x) {
  const auto bits = static_cast<uint64_t>(x);
  switch (kind) {
    case UnaryKind::kNeg:
      return static_cast<W>(0 - bits);
    case UnaryKind::kAbs:
      return x < 0 ? static_cast<W>(0 - bits) : x;
    case UnaryKind::kSign:
      return x < 0 ? static_cast<W>(-1) : x > 0 ? 1 : 0;
    case UnaryKind::kSquare:
      return static_cast<W>(bits * bits);
    case UnaryKind::kBitNot:
      return static_cast<W>(~bits);
    default:
      return x;
  }
}

void change_numbers(UnaryKind kind, float alpha, const View& x, const View& out) {
  visit_number(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    for_each_element<2>({out, x}, [&](const std::array<int64_t, 2>& at) {
      const Wide<T> v = upcast(x.as<const T>()[at[1]]);
      if constexpr (std::is_integral_v<Wide<T>>) {
        out.as<T>()[at[0]] = narrow<T>(integer_unary(kind, v));
      } else {
        out.as<T>()[at[0]] = narrow<T>(float_unary(kind, v, Wide<T>(alpha)));
      }
    });
  });
}

void test_infinities(float alpha, const View& x, const View& out) {
  const auto signs = static_cast<int>(alpha);
  visit_number(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    for_each_element<2>({out, x}, [&](const std::array<int64_t, 2>& at) {
      const auto v = static_cast<double>(upcast(x.as<const T>()[at[1]]));
      out.as<uint8_t>()[at[0]] = std::isinf(v) && (signs & (v > 0 ? 1 : 2)) != 0 ? 1 : 0;
    });
  });
}

}  // namespace

void change_elements(UnaryKind kind, float alpha, const View& x, const View& out) {
  if (x.dtype == DType::kBool) {
    uint8_t no = 0;
    View nothing = x;
    nothing.stride = {};
    nothing.data = &no;
    return combine_elements(BinaryKind::kEq, x, nothing, out);
  }
  // Only NaN differs from itself.
  if (kind == UnaryKind::kIsNan) return combine_elements(BinaryKind::kNe, x, x, out);
  if (kind == UnaryKind::kIsInf) return test_infinities(alpha, x, out);
  change_numbers(kind, alpha, x, out);
}

void run_unary(const UnaryArgs& args, const Frame& frame) noexcept {
  change_elements(args.kind, args.alpha, frame.view(args.x), frame.view(args.out));
}

void touch_unary(const UnaryArgs& args, StepTouches& touches) {
  touches.within(static_cast<int64_t>(args.kind), 0, static_cast<int64_t>(UnaryKind::kIsInf));
  const DType type = args.x.dtype;
  touches.require(is_number(type) || (type == DType::kBool && !is_test(args.kind)),
                  "numbers or bools");
  touches.require(!is_test(args.kind) || (args.alpha >= 0.0F && args.alpha <= 3.0F),
                  "signs of infinities");
  PlacedView out = args.out;
  touches.require(out.dtype == (is_test(args.kind) ? DType::kBool : type),
                  "an output of its type");
  out.dtype = type;
  touches.alike(args.x, out);
  if (!touches.holds()) return;
  touches.reads(args.x);
  touches.writes(args.out);
}

extern const StepKind unary_kind;
const StepKind unary_kind = kUnary;

}  // namespace rill::ops
