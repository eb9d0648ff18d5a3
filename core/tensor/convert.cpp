// Conversions between element types, and copies between views.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/tensor/strided_copy.h"
#include "core/tensor/tensor.h"
#include "core/tensor/visit_number.h"

namespace rill {
namespace {

template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(value)) return 0;
    // The limits as From may round up and out of range, hence the comparison with the power of 2.
    constexpr From kTop = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;
    if (value >= kTop) return std::numeric_limits<To>::max();
    if (value <= static_cast<From>(std::numeric_limits<To>::min())) {
      return std::numeric_limits<To>::min();
    }
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

/// A byte that means true or false.
struct Bool {
  uint8_t byte = 0;
};

template <class From>
bool truth(From value) {
  if constexpr (std::is_same_v<From, Bool>) {
    return value.byte != 0;
  } else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) {
    return static_cast<float>(value) != 0.0F;
  } else {
    return value != From{};
  }
}

template <class To, class From>
To convert_element(From value) {
  if constexpr (std::is_same_v<To, Bool>) {
    return Bool{static_cast<uint8_t>(truth(value) ? 1 : 0)};
  } else if constexpr (std::is_same_v<From, Bool>) {
    return convert<To>(static_cast<uint8_t>(value.byte != 0 ? 1 : 0));
  } else {
    return convert<To>(value);
  }
}

/// Goes through the rows of two views of one shape, in row-major order. Axes that follow one
/// another in both are one row.
class Rows {
 public:
  [[gnu::noinline]] Rows(const View& a, const View& b) : a_(a), b_(b), outer_(a.rank) {
    for (; outer_ > 0; --outer_) {
      const auto i = static_cast<size_t>(outer_) - 1;
      if (a.shape[i] == 1) continue;
      if (count == 1) {
        step_a = a.stride[i];
        step_b = b.stride[i];
      } else if (a.stride[i] != step_a * count || b.stride[i] != step_b * count) {
        break;
      }
      count *= a.shape[i];
    }
  }
  /// Move to the next row; false after the last one.
  [[gnu::noinline]] bool next() {
    for (int axis = outer_ - 1; axis >= 0; --axis) {
      const auto i = static_cast<size_t>(axis);
      at_a += a_.stride[i];
      at_b += b_.stride[i];
      if (++index_[i] < a_.shape[i]) return true;
      at_a -= a_.stride[i] * a_.shape[i];
      at_b -= b_.stride[i] * a_.shape[i];
      index_[i] = 0;
    }
    return false;
  }

  // Elements of a row: i * step behind the offset, i < count.
  int64_t at_a = 0, at_b = 0;
  int64_t step_a = 0, step_b = 0;
  int64_t count = 1;

 private:
  const View& a_;
  const View& b_;
  int outer_;
  std::array<int64_t, kMaxRank> index_{};
};

/// Call `body(offset_a, offset_b)` for the elements of two views of one shape, in row-major order.
template <class Body>
void for_each_pair(const View& a, const View& b, Body&& body) {
  if (a.volume() == 0) return;
  Rows rows(a, b);
  do {
    for (int64_t i = 0; i < rows.count; ++i) {
      body(rows.at_a + i * rows.step_a, rows.at_b + i * rows.step_b);
    }
  } while (rows.next());
}

template <class Visitor>
bool visit_type(DType dtype, Visitor&& visitor) {
  if (visit_number(stored_type(dtype), visitor)) return true;
  if (dtype != DType::kBool) return false;
  visitor(Bool{});
  return true;
}

/// The integer that stands for a real number, rounded half to even and clamped. Of 8 bits in f32,
/// as PyTorch and tract do: means of two neighbours lie half way there, and must round as theirs.
double quantise(double real, const View& to) {
  double low = -128;
  double high = 127;
  if (to.dtype == DType::kQU8) {
    low = 0;
    high = 255;
  } else if (to.dtype == DType::kQI32) {
    low = std::numeric_limits<int32_t>::min();
    high = std::numeric_limits<int32_t>::max();
  }
  double q = 0;
  if (to.dtype == DType::kQI32) {
    q = std::nearbyint(real / static_cast<double>(to.q.scale) + to.q.zero_point);
  } else {
    q = std::nearbyint(static_cast<float>(real) / to.q.scale + static_cast<float>(to.q.zero_point));
  }
  return std::isnan(q) ? 0 : std::clamp(q, low, high);
}

/// Converts by way of the widest type of the source's kind, which holds all its values: a pair of
/// loops per type instead of one per pair of types.
template <class Wide>
void cast_through(const View& from, const View& to) {
  constexpr int64_t kBlock = 64;
  Wide block[kBlock];
  if (from.volume() == 0) return;
  Rows rows(from, to);
  do {
    for (int64_t begin = 0; begin < rows.count; begin += kBlock) {
      const int64_t count = std::min(rows.count - begin, kBlock);
      visit_type(from.dtype, [&](auto source) {
        using From = decltype(source);
        const From* x = from.as<const From>() + rows.at_a + begin * rows.step_a;
        for (int64_t i = 0; i < count; ++i) block[i] = convert_element<Wide>(x[i * rows.step_a]);
      });
      visit_type(to.dtype, [&](auto target) {
        using To = decltype(target);
        To* y = to.as<To>() + rows.at_b + begin * rows.step_b;
        for (int64_t i = 0; i < count; ++i) y[i * rows.step_b] = convert_element<To>(block[i]);
      });
    }
  } while (rows.next());
}

/// Reads one element as the real number that it stands for, or as the integer if `raw`.
double real_at(const View& view, int64_t at, bool raw) {
  double value = 0;
  visit_type(view.dtype, [&](auto type) {
    using T = decltype(type);
    value = convert_element<double>(view.as<T>()[at]);
  });
  if (!is_quantised(view.dtype) || raw) return value;
  return (value - view.q.zero_point) * static_cast<double>(view.q.scale);
}

void cast_quantised(const View& from, const View& to) {
  const bool raw = is_int(to.dtype);
  for_each_pair(from, to, [&](int64_t a, int64_t b) {
    double value = real_at(from, a, raw);
    if (is_quantised(to.dtype) && !is_int(from.dtype)) value = quantise(value, to);
    visit_type(to.dtype, [&](auto type) {
      using To = decltype(type);
      to.as<To>()[b] = convert_element<To>(value);
    });
  });
}

RILL_NOT_IN_STEPS_BEGIN

Status cast_from_dims(const View& from, const View& to) RILL_NONBLOCKING {
  Status status;
  for_each_pair(from, to, [&](int64_t a, int64_t b) {
    const Dim& dim = from.as<Dim>()[a];
    const auto number = dim.to_int();
    if (!number) {
      if (status.ok()) status = dim.as_int().take_status();
      return;
    }
    visit_type(to.dtype, [&](auto target) {
      using To = decltype(target);
      to.as<To>()[b] = convert_element<To>(*number);
    });
  });
  return status;
}

void cast_to_dims(const View& from, const View& to) RILL_NONBLOCKING {
  visit_type(from.dtype, [&](auto source) {
    using From = decltype(source);
    for_each_pair(from, to, [&](int64_t a, int64_t b) {
      to.as<Dim>()[b] = Dim(convert_element<int64_t>(from.as<From>()[a]));
    });
  });
}

void copy_objects(const View& from, const View& to) RILL_NONBLOCKING {
  if (from.dtype == DType::kString) {
    for_each_pair(from, to, [&](int64_t a, int64_t b) {
      to.as<std::string>()[b] = from.as<std::string>()[a];
    });
    return;
  }
  for_each_pair(from, to, [&](int64_t a, int64_t b) { to.as<Dim>()[b] = from.as<Dim>()[a]; });
}

RILL_NOT_IN_STEPS_END

}  // namespace

Status cast_into(const View& from, const View& to) {
  if (from.dtype == to.dtype && from.q == to.q) {
    copy_view(from, to);
    return {};
  }
  if (from.dtype == DType::kString || to.dtype == DType::kString) {
    return fail(Code::kUnsupported, "no cast from ", dtype_name(from.dtype), " to ",
                dtype_name(to.dtype));
  }
  if (from.dtype == DType::kDim) return cast_from_dims(from, to);
  if (to.dtype == DType::kDim) {
    cast_to_dims(from, to);
    return {};
  }
  if (is_quantised(from.dtype) || is_quantised(to.dtype)) {
    cast_quantised(from, to);
    return {};
  }
  if (is_float(from.dtype)) {
    cast_through<double>(from, to);
  } else if (is_unsigned_int(from.dtype)) {
    cast_through<uint64_t>(from, to);
  } else {
    cast_through<int64_t>(from, to);
  }
  return {};
}

Result<Tensor> cast(const Tensor& tensor, DType to, QParams q) {
  if (tensor.block_format() != BlockFormat::kNone) {
    RILL_ASSIGN(const Tensor plain, dequantised(tensor));
    return cast(plain, to, q);
  }
  if (tensor.dtype() == to && tensor.qparams() == q) return tensor;
  RILL_ASSIGN(Tensor out, Tensor::zeros(to, tensor.shape(), q));
  View target = out.view();
  RILL_TRY(cast_into(tensor.view(), target));
  return out;
}

void copy_view(const View& from, const View& to) {
  if (!is_plain(from.dtype)) return copy_objects(from, to);
  copy_plain(from, to);
}

Result<int64_t> element_as_int(const Tensor& tensor, int64_t index) {
  if (index < 0 || index >= tensor.volume()) {
    return fail(Code::kShape, "no element ", index, " in a tensor of ", tensor.volume());
  }
  if (tensor.dtype() == DType::kDim) return tensor.data<Dim>()[index].as_int();
  int64_t value = 0;
  const bool known = visit_type(tensor.dtype(), [&](auto source) {
    using From = decltype(source);
    value = convert_element<int64_t>(tensor.data<From>()[index]);
  });
  if (!known) return fail(Code::kDType, "expected a number, found ", dtype_name(tensor.dtype()));
  return value;
}

Result<double> element_as_double(const Tensor& tensor, int64_t index) {
  if (index < 0 || index >= tensor.volume()) {
    return fail(Code::kShape, "no element ", index, " in a tensor of ", tensor.volume());
  }
  if (tensor.dtype() == DType::kDim) {
    RILL_ASSIGN(const int64_t value, tensor.data<Dim>()[index].as_int());
    return static_cast<double>(value);
  }
  double value = 0;
  const bool known = visit_type(tensor.dtype(), [&](auto source) {
    using From = decltype(source);
    value = convert_element<double>(tensor.data<From>()[index]);
  });
  if (!known) return fail(Code::kDType, "expected a number, found ", dtype_name(tensor.dtype()));
  if (is_quantised(tensor.dtype())) {
    value = (value - tensor.qparams().zero_point) * static_cast<double>(tensor.qparams().scale);
  }
  return value;
}

Result<Dim> element_as_dim(const Tensor& tensor, int64_t index) {
  if (tensor.dtype() == DType::kDim && index >= 0 && index < tensor.volume()) {
    return tensor.data<Dim>()[index];
  }
  RILL_ASSIGN(const int64_t value, element_as_int(tensor, index));
  return Dim(value);
}

}  // namespace rill
