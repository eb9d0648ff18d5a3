#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/array/elements.h"
#include "ops/nn/deconv.h"
#include "ops/nn/window_product.h"
#include "ops/nn/window_taps.h"

namespace rill::ops {
namespace {

/// Return the floor and the ceiling of a / b, for b > 0.
int64_t floor_of(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }
int64_t ceil_of(int64_t a, int64_t b) { return -floor_of(-a, b); }

/// The outputs along one axis that are `stride` apart: they read their frames by the same taps, as
/// in a convolution.
struct Phase {
  int64_t first = 0;  ///< the first output
  int64_t count = 0;
  int64_t begin = 0;            ///< the first frame that the first output reads
  int64_t dilation = 1;         ///< frames from tap to tap
  std::vector<int64_t> taps;    ///< of the filter, in the order of the frames
  int64_t joined = 1;  ///< the number of adjacent phases that this one stands for

  int64_t reach() const { return static_cast<int64_t>(taps.size()) / joined; }
};

/// Return the phases along a spatial axis with `outputs` output elements.
std::vector<Phase> phases_of(const Deconv& op, int axis, int64_t outputs) {
  const auto a = static_cast<size_t>(axis);
  const int64_t stride = op.window.stride[a];
  const int64_t dilation = op.window.dilation[a];
  std::vector<Phase> out;
  const TapSteps steps(dilation, stride);
  for (int64_t first = 0; first < std::min(stride, outputs); ++first) {
    Phase phase;
    phase.first = first;
    phase.count = (outputs - first + stride - 1) / stride;
    phase.dilation = dilation / std::gcd(dilation, stride);
    const int64_t raw = op.cut(axis).first + first;
    const auto lowest = steps.first(raw);
    const int64_t beyond = lowest ? op.window.kernel[a] - 1 - *lowest : -1;
    for (int64_t left = beyond < 0 ? 0 : beyond / steps.step() + 1; left-- > 0;) {
      const int64_t tap = *lowest + left * steps.step();
      if (phase.taps.empty()) phase.begin = floor_of(raw - tap * dilation, stride);
      phase.taps.push_back(tap);
    }
    out.push_back(std::move(phase));
  }
  return out;
}

/// Join adjacent phases that read the same frames: their outputs are columns of one matmul. A
/// single phase of few channels would fill only part of a vector.
std::vector<Phase> joined(const std::vector<Phase>& phases) {
  std::vector<Phase> out;
  for (const Phase& phase : phases) {
    const bool joins = !out.empty() && phase.count == out.back().count &&
                       phase.begin == out.back().begin && phase.reach() == out.back().reach() &&
                       phase.reach() > 0;
    if (!joins) {
      out.push_back(phase);
      continue;
    }
    out.back().taps.insert(out.back().taps.end(), phase.taps.begin(), phase.taps.end());
    ++out.back().joined;
  }
  return out;
}

/// Return how many frames outputs read before and after the input.
std::pair<int64_t, int64_t> padding_of(const Deconv& op, int axis, int64_t frames,
                                       int64_t outputs) {
  const int64_t stride = op.window.stride[static_cast<size_t>(axis)];
  const int64_t raw = op.cut(axis).first;
  const int64_t first = ceil_of(raw - (op.window.extent(axis) - 1), stride);
  const int64_t last = floor_of(raw + outputs - 1, stride);
  return {std::max<int64_t>(0, -first), std::max<int64_t>(0, last - (frames - 1))};
}

/// Return whether there are few phases, and their convolutions read mostly data, not padding.
bool phases_are_cheap(const Deconv& op, const Operand& x, const Operand& y, double products) {
  constexpr int64_t kMostPhases = 1 << 12;
  int64_t phases = 1;
  std::vector<PaddedAxis> axes;
  for (int axis = 0; axis < op.window.axes(); ++axis) {
    const auto a = static_cast<size_t>(axis);
    const int64_t frames = x.extent(axis + 2);
    const int64_t outputs = y.extent(axis + 2);
    phases *= std::min({op.window.stride[a], outputs, kMostPhases + 1});
    if (phases > kMostPhases) return false;
    const int64_t step = TapSteps(op.window.dilation[a], op.window.stride[a]).step();
    const auto taps = static_cast<double>(op.window.kernel[a]);
    const double taps_each = std::ceil(taps / static_cast<double>(step));
    const auto in = static_cast<double>(frames);
    const auto out = static_cast<double>(outputs);
    const auto [before, after] = padding_of(op, axis, frames, outputs);
    axes.push_back({out * taps_each, std::min(in * taps, out * std::min(in, taps_each)),
                    in + static_cast<double>(before) + static_cast<double>(after)});
  }
  return padding_is_cheap(x, y, products, axes);
}

/// Lowers a transposed convolution as convolutions: one for each phase of every axis.
class PhasedLowering {
 public:
  PhasedLowering(const Deconv& op, Lowering& lowering) : op_(op), lowering_(lowering) {}

  Status run() {
    const Operand& w = lowering_.in(1);
    y_ = lowering_.make_out(0, channels_last(w.rank));
    if (y_.volume() == 0) return {};
    pad();
    for (int axis = 0; axis < op_.window.axes(); ++axis) {
      phases_.push_back(phases_of(op_, axis, y_.extent(axis + 2)));
    }
    const int inner = y_.rank - 1;
    if (op_.groups == 1 && y_.step(1) == 1 && y_.step(inner) == y_.extent(1)) {
      phases_.back() = joined(phases_.back());
    }
    std::vector<WindowProduct> products;
    std::vector<size_t> index(phases_.size(), 0);
    for (bool more = true; more;) {
      std::vector<const Phase*> chosen;
      for (size_t i = 0; i < index.size(); ++i) chosen.push_back(&phases_[i][index[i]]);
      RILL_ASSIGN(WindowProduct product, product_of(chosen));
      products.push_back(std::move(product));
      size_t i = index.size();
      while (i > 0 && ++index[i - 1] == phases_[i - 1].size()) index[--i] = 0;
      more = i > 0;
    }
    WindowProducts common{op_.groups, nullptr, nullptr, op_.clip};
    const Operand bias = op_.has_bias ? repeated_bias() : Operand();
    if (op_.has_bias) common.bias = &bias;
    lowering_.packed(1);
    return lower_window_products(lowering_, common, std::move(products));
  }

 private:
  /// Repeat the bias for each joined phase.
  Operand repeated_bias() {
    Operand out = lowering_.in(2);
    int64_t most = 1;
    for (const Phase& phase : phases_.back()) most = std::max(most, phase.joined);
    if (most == 1) return out;
    const int64_t channels = y_.extent(1);
    auto [ref, to] = lowering_.constant<float>(most * channels);
    const auto* from = lowering_.in(2).konst->data<float>();
    for (int64_t i = 0; i < most; ++i, to += channels) std::copy_n(from, channels, to);
    out.ref = ref;
    out.rank = 1;
    out.shape[0] = most * channels;
    out.stride[0] = 1;
    return out;
  }

  /// Pads the input with zeros where outputs read beyond it.
  void pad() {
    Window border;
    for (int axis = 0; axis < op_.window.axes(); ++axis) {
      border.kernel.push_back(1);
      border.stride.push_back(1);
      border.dilation.push_back(1);
      border.padding.push_back(
          padding_of(op_, axis, lowering_.in(0).extent(axis + 2), y_.extent(axis + 2)));
    }
    x_ = padded_rows(lowering_, lowering_.in(0), border, 0.0F);
    for (int axis = 0; axis < op_.window.axes(); ++axis) {
      x_.advance(axis + 2, border.padding[static_cast<size_t>(axis)].first);
    }
  }

  Result<WindowProduct> product_of(const std::vector<const Phase*>& phases) const {
    WindowProduct out;
    out.x = x_;
    out.y = y_;
    const Tensor& w = *lowering_.in(1).konst;
    const int64_t channels = w.extent(0);
    const int64_t columns = channels * phases.back()->joined;
    out.y.shape[1] = columns;
    std::vector<int64_t> shape{columns, w.extent(1)};
    for (size_t i = 0; i < phases.size(); ++i) {
      const Phase& phase = *phases[i];
      const int axis = static_cast<int>(i) + 2;
      out.x.advance(axis, phase.begin);
      out.y.advance(axis, phase.first);
      out.y.shape[i + 2] = phase.count;
      out.y.stride[i + 2] *= op_.window.stride[i];
      out.axes.push_back({phase.reach(), phase.dilation * x_.step(axis), x_.step(axis)});
      shape.push_back(phase.reach());
    }
    RILL_ASSIGN(Tensor filter, Tensor::zeros(DType::kF32, shape));
    const View from = w.view();
    const View to = filter.view();
    std::array<int64_t, kMaxRank> index{};
    for (int64_t n = filter.volume(); n > 0; --n) {
      int64_t at_from = index[0] % channels * from.step(0) + index[1] * from.step(1);
      int64_t at_to = index[0] * to.step(0) + index[1] * to.step(1);
      for (size_t i = 0; i < phases.size(); ++i) {
        const int axis = static_cast<int>(i) + 2;
        int64_t tap = index[i + 2];
        if (phases[i]->joined > 1) tap += index[0] / channels * phases[i]->reach();
        at_from += phases[i]->taps[static_cast<size_t>(tap)] * from.step(axis);
        at_to += index[i + 2] * to.step(axis);
      }
      to.as<float>()[at_to] = from.as<float>()[at_from];
      next_index(&index, shape.data(), static_cast<int>(shape.size()));
    }
    out.filter = std::make_shared<const Tensor>(std::move(filter));
    return out;
  }

  const Deconv& op_;
  Lowering& lowering_;
  Operand x_;  ///< with space for padding around it
  Operand y_;
  std::vector<std::vector<Phase>> phases_;  ///< per spatial axis
};

}  // namespace

Status Deconv::lower(Lowering& lowering) const {
  const bool constant = lowering.in(1).konst && (!has_bias || lowering.in(2).konst);
  if (lowering.in(0).dtype != DType::kF32 || !constant || window.axes() > 3 ||
      !phases_are_cheap(*this, lowering.in(0), lowering.out_shape(0),
                        static_cast<double>(lowering.in(1).extent(1)))) {
    return Op::lower(lowering);
  }
  return PhasedLowering(*this, lowering).run();
}

}  // namespace rill::ops
