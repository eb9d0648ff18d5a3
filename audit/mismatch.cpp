#include "audit/mismatch.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "audit/values.h"
#include "core/base/bits.h"
#include "core/base/number_text.h"
#include "core/tensor/frames.h"

namespace rill::audit {
namespace {

struct Level {
  const char* name;
  const char* title;
  double absolute, relative, outliers;
  double half_absolute, half_relative;
};

constexpr std::array kLevels{
    Level{"exact", "Exact", 0, 0, 0, 0, 0},
    Level{"close", "Close", 1e-7, 1e-7, 0, 1e-3, 1e-3},
    // The tolerances of the tests of the ONNX standard.
    Level{"onnx", "Onnx", 1e-7, 1e-3, 0, 1e-3, 1e-3},
    Level{"approximate", "Approximate", 1e-4, 5e-4, 0, 1e-3, 5e-3},
    Level{"very", "VeryApproximate", 5e-2, 1e-2, 0, 5e-2, 1e-2},
    Level{"super", "SuperApproximate", 0.1, 0.05, 1e-4, 0.1, 0.05},
    Level{"ultra", "UltraApproximate", 0.2, 0.1, 5e-4, 0.2, 0.1},
};

}  // namespace

std::optional<Tolerance> tolerance_named(std::string_view name) {
  for (const Level& level : kLevels) {
    if (name != level.name) continue;
    return Tolerance{level.title, level.absolute, level.relative, level.outliers, false};
  }
  return std::nullopt;
}

std::string tolerance_names() {
  std::string out;
  for (const Level& level : kLevels) out += str_cat(out.empty() ? "" : ", ", level.name);
  return out;
}

Tolerance for_half(const Tolerance& tolerance) {
  Tolerance out = tolerance;
  for (const Level& level : kLevels) {
    if (tolerance.custom || tolerance.name != level.title) continue;
    out.absolute = level.half_absolute;
    out.relative = level.half_relative;
  }
  return out;
}

namespace {

std::string position(const Tensor& tensor, int64_t index) {
  std::vector<int64_t> at(tensor.shape().size());
  for (size_t axis = at.size(); axis-- > 0;) {
    at[axis] = index % tensor.shape()[axis];
    index /= tensor.shape()[axis];
  }
  return str_cat(at);
}

/// Map floats to integers so that neighbours differ by one.
int64_t ordered(float value) {
  const auto bits = static_cast<int64_t>(bit_cast<uint32_t>(value));
  return bits & 0x80000000 ? 0x80000000 - bits : bits;
}

bool close_enough(double expected, double got, const Tolerance& tolerance) {
  if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) && std::isnan(got);
  if (std::isinf(expected) || std::isinf(got)) return expected == got;
  return std::abs(expected - got) <= tolerance.absolute + tolerance.relative * std::abs(got);
}

/// Format a number as tract does.
template <class T>
std::string number_text(T value) {
  return value != value ? "NaN" : str_cat(value);
}

/// The differences, counted over all elements.
struct Outliers {
  int64_t count = 0;
  int64_t first = -1;
  int64_t max_ulp = 0;
  std::string first_values;

  template <class T>
  void add(int64_t index, T expected, T got) {
    ++count;
    if (first >= 0) return;
    first = index;
    first_values = number_text(expected) + " != " + number_text(got);
  }
};

Outliers float_outliers(const Tensor& expected, const Tensor& got, const Tolerance& tolerance) {
  Outliers out;
  for (int64_t i = 0; i < got.volume(); ++i) {
    const float e = expected.data<float>()[i];
    const float g = got.data<float>()[i];
    if (e == g) continue;
    if (!std::isnan(e) && !std::isnan(g)) {
      out.max_ulp = std::max(out.max_ulp, std::abs(ordered(e) - ordered(g)));
    }
    if (!close_enough(e, g, tolerance)) out.add(i, e, g);
  }
  return out;
}

Outliers double_outliers(const Tensor& expected, const Tensor& got, const Tolerance& tolerance) {
  Outliers out;
  for (int64_t i = 0; i < got.volume(); ++i) {
    const double e = expected.data<double>()[i];
    const double g = got.data<double>()[i];
    if (!close_enough(e, g, tolerance)) out.add(i, e, g);
  }
  return out;
}

Outliers integer_outliers(const Tensor& expected, const Tensor& got) {
  Outliers out;
  for (int64_t i = 0; i < got.volume(); ++i) {
    const int64_t e = expected.data<int64_t>()[i];
    const int64_t g = got.data<int64_t>()[i];
    if (e != g) out.add(i, e, g);
  }
  return out;
}

/// Return the dequantised values; the reference may hold plain integers of the same size.
Result<Tensor> real_values(const Tensor& tensor, const Tensor& like) {
  Tensor typed = tensor;
  if (!is_quantised(tensor.dtype()) && dtype_size(tensor.dtype()) == dtype_size(like.dtype()) &&
      !is_float(tensor.dtype())) {
    typed = tensor.reinterpreted(like.dtype(), like.qparams());
  }
  return cast(typed, DType::kF32);
}

std::string describe(const Outliers& outliers, const Tensor& got, const Tolerance& tolerance,
                     DType dtype) {
  const auto volume = static_cast<double>(got.volume());
  std::string text =
      str_cat("Mismatch. First outlier (", tolerance.name, " for ", dtype_name(dtype), ") at ",
              position(got, outliers.first), " ", outliers.first_values,
              ". Outliers: ", outliers.count, " / ", got.volume(), " = ");
  append_fixed(text, static_cast<double>(outliers.count) / volume, 5);
  text += " > ";
  append_fixed(text, tolerance.outliers, 5);
  text += ".";
  if (dtype == DType::kF32) text += str_cat(" Max ULP (F32): ", outliers.max_ulp, ".");
  return text;
}

std::string wrong_type(const Tensor& expected, const Tensor& got) {
  return str_cat("Datum type mismatch ", dtype_name(expected.dtype()), " != ",
                 dtype_name(got.dtype()));
}

}  // namespace

std::optional<std::string> mismatch(const Tensor& expected, const Tensor& got,
                                    const Tolerance& tolerance, bool cast_floats) {
  if (expected.shape() != got.shape()) {
    return str_cat("Shape mismatch ", expected.shape(), " != ", got.shape());
  }
  if (got.empty()) return std::nullopt;
  const DType have = got.dtype();
  const bool real = is_float(have) || is_quantised(have);
  // Exporters compute some of PyTorch's integers, such as sizes, in floats: compare by value.
  const bool mixed = !is_quantised(have) && is_float(have) != is_float(expected.dtype());
  if (is_float(have) && expected.dtype() != have && !mixed && !cast_floats) {
    return wrong_type(expected, got);
  }
  Tolerance level = have == DType::kF16 || have == DType::kBF16 ? for_half(tolerance) : tolerance;
  if (is_quantised(have) && tolerance.name == "Approximate") level.absolute = got.qparams().scale;

  const DType common = mixed || have == DType::kF64 ? DType::kF64
                       : real                       ? DType::kF32
                                                    : DType::kI64;
  // Round an f32 reference to f16 first: an f16 output cannot be closer.
  auto want =
      is_quantised(have) ? real_values(expected, got) : cast(expected, mixed ? common : have);
  if (want.ok()) want = cast(*want, common);
  const auto given = cast(got, common);
  if (!want.ok() || !given.ok()) return wrong_type(expected, got);
  const Outliers outliers = common == DType::kF64   ? double_outliers(*want, *given, level)
                            : common == DType::kF32 ? float_outliers(*want, *given, level)
                                                    : integer_outliers(*want, *given);
  const double share = static_cast<double>(outliers.count) / static_cast<double>(got.volume());
  if (outliers.count == 0 || share <= level.outliers) return std::nullopt;
  return describe(outliers, got, level, have);
}

std::string first_bad_frame(int axis, const Tensor& want, const Tensor& got,
                            const Tolerance& tolerance) {
  if (axis < 0 || want.shape() != got.shape()) return "";
  Tolerance strict = tolerance;
  strict.outliers = 0;
  for (int64_t frame = 0; frame < got.extent(axis); ++frame) {
    const auto a = copy_of(frames_of(want.view(), axis, frame, 1));
    const auto b = copy_of(frames_of(got.view(), axis, frame, 1));
    if (a.ok() && b.ok() && mismatch(*a, *b, strict, true)) return str_cat(", frame ", frame);
  }
  return "";
}

}  // namespace rill::audit
