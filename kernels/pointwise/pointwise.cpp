#include "kernels/pointwise/pointwise.h"

#include <utility>

#include "kernels/pointwise/pointwise_impl.h"

namespace rill::kernels {
namespace {

/// The extent of one axis and its strides.
struct Axis {
  int64_t extent;
  int64_t out;
  int64_t in[kPointwiseMaxInputs];
};

/// Return whether `outer` continues `inner` contiguously in every array.
bool mergeable(const Axis& outer, const Axis& inner, int inputs) {
  bool ok = outer.out == inner.extent * inner.out;
  for (int i = 0; i < inputs; ++i) ok = ok && outer.in[i] == inner.extent * inner.in[i];
  return ok;
}

/// Estimate the time of a run with `axes[inner]` innermost, in about nanoseconds.
double cost_with_inner(const Axis* axes, int count, int inner, int inputs) {
  double total = 1.0;
  for (int i = 0; i < count; ++i) total *= static_cast<double>(axes[i].extent);
  const double n = static_cast<double>(axes[inner].extent);
  int moves = axes[inner].out != 1 ? 1 : 0;
  for (int i = 0; i < inputs; ++i) {
    if (axes[inner].in[i] != 0 && axes[inner].in[i] != 1) ++moves;
  }
  const double vectors = static_cast<double>((axes[inner].extent + 7) / 8);
  return total / n * (2.0 + vectors) + total * moves;
}

int collect_axes(const PointwiseArgs& args, Axis* axes) {
  int count = 0;
  for (int d = 0; d < kPointwiseAxes; ++d) {
    if (args.extent[d] == 1) continue;
    Axis axis{args.extent[d], args.out_stride[d], {}};
    for (int i = 0; i < args.inputs; ++i) axis.in[i] = args.in[i].stride[d];
    if (count > 0 && mergeable(axes[count - 1], axis, args.inputs)) {
      axis.extent *= axes[--count].extent;
    }
    axes[count++] = axis;
  }
  return count;
}

}  // namespace

void pointwise_collapse(PointwiseArgs* args) noexcept {
  for (int64_t extent : args->extent) {
    if (extent == 0) return;
  }
  Axis axes[kPointwiseAxes] = {};
  const int count = collect_axes(*args, axes);
  int inner = count - 1;
  for (int d = count - 2; d >= 0; --d) {
    if (cost_with_inner(axes, count, d, args->inputs) <
        cost_with_inner(axes, count, inner, args->inputs)) {
      inner = d;
    }
  }
  for (int d = inner; d + 1 < count; ++d) std::swap(axes[d], axes[d + 1]);
  // Fewer tiles are faster, so put the longest outer axis next to the inner one.
  int next = count - 2;
  for (int d = count - 3; d >= 0; --d) {
    if (axes[d].extent > axes[next].extent) next = d;
  }
  for (int d = next; d >= 0 && d + 1 < count - 1; ++d) std::swap(axes[d], axes[d + 1]);
  for (int d = 0; d < kPointwiseAxes; ++d) {
    const int from = d - (kPointwiseAxes - count);
    // Set the stride of an axis of extent 1 to that of a dense inner axis, so that it counts as
    // contiguous.
    const int64_t unit = from < 0 && d == kPointwiseAxes - 1 ? 1 : 0;
    args->extent[d] = from < 0 ? 1 : axes[from].extent;
    args->out_stride[d] = from < 0 ? unit : axes[from].out;
    for (int i = 0; i < args->inputs; ++i) {
      args->in[i].stride[d] = from < 0 ? unit : axes[from].in[i];
    }
  }
}

size_t pointwise_scratch_floats() noexcept {
  return kPointwiseRegisters * static_cast<size_t>(kPointwiseTile + kPointwiseTileRows);
}

void pointwise_f32_scalar(const PointwiseArgs& args, float* scratch) noexcept {
  pointwise<math::ScalarLane>(args, scratch);
}

namespace {

constexpr NamedKernel<PointwiseFn> kKernels[] = {
#define RILL_KERNEL(needs, name) {#name, Tier::needs, name},
#include "kernels/pointwise/kernels.inc"
#undef RILL_KERNEL
};

}  // namespace

KernelList<NamedKernel<PointwiseFn>> kernels_like(PointwiseFn) { return kKernels; }

PointwiseFn pointwise_f32(Tier cpu) noexcept { return kernels_like(PointwiseFn{}).best(cpu).run; }

}  // namespace rill::kernels
