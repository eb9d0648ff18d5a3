#include "ops/nn/product_step.h"

#include "core/run/share.h"
#include "core/run/together.h"
#include "ops/nn/gathered_step.h"

namespace rill::ops {
namespace {

using kernels::MatmulF32Args;

/// The columns that a thread has packed into its scratch memory.
struct PackedColumns {
  const float* from = nullptr;
  int64_t first = 0;
  int64_t count = 0;
};

/// Run some slices of one matmul. `args` has the addresses of its rows and results; `b` is the
/// address of its columns.
void run_slices(const ProductArgs& product, const kernels::MatmulPacked* few_bits, int64_t first,
                int64_t count, const float* b, float* scratch, PackedColumns* packed,
                MatmulF32Args* args) noexcept {
  args->b = product.pack ? nullptr : b;
  if (count != product.slices.count) narrow(product.slices, first, count, args);
  if (few_bits != nullptr) {
    return few_bits->run({*args, reinterpret_cast<const std::byte*>(args->b), scratch});
  }
  if (!product.pack) return product.kernel->run(*args);
  const int64_t k = args->segments * args->segment_len;
  const int64_t panel = product.slices.columns == 0 ? 0 : first;
  if (packed->from != b || packed->first != panel || packed->count < count) {
    const float* from = b + panel * product.slices.columns * product.n_stride;
    kernels::matmul_f32_pack(*product.kernel, k, args->n, from, product.k_stride, product.n_stride,
                             scratch);
    *packed = {b, panel, count};
  }
  args->b = scratch;
  args->whole_panels = false;  // packed for this slice alone
  product.kernel->run(*args);
}

/// Run a share. `few_bits` reads the weights; null: they are f32.
void run_share(const ProductArgs& product, const kernels::MatmulPacked* few_bits,
               const Frame& frame, const Share& share) noexcept RILL_NONBLOCKING {
  MatmulF32Args whole = product.args;
  whole.a = frame.ptr<const float>(product.a);
  whole.c = frame.ptr<float>(product.y);
  whole.bias = product.has_bias ? frame.ptr<const float>(product.bias) : nullptr;
  whole.residual = product.has_residual ? frame.ptr<const float>(product.residual) : nullptr;
  const auto* b = frame.ptr<const float>(product.b);
  auto* scratch = reinterpret_cast<float*>(share.scratch);
  PackedColumns packed;
  const auto iterations = [&](int loop) { return product.loops[loop].count; };
  const auto run = [&](const auto& index, int64_t first, int64_t count) {
    MatmulF32Args args = whole;
    const float* own_b = b;
    for (int l = 0; l < product.loop_count; ++l) {
      const ProductLoop& loop = product.loops[l];
      const int64_t iteration = index[static_cast<size_t>(l)];
      args.a += iteration * loop.a;
      args.c += iteration * loop.y;
      if (args.residual) args.residual += iteration * loop.residual;
      own_b += iteration * loop.b;
    }
    run_slices(product, few_bits, first, count, own_b, scratch, &packed, &args);
  };
  walk_share<kProductLoops>(share, product.loop_count, iterations, product.slices.count, run);
}

[[gnu::cold]] void touch_all(const ProductArgs& product, const kernels::MatmulPacked* few_bits,
                             StepTouches& touches) {
  const MatmulF32Args& args = product.args;
  touches.require(product.kernel != nullptr && !(product.pack && few_bits != nullptr), "a kernel");
  touches.within(product.loop_count, 0, kProductLoops);
  touch_counts(args, touches);
  if (!touches.holds()) return;
  const kernels::MatmulF32& kernel = *product.kernel;
  const int64_t k = args.segments * args.segment_len;
  const int64_t nr = few_bits != nullptr ? few_bits->nr : kernel.nr;
  const int64_t panel = few_bits != nullptr
                            ? kernels::matmul_packed_bytes(*few_bits, k, nr)
                            : 4 * kernels::matmul_f32_packed_floats(kernel, k, nr);
  touch_slices(product.slices, args.m, args.n, nr, panel, touches);
  Region a = rows_of(args, product.a);
  Region y = results_of(args, product.y, args.ldc);
  Region residual = results_of(args, product.residual, args.ldr);
  Region b = product.pack ? region<float>(product.b)
                                .over(k, product.k_stride)
                                .over(args.n, product.n_stride)
                          : packed_columns(args, kernel, few_bits, product.b);
  int64_t iterations[kProductLoops];
  Checked products = 1;
  for (int l = 0; l < product.loop_count; ++l) {
    const ProductLoop& loop = product.loops[l];
    iterations[l] = loop.count;
    products *= loop.count;
    a = a.over(loop.count, loop.a);
    y = y.over(loop.count, loop.y);
    residual = residual.over(loop.count, loop.residual);
    touches.require(product.pack || loop.b % 16 == 0, "weights that are aligned");
    touches.within(loop.b, -kMostCounted, kMostCounted);
    b = b.over(loop.count, product.pack ? loop.b : 4 * loop.b);
  }
  touches.units(product.slices.count, {iterations, static_cast<size_t>(product.loop_count)});
  touches.works({products, args.m, args.n, k});
  touches.reads(a);
  touches.reads(b);
  touches.writes(y);
  if (args.accumulate) touches.reads(y);
  if (product.has_bias) touches.reads(region<float>(product.bias).over(args.n));
  if (product.has_residual) touches.reads(residual);
  if (few_bits != nullptr) touch_few_bits(args, *few_bits, touches);
  if (product.pack) touches.scratch(4 * kernels::matmul_f32_packed_floats(kernel, k, args.n));
}

}  // namespace

void run_product(const ProductArgs& product, const Frame& frame, const Share& share) noexcept {
  run_share(product, nullptr, frame, share);
}

bool run_products(const ProductArgs& product, std::span<const Frame> frames) noexcept {
  if (product.pack || !is_shared(product.b, frames)) return false;
  if (product.has_bias && !is_shared(product.bias, frames)) return false;
  const auto iterations = [&](int loop) { return product.loops[loop].count; };
  int64_t all = 1;
  for (int l = 0; l < product.loop_count; ++l) all *= iterations(l);
  const auto run = [&](const auto& index, int64_t, int64_t) {
    ProductLoop at;
    for (int l = 0; l < product.loop_count; ++l) {
      at.move(index[static_cast<size_t>(l)], product.loops[l]);
    }
    StreamRows rows[kMostTogether];
    for (size_t i = 0; i < frames.size(); ++i) {
      rows[i].a = frames[i].ptr<const float>(product.a) + at.a;
      rows[i].c = frames[i].ptr<float>(product.y) + at.y;
      if (!product.has_residual) continue;
      rows[i].residual = frames[i].ptr<const float>(product.residual) + at.residual;
    }
    MatmulF32Args args = product.args;
    args.b = frames[0].ptr<const float>(product.b) + at.b;
    if (product.has_bias) args.bias = frames[0].ptr<const float>(product.bias);
    run_gathered(*product.kernel, args, {rows, frames.size()});
  };
  walk_share<kProductLoops>({0, all}, product.loop_count, iterations, 1, run);
  return true;
}

void run_few_bits_product(const FewBitsProductArgs& args, const Frame& frame,
                          const Share& share) noexcept {
  run_share(args.product, args.few_bits, frame, share);
}

void touch_product(const ProductArgs& product, StepTouches& touches) {
  touch_all(product, nullptr, touches);
}

void touch_few_bits_product(const FewBitsProductArgs& args, StepTouches& touches) {
  touches.require(args.few_bits != nullptr, "a kernel");
  touch_all(args.product, args.few_bits, touches);
}

extern const StepKind product_kind;
extern const StepKind few_bits_product_kind;
const StepKind product_kind = kProduct;
const StepKind few_bits_product_kind = kFewBitsProduct;

}  // namespace rill::ops
