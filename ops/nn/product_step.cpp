#include "ops/nn/product_step.h"

#include "core/run/share.h"

namespace rill::ops {
namespace {

using kernels::MatmulF32Args;

/// What lies in the scratch of a part that packs columns on the way.
struct PackedColumns {
  const float* from = nullptr;
  int64_t first = 0;
  int64_t count = 0;
};

/// Run some slices of one product whose rows and results begin where `args` says, and whose columns
/// where `b` does.
void run_slices(const ProductArgs& product, int64_t first, int64_t count, const float* b,
                float* scratch, PackedColumns* packed, MatmulF32Args* args) noexcept {
  args->b = product.pack ? nullptr : b;
  if (count != product.slices.count) narrow(product.slices, first, count, args);
  if (product.few_bits != nullptr) {
    return product.few_bits->run({*args, reinterpret_cast<const std::byte*>(args->b), scratch});
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
  product.kernel->run(*args);
}

}  // namespace

void run_product(const ProductArgs& product, const Frame& frame, const Share& share) noexcept {
  MatmulF32Args whole = product.args;
  whole.a = frame.ptr<const float>(product.a);
  whole.c = frame.ptr<float>(product.y);
  whole.bias = product.has_bias ? frame.ptr<const float>(product.bias) : nullptr;
  whole.residual = product.has_residual ? frame.ptr<const float>(product.residual) : nullptr;
  const auto* b = frame.ptr<const float>(product.b);
  auto* scratch = reinterpret_cast<float*>(share.scratch);
  PackedColumns packed;
  const auto turns = [&](int loop) { return product.loops[loop].count; };
  const auto run = [&](const auto& index, int64_t first, int64_t count) {
    MatmulF32Args args = whole;
    const float* own_b = b;
    for (int l = 0; l < product.loop_count; ++l) {
      const ProductLoop& loop = product.loops[l];
      const int64_t turn = index[static_cast<size_t>(l)];
      args.a += turn * loop.a;
      args.c += turn * loop.y;
      if (args.residual) args.residual += turn * loop.residual;
      own_b += turn * loop.b;
    }
    run_slices(product, first, count, own_b, scratch, &packed, &args);
  };
  walk_share<kProductLoops>(share, product.loop_count, turns, product.slices.count, run);
}

extern const StepKind product_kind;
const StepKind product_kind = kProduct;

}  // namespace rill::ops
