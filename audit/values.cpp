#include "audit/values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "core/base/search.h"
#include "core/exec/input_indices.h"
#include "core/graph/walk.h"
#include "pulse/before/weighed_sum.h"

namespace rill::audit {
namespace {

/// Return the sum of twelve numbers in [0, 1), minus 6: its variance is 1.
float normal_like(Draw* draw) {
  double sum = -6;
  for (int k = 0; k < 12; ++k) sum += draw->unit();
  return static_cast<float>(sum);
}

}  // namespace

Result<Tensor> noise(const Fact& fact, const std::optional<NumberRange>& indices, Draw* draw,
                     const NoiseKind& kind) {
  RILL_ASSIGN(std::vector<int64_t> shape, fact.concrete_shape());
  RILL_ASSIGN(Tensor floats, Tensor::zeros(DType::kF32, shape));
  const bool bytes = is_quantised(fact.dtype) && dtype_size(fact.dtype) == 1 && kind.scale != 1;
  const auto number = [&] {
    if (bytes) return static_cast<float>(draw->in(-255, 255)) * fact.q.scale;
    if (!is_float(fact.dtype)) {
      const int64_t most = fact.dtype == DType::kBool ? 1 : 3;
      if (!indices) return static_cast<float>(draw->in(0, most));
      const int64_t least = std::max<int64_t>(0, indices->least);
      return static_cast<float>(draw->in(least, std::min(least + most, indices->most)));
    }
    const float drawn = normal_like(draw) * static_cast<float>(kind.scale);
    return kind.sign == 0 ? drawn : static_cast<float>(kind.sign) * std::abs(drawn);
  };
  for (int64_t i = 0; i < floats.volume(); ++i) floats.mutable_data<float>()[i] = number();
  if (fact.dtype == DType::kF32) return floats;
  return cast(floats, fact.dtype, fact.q);
}

Result<std::vector<Tensor>> noise_inputs(const Graph& graph, std::string_view symbol,
                                         int64_t length, Draw* draw, const NoiseKind& kind) {
  std::vector<Tensor> out;
  const auto indices = input_indices(graph);
  for (size_t i = 0; i < indices.size(); ++i) {
    const Fact fact = substitute(graph.fact(graph.inputs[i]), symbol, Dim(length));
    RILL_ASSIGN(Tensor value, noise(fact, indices[i], draw, kind));
    out.push_back(std::move(value));
  }
  return out;
}

void poison(const View& view, Draw* draw) {
  const auto count = static_cast<size_t>(view.volume());
  if (view.dtype == DType::kF32) {
    std::fill_n(view.as<float>(), count, std::numeric_limits<float>::quiet_NaN());
  } else if (view.dtype == DType::kF64) {
    std::fill_n(view.as<double>(), count, std::numeric_limits<double>::quiet_NaN());
  } else if (view.dtype == DType::kF16) {
    std::fill_n(view.as<uint16_t>(), count, uint16_t{0x7E00});
  } else if (view.dtype == DType::kBF16) {
    std::fill_n(view.as<uint16_t>(), count, uint16_t{0x7FC0});
  } else if (view.dtype == DType::kBool) {
    for (size_t i = 0; i < count; ++i) view.as<bool>()[i] = draw->chance(50);
  } else {
    // Small numbers: an index must not be out of range.
    const auto bytes = static_cast<size_t>(dtype_size(view.dtype));
    std::memset(view.data, 0, count * bytes);
    for (size_t i = 0; i < count; ++i) {
      view.as<std::byte>()[i * bytes] = static_cast<std::byte>(draw->in(0, 3));
    }
  }
}

Result<Tensor> copy_of(const View& view) {
  const std::vector<int64_t> shape(view.shape.begin(), view.shape.begin() + view.rank);
  RILL_ASSIGN(Tensor out, Tensor::zeros(view.dtype, shape, view.q));
  copy_view(view, out.view());
  return out;
}

namespace {

std::vector<int64_t> index_of(int64_t element, const std::vector<int64_t>& shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t axis = index.size(); axis-- > 0;) {
    index[axis] = element % shape[axis];
    element /= shape[axis];
  }
  return index;
}

}  // namespace

std::string difference(const Tensor& found, const Tensor& expected, double tolerance) {
  if (found.shape() != expected.shape()) {
    return str_cat("shape ", found.shape(), ", the whole run has ", expected.shape());
  }
  if (found.same_bits(expected)) return {};
  if (!is_float(found.dtype())) return "other values";
  const auto got = cast(found, DType::kF64);
  const auto want = cast(expected, DType::kF64);
  if (!got.ok() || !want.ok()) return "other bits";
  for (int64_t i = 0; i < found.volume(); ++i) {
    const double a = got->data<double>()[i];
    const double b = want->data<double>()[i];
    if ((std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0) continue;
    // With attention, a whole run spreads a NaN from masked keys, as 0 times NaN.
    if (tolerance > 0 && std::isnan(b)) continue;
    if (tolerance > 0 && std::abs(a - b) <= tolerance * (1 + std::abs(b))) continue;
    return str_cat("at ", index_of(i, found.shape()), " of ", found.shape(), ": ", a,
                   ", the whole run has ", b);
  }
  return {};
}

namespace {

/// Return, for each element, whether it is a finite number that differs; 0 and -0 are one number.
std::vector<char> varied_elements(const Tensor& value, const Tensor& other) {
  const auto count = static_cast<size_t>(value.volume());
  std::vector<char> out(count);
  if (is_float(value.dtype())) {
    const auto a = cast(value, DType::kF64);
    const auto b = cast(other, DType::kF64);
    for (size_t i = 0; i < count && a.ok() && b.ok(); ++i) {
      const double number = a->data<double>()[i];
      out[i] = static_cast<char>(std::isfinite(number) && number != b->data<double>()[i]);
    }
    return out;
  }
  const auto size = static_cast<size_t>(dtype_size(value.dtype()));
  const auto* a = value.view().as<std::byte>();
  const auto* b = other.view().as<std::byte>();
  for (size_t i = 0; i < count; ++i) {
    out[i] = static_cast<char>(std::memcmp(a + i * size, b + i * size, size) != 0);
  }
  return out;
}

}  // namespace

int64_t varied_frames(const Tensor& value, const Tensor& for_other_input, int axis) {
  if (value.shape() != for_other_input.shape() || dtype_size(value.dtype()) == 0) return 0;
  const std::vector<char> varied = varied_elements(value, for_other_input);
  const int64_t frames = axis < 0 ? 1 : value.extent(axis);
  int64_t inner = axis < 0 ? value.volume() : 1;
  for (int i = axis + 1; axis >= 0 && i < static_cast<int>(value.shape().size()); ++i) {
    inner *= value.extent(i);
  }
  std::vector<char> seen(static_cast<size_t>(frames));
  for (size_t i = 0; i < varied.size(); ++i) {
    const int64_t frame = static_cast<int64_t>(i) / inner % frames;
    seen[static_cast<size_t>(frame)] |= varied[i];
  }
  return std::count(seen.begin(), seen.end(), 1);
}

bool depends_on_inputs(const Graph& graph, OutletId outlet) {
  return any_before(graph, outlet, [&](int id) { return contains(graph.inputs, OutletId{id, 0}); });
}

std::string not_proven(const std::vector<std::string>& outputs) {
  return str_cat(outputs.size() == 1 ? "output " : "outputs ", join(outputs, ", "),
                 " never varied: not proven");
}

bool attends(const Graph& graph, OutletId outlet, std::string_view symbol) {
  const auto is_square = [&](OutletId wire) {
    const auto& shape = graph.fact(wire).shape;
    const auto streams = [&](const Dim& dim) { return dim.mentions(symbol); };
    return std::count_if(shape.begin(), shape.end(), streams) > 1;
  };
  return is_square(outlet) || any_before(graph, outlet, [&](int id) {
           const Node& node = graph.node(id);
           return any_of(node.inputs, is_square) || pulse::is_weighed_sum(graph, node, symbol);
         });
}

}  // namespace rill::audit
