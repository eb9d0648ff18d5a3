#include "kernels/matmul/onednn_bench.h"

#include <omp.h>

#include <dnnl.hpp>
#include <string>
#include <unordered_map>

namespace rill::kernels {

struct OnednnMatmul::Primitives {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::memory a, b, c, a_there;
  dnnl::reorder convert;
  dnnl::matmul product;
  bool converts = false;
  std::string name;
};

OnednnMatmul::OnednnMatmul(Type type, int64_t m, int64_t k, int64_t n, float* a, float* b, float* c)
    : primitives_(std::make_unique<Primitives>()) {
  using dnnl::memory;
  omp_set_num_threads(1);
  Primitives& p = *primitives_;
  const auto f32 = memory::data_type::f32;
  const auto inner = type == Type::kBf16 ? memory::data_type::bf16 : f32;
  const memory::desc a_given({m, k}, f32, memory::format_tag::ab);
  const memory::desc b_given({k, n}, f32, memory::format_tag::ab);
  const memory::desc c_given({m, n}, f32, memory::format_tag::ab);
  const memory::desc a_inner({m, k}, inner, memory::format_tag::ab);
  const dnnl::matmul::primitive_desc chosen(
      {a_inner, memory::desc({k, n}, inner, memory::format_tag::any), c_given}, p.engine);
  p.a = memory(a_given, p.engine, a);
  p.c = memory(c_given, p.engine, c);
  memory b_here(b_given, p.engine, b);
  p.b = memory(chosen.weights_desc(), p.engine);
  dnnl::reorder(b_here, p.b).execute(p.stream, b_here, p.b);
  p.converts = type == Type::kBf16;
  p.a_there = p.converts ? memory(a_inner, p.engine) : p.a;
  if (p.converts) p.convert = dnnl::reorder(p.a, p.a_there);
  p.product = dnnl::matmul(chosen);
  p.name = chosen.impl_info_str();
}

OnednnMatmul::~OnednnMatmul() = default;

void OnednnMatmul::run() {
  Primitives& p = *primitives_;
  if (p.converts) p.convert.execute(p.stream, p.a, p.a_there);
  p.product.execute(p.stream, {{DNNL_ARG_SRC, p.a_there},
                               {DNNL_ARG_WEIGHTS, p.b},
                               {DNNL_ARG_DST, p.c}});
  p.stream.wait();
}

const char* OnednnMatmul::name() const { return primitives_->name.c_str(); }

}  // namespace rill::kernels
