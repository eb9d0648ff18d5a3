#include "emit_c/text.h"
#include "ops/nn/matmul_emit.h"
#include "ops/nn/product_step.h"

namespace rill::ops {

using emit_c::StepWriter;

namespace {

/// Offsets of the operands in an iteration of the loops.
struct Offsets {
  int64_t a = 0, b = 0, y = 0, residual = 0;
};

template <class Body>
Status for_iterations(const ProductArgs& product, const Body& body, int loop = 0, Offsets at = {}) {
  if (loop == product.loop_count) return body(at);
  const ProductLoop& own = product.loops[loop];
  for (int64_t i = 0; i < own.count; ++i) {
    RILL_TRY(for_iterations(
        product, body, loop + 1,
        {at.a + i * own.a, at.b + i * own.b, at.y + i * own.y, at.residual + i * own.residual}));
  }
  return {};
}

/// Write a product of two operands that the stream computes.
std::string computed_function(const ProductArgs& product, bool reads_result, StepWriter& to) {
  const kernels::MatmulF32Args& args = product.args;
  std::string text = "static void @NAME(const float *@RESTRICT a, const float *@RESTRICT b";
  if (product.has_bias) text += ", const float *@RESTRICT bias";
  if (product.has_residual && !reads_result) text += ", const float *r";
  const int64_t n = args.n;
  text += str_cat(", float *@RESTRICT c) {\n  for (int i = 0; i < ", args.m,
                  "; ++i) {\n    float s[", n, "];\n    for (int j = 0; j < ", n,
                  "; ++j) s[j] = ", product.has_bias ? "bias[j]" : "0.0f", ";\n");
  text += str_cat("    for (int g = 0; g < ", args.segments, "; ++g) {\n    for (int k = 0; k < ",
                  args.segment_len, "; ++k) {\n      const float v = a[i * ", args.lda, " + g * ",
                  args.segment_stride, " + k];\n      for (int j = 0; j < ", n,
                  "; ++j) s[j] = @madd(v, b[(g * ", args.segment_len, " + k) * ", product.k_stride,
                  " + j * ", product.n_stride, "], s[j]);\n    }\n    }\n");
  text += str_cat("    for (int j = 0; j < ", n, "; ++j) {\n      float v = s[j];\n");
  const std::string place = str_cat("c[i * ", args.ldc, " + j]");
  if (product.has_residual) {
    text += str_cat("      v = v + ", reads_result ? place : str_cat("r[i * ", args.ldr, " + j]"),
                    ";\n");
  }
  if (args.slope != 1.0F) {
    text += str_cat("      v = ", to.math("max_or_second"), "(v * ", emit_c::c_float(args.slope),
                    ", v);\n");
  }
  if (args.clip) {
    text += str_cat("      v = ", to.math("limited"), "(v, ", emit_c::c_float(args.lo), ", ",
                    emit_c::c_float(args.hi), ");\n");
  }
  return to.function(text + "      " + place + " = v;\n    }\n  }\n}\n");
}

Status write_product(const ProductArgs& product, StepWriter& to) {
  if (product.args.accumulate) {
    return fail(Code::kUnsupported, "a matmul that adds to its result cannot be emitted as C");
  }
  const bool reads_result = product.has_residual && product.residual.buffer == product.y.buffer &&
                            product.residual.offset == product.y.offset &&
                            product.args.ldr == product.args.ldc;
  const float* const weights = product.pack ? nullptr : to.contents(product.b);
  const float* const bias = product.has_bias ? to.contents(product.bias) : nullptr;
  if (!product.pack && (weights == nullptr || (product.has_bias && bias == nullptr))) {
    return fail(Code::kUnsupported, "weights that the stream computes cannot be emitted as C");
  }
  const std::string computed =
      product.pack ? computed_function(product, reads_result, to) : std::string();
  EmittedProduct emitted;
  emitted.args = product.args;
  emitted.kernel = product.kernel;
  emitted.bias = bias;
  if (product.has_residual) {
    emitted.residual = reads_result ? EmittedResidual::kResult : EmittedResidual::kOther;
  }
  return for_iterations(product, [&](const Offsets& at) -> Status {
    if (reads_result && at.residual != at.y) {
      return fail(Code::kUnsupported,
                  "a residual with other strides than the result cannot be emitted as C");
    }
    const std::string a = to.floats(product.a, at.a);
    const std::string c = to.floats(product.y, at.y);
    std::string residual;
    if (product.has_residual) residual = to.floats(product.residual, at.residual);
    if (!product.pack) {
      emitted.weights = weights + at.b;
      emit_product(emitted, {a, residual, c}, to);
      return {};
    }
    std::string call = computed + "(" + a + ", " + to.floats(product.b, at.b);
    if (product.has_bias) call += ", " + to.floats(product.bias);
    if (product.has_residual && !reads_result) call += ", " + residual;
    to.line(call + ", " + c + ");");
    return {};
  });
}

}  // namespace

extern const emit_c::StepText product_text;
const emit_c::StepText product_text = emit_c::step_text<ProductArgs, write_product>(kProduct);

}  // namespace rill::ops
