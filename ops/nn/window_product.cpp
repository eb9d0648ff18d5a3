#include "ops/nn/window_product.h"

#include <algorithm>
#include <cstring>

#include "kernels/depthwise/depthwise.h"
#include "kernels/matmul/matmul.h"
#include "ops/nn/few_bits.h"
#include "ops/nn/product_parts.h"
#include "ops/nn/window_step.h"

namespace rill::ops {
namespace {

using kernels::DepthwiseF32Args;
using kernels::MatmulF32Args;

/// Collects the calls of one step.
template <class Args>
struct Calls {
  ConvCalls<Args> all;
  Lowering::Work work{0, 0, 0};
  std::vector<Touched> reads;
  std::vector<Touched> writes;

  /// `side` is the operand of the residual, if there is one.
  void add(ConvArgs<Args> args, const Operand& x, const Operand& y, const Operand* side,
           double multiply_adds, int64_t scratch_bytes) {
    const auto alone = [](const WindowLoop& loop) { return loop.count == 1; };
    WindowLoop* end = std::remove_if(args.loops, args.loops + kWindowLoops, alone);
    args.loop_count = static_cast<int>(end - args.loops);
    args.units = args.slices.count;
    for (int l = 0; l < args.loop_count; ++l) args.units *= args.loops[l].count;
    work.units += args.units;
    work.multiply_adds += multiply_adds;
    work.scratch_bytes = std::max(work.scratch_bytes, scratch_bytes);
    reads.insert(reads.end(), {x, args.weights});
    if (args.has_bias) reads.emplace_back(args.bias);
    if (side != nullptr) reads.emplace_back(*side);
    writes.emplace_back(y);
    all.calls.push_back(args);
  }
  void emit(Lowering& lowering, const PartedStepKindOf<ConvCalls<Args>>& kind) {
    if (all.calls.empty()) return;
    lowering.step_in_parts(kind, std::move(all), work, reads, writes);
  }
};

/// The steps of an operator: one for each kind of call, and for each format of weights.
struct StepCalls {
  struct Products {
    const kernels::MatmulPacked* few_bits = nullptr;  ///< reads the weights; null: they are f32
    Calls<MatmulF32Args> calls;
  };
  Calls<DepthwiseF32Args> depthwise;
  std::vector<Products> products;

  Calls<MatmulF32Args>& products_with(const kernels::MatmulPacked* few_bits) {
    for (Products& each : products) {
      if (each.few_bits == few_bits) return each.calls;
    }
    return products.emplace_back(Products{few_bits, {}}).calls;
  }
  void emit(Lowering& lowering) {
    depthwise.emit(lowering, kDepthwise);
    for (auto& [few_bits, calls] : products) {
      if (few_bits == nullptr) {
        calls.emit(lowering, kWindows);
        continue;
      }
      lowering.step_in_parts(kFewBitsWindows, FewBitsWindows{std::move(calls.all), few_bits},
                             calls.work, std::move(calls.reads), std::move(calls.writes));
    }
  }
};

/// One product while it is being lowered.
class WindowLowering {
 public:
  WindowLowering(const WindowProducts& common, const WindowProduct& product, Lowering& lowering,
                  StepCalls* step)
      : common_(common), product_(product), lowering_(lowering), step_(*step), x_(product.x),
        y_(product.y), outputs_(product.filter->extent(0)), channels_(product.filter->extent(1)) {}

  Status run() {
    find_axes();
    const bool depthwise =
        is_depthwise(common_.groups, outputs_, channels_) && tap_axes().size() <= 2;
    return depthwise && common_.residual == nullptr ? depthwise_call() : product_call();
  }

 private:
  /// Finds the spatial axes that windows move or reach along. Sequences written as images of one
  /// column have only one such axis, and their frames are the rows of one matmul.
  void find_axes() {
    const int all = static_cast<int>(product_.axes.size());
    for (int axis = 0; axis < all; ++axis) {
      const bool flat =
          y_.extent(axis + 2) == 1 && product_.axes[static_cast<size_t>(axis)].taps == 1;
      if (!flat) axes_.push_back(axis);
    }
    if (axes_.empty()) axes_.push_back(all - 1);
    spatial_ = static_cast<int>(axes_.size());
  }
  const WindowProduct::Axis& window(int axis) const {
    return product_.axes[static_cast<size_t>(axes_[static_cast<size_t>(axis)])];
  }
  /// Return the axis of the input and output for one of those found.
  int place(int axis) const { return axes_[static_cast<size_t>(axis)] + 2; }
  int64_t taps(int axis) const { return window(axis).taps; }
  int64_t tap_stride(int axis) const { return window(axis).tap_stride; }
  int64_t frame_stride(int axis) const { return window(axis).frame_stride; }
  int64_t all_taps() const {
    int64_t out = 1;
    for (int i = 0; i < spatial_; ++i) out *= taps(i);
    return out;
  }
  template <class Args>
  void common(ConvArgs<Args>* args) {
    args->x = x_.ref;
    args->y = y_.ref;
    args->has_bias = common_.bias != nullptr;
    if (common_.bias != nullptr) args->bias = common_.bias->ref;
    args->has_residual = common_.residual != nullptr;
    if (common_.residual != nullptr) args->residual = common_.residual->ref;
    args->kernel.clip = common_.clip.on;
    args->kernel.lo = common_.clip.lo;
    args->kernel.hi = common_.clip.hi;
    if constexpr (std::is_same_v<Args, MatmulF32Args>) args->kernel.slope = common_.slope;
  }
  int64_t residual_step(int axis) const {
    return common_.residual != nullptr ? common_.residual->step(axis) : 0;
  }
  double multiply_adds() const {
    return static_cast<double>(y_.volume()) * static_cast<double>(channels_ * all_taps());
  }
  /// Return a loop over an axis of the output with a separate stride in the input.
  WindowLoop loop_over(int axis, int64_t x_step) const {
    WindowLoop loop;
    loop.count = y_.extent(axis);
    loop.x = x_step;
    loop.y = y_.step(axis);
    loop.residual = residual_step(axis);
    return loop;
  }
  void add_product(ConvArgs<MatmulF32Args> args, const Operand& x) {
    const MatmulF32Args& k = args.kernel;
    int64_t scratch_bytes = 0;
    if (few_bits_ == nullptr) {
      args.slices = slices_of(k, *args.how, false);
    } else {
      args.slices = slices_of(k, *few_bits_);
      scratch_bytes = 4 * kernels::matmul_packed_scratch_floats(*few_bits_, k) + 4;
    }
    step_.products_with(few_bits_).add(args, x, y_, common_.residual, multiply_adds(),
                                       scratch_bytes);
  }

  /// Returns the axes that windows reach along, outermost first.
  std::vector<int> tap_axes() const {
    std::vector<int> out;
    for (int i = 0; i < spatial_; ++i) {
      if (taps(i) != 1) out.push_back(i);
    }
    return out;
  }

  Status depthwise_call() {
    ConvArgs<DepthwiseF32Args> args;
    common(&args);
    const int inner = spatial_ - 1;
    DepthwiseF32Args& k = args.kernel;
    args.how = &kernels::depthwise_f32(kernels::active_tier());
    k.channels = outputs_;
    k.frames = y_.extent(place(inner));
    k.x_frame_stride = frame_stride(inner);
    k.y_frame_stride = y_.step(place(inner));
    const std::vector<int> reached = tap_axes();
    k.taps = reached.empty() ? 1 : taps(reached.back());
    k.x_tap_stride = reached.empty() ? 0 : tap_stride(reached.back());
    if (reached.size() == 2) {
      k.taps_outer = taps(reached[0]);
      k.x_tap_outer_stride = tap_stride(reached[0]);
    }
    args.loops[0] = loop_over(0, x_.step(0));
    for (int i = 0; i < inner; ++i) args.loops[1 + i] = loop_over(place(i), frame_stride(i));
    const int64_t count = k.taps * k.taps_outer;
    auto [ref, packed] = lowering_.constant<float>(count * outputs_);
    const auto* w = product_.filter->data<float>();
    for (int64_t o = 0; o < outputs_; ++o) {
      for (int64_t t = 0; t < count; ++t) packed[t * outputs_ + o] = w[o * count + t];
    }
    args.weights = ref;
    lowering_.keep_weights("filters of single channels have few weights");
    lowering_.report_weights(product_.filter->shape(), 4 * count * outputs_, 4 * count * outputs_);
    args.slices.count = k.frames;
    step_.depthwise.add(args, x_, y_, common_.residual, multiply_adds(), 0);
    return {};
  }

  /// Packs the filters of every group as [taps * channels] x [outputs].
  void pack(ConvArgs<MatmulF32Args>* args, int64_t* group_floats) {
    const int64_t per_group = outputs_ / common_.groups;
    const int64_t all_taps = this->all_taps();
    const int64_t k = all_taps * channels_;
    const kernels::MatmulF32& kernel = kernels::matmul_f32_of_columns(per_group);
    args->how = &kernel;
    few_bits_ = few_bits_product(lowering_, kernel, product_.filter, k, per_group);
    *group_floats = packed_floats(kernel, few_bits_, k, per_group);
    auto [ref, packed] = lowering_.constant<float>(*group_floats * common_.groups);
    lowering_.report_weights(
        product_.filter->shape(),
        4 * common_.groups * packed_floats(kernel, nullptr, k, per_group),
        4 * common_.groups * *group_floats);
    std::vector<float> ordered(static_cast<size_t>(k * per_group));
    const auto* w = product_.filter->data<float>();
    for (int64_t g = 0; g < common_.groups; ++g, packed += *group_floats) {
      for (int64_t o = 0; o < per_group; ++o) {
        for (int64_t c = 0; c < channels_; ++c) {
          for (int64_t t = 0; t < all_taps; ++t) {
            ordered[static_cast<size_t>((t * channels_ + c) * per_group + o)] =
                w[((g * per_group + o) * channels_ + c) * all_taps + t];
          }
        }
      }
      if (few_bits_ != nullptr) {
        kernels::matmul_floats_pack(*few_bits_, k, per_group, ordered.data(), per_group, 1,
                                    reinterpret_cast<std::byte*>(packed));
      } else {
        kernels::matmul_f32_pack(kernel, k, per_group, ordered.data(), per_group, 1, packed);
      }
    }
    args->weights = ref;
  }

  /// Describes a row of A in place; false if windows are not evenly spaced segments.
  bool segments(MatmulF32Args* k) const {
    if (all_taps() == 0) return true;
    // From the innermost axis outwards, contiguous taps extend the segment.
    int64_t len = channels_;
    int axis = spatial_ - 1;
    const bool dense = common_.groups == 1;
    while (axis >= 0 && (taps(axis) == 1 || (dense && tap_stride(axis) == len))) {
      len *= taps(axis);
      --axis;
    }
    k->segment_len = len;
    k->segments = 1;
    if (axis < 0) return true;
    k->segments = taps(axis);
    k->segment_stride = tap_stride(axis);
    for (int i = axis - 1; i >= 0; --i) {
      if (taps(i) != 1) return false;
    }
    return true;
  }

  Status product_call() {
    if (spatial_ > 3) {
      return fail(Code::kUnsupported, counted(spatial_, "spatial axis", "spatial axes"),
                  ": at most 3");
    }
    ConvArgs<MatmulF32Args> args;
    common(&args);
    MatmulF32Args& k = args.kernel;
    k.n = outputs_ / common_.groups;
    if (!segments(&k)) return gathered_call();
    int64_t group_floats = 0;
    pack(&args, &group_floats);
    const int inner = spatial_ - 1;
    k.m = y_.extent(place(inner));
    k.lda = frame_stride(inner);
    k.ldc = y_.step(place(inner));
    k.ldr = residual_step(place(inner));
    args.loops[0] = loop_over(0, x_.step(0));
    args.loops[1] = group_loop(group_floats);
    for (int i = 0; i < inner; ++i) args.loops[2 + i] = loop_over(place(i), frame_stride(i));
    add_product(args, x_);
    return {};
  }

  WindowLoop group_loop(int64_t group_floats) const {
    WindowLoop loop;
    loop.count = common_.groups;
    loop.x = channels_;
    loop.y = outputs_ / common_.groups;
    loop.residual = loop.y;
    loop.weights = group_floats;
    loop.bias = loop.y;
    return loop;
  }

  /// Copies the windows into rows first, because they are not evenly spaced segments.
  Status gathered_call() {
    int64_t rows = 1;
    std::vector<int64_t> shape{x_.extent(0)};
    for (int i = 0; i < spatial_; ++i) {
      shape.push_back(y_.extent(place(i)));
      rows *= y_.extent(place(i));
    }
    Operand windows = x_;  // [N, D'..., taps...] of channels, in place
    const int64_t all_taps = this->all_taps();
    for (int i = 0; i < spatial_; ++i) shape.push_back(taps(i));
    shape.push_back(x_.extent(1));
    if (shape.size() > kMaxRank) return fail(Code::kUnsupported, "too many axes to gather");
    windows.rank = static_cast<int>(shape.size());
    std::copy(shape.begin(), shape.end(), windows.shape.begin());
    size_t at = 0;
    windows.stride[at++] = x_.step(0);
    for (int i = 0; i < spatial_; ++i) windows.stride[at++] = frame_stride(i);
    for (int i = 0; i < spatial_; ++i) windows.stride[at++] = tap_stride(i);
    windows.stride[at] = x_.step(1);
    const Operand gathered = lowering_.scratch(DType::kF32, shape);
    lowering_.copy(windows, gathered);

    ConvArgs<MatmulF32Args> args;
    common(&args);
    int64_t group_floats = 0;
    pack(&args, &group_floats);
    args.x = gathered.ref;
    MatmulF32Args& k = args.kernel;
    const int inner = spatial_ - 1;
    const int64_t row = all_taps * x_.extent(1);
    k.n = outputs_ / common_.groups;
    k.m = y_.extent(place(inner));
    k.segments = all_taps;
    k.segment_len = channels_;
    k.segment_stride = x_.extent(1);
    k.lda = row;
    k.ldc = y_.step(place(inner));
    k.ldr = residual_step(place(inner));
    args.loops[0] = loop_over(0, rows * row);
    args.loops[1] = group_loop(group_floats);
    int64_t step = row * k.m;
    for (int i = inner - 1; i >= 0; --i) {
      args.loops[2 + i] = loop_over(place(i), step);
      step *= y_.extent(place(i));
    }
    add_product(args, gathered);
    return {};
  }

  const WindowProducts& common_;
  const WindowProduct& product_;
  Lowering& lowering_;
  StepCalls& step_;
  Operand x_;
  Operand y_;
  std::vector<int> axes_;  ///< of the window, outermost first
  int spatial_ = 0;        ///< the number of `axes_`
  int64_t outputs_ = 0;
  int64_t channels_ = 0;
  const kernels::MatmulPacked* few_bits_ = nullptr;  ///< reads the filters; null: they are f32
};

}  // namespace

Status lower_window_products(Lowering& lowering, const WindowProducts& common,
                             std::vector<WindowProduct> products) {
  StepCalls step;
  for (const WindowProduct& product : products) {
    RILL_TRY(WindowLowering(common, product, lowering, &step).run());
  }
  step.emit(lowering);
  return {};
}

}  // namespace rill::ops
