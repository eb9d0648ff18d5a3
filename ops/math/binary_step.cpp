#include "ops/math/binary_step.h"

#include "ops/array/walk.h"
#include "ops/math/binary_groups.h"
#include "ops/math/float_binary.h"
#include "ops/math/integers.h"

namespace rill::ops {
namespace {

void combine_numbers(BinaryKind kind, const View& a, const View& b, const View& out) {
  visit_number(a.dtype, [&](auto tag) {
    using T = decltype(tag);
    for_each_element<3>({out, a, b}, [&](const std::array<int64_t, 3>& at) {
      const Wide<T> x = upcast(a.as<const T>()[at[1]]);
      const Wide<T> y = upcast(b.as<const T>()[at[2]]);
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
  if (combine_groups(kind, a, b, out)) return;
  if (a.dtype == DType::kBool) return combine_bools(kind, a, b, out);
  combine_numbers(kind, a, b, out);
}

void run_binary(const BinaryArgs& args, const Frame& frame) noexcept {
  combine_elements(args.kind, frame.view(args.a), frame.view(args.b), frame.view(args.out));
}

void touch_binary(const BinaryArgs& args, StepTouches& touches) {
  touches.within(static_cast<int64_t>(args.kind), 0, static_cast<int64_t>(kLastBinaryKind));
  const DType type = args.a.dtype;
  touches.require(type == DType::kBool || is_number(type), "numbers or bools");
  touches.require(args.kind != BinaryKind::kFloorDiv || is_int(type), "whole numbers");
  touches.require(!is_function_of_floats(args.kind) || is_float(type), "floats");
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
