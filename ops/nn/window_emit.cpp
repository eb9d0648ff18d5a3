#include "emit_c/text.h"
#include "ops/nn/matmul_emit.h"
#include "ops/nn/window_step.h"

namespace rill::ops {

using emit_c::Loops;
using emit_c::plus;
using emit_c::StepWriter;
using emit_c::times;
using kernels::DepthwiseF32Args;
using kernels::MatmulF32Args;

namespace {

/// Call `body(offsets)` for each iteration of the loops of a call.
template <class Args, class Body>
Status for_iterations(const ConvArgs<Args>& conv, const Body& body, int loop = 0,
                      WindowLoop at = {}) {
  if (loop == conv.loop_count) return body(at);
  for (int64_t i = 0; i < conv.loops[loop].count; ++i) {
    RILL_TRY(for_iterations(conv, body, loop + 1, at));
    at.move(1, conv.loops[loop]);
  }
  return {};
}

Status write_call(const ConvArgs<MatmulF32Args>& conv, StepWriter& to) {
  EmittedProduct product;
  product.args = conv.kernel;
  product.kernel = conv.how;
  const float* const weights = to.contents(conv.weights);
  const float* const bias = conv.has_bias ? to.contents(conv.bias) : nullptr;
  if (weights == nullptr || (conv.has_bias && bias == nullptr)) {
    return fail(Code::kUnsupported, "weights that the stream computes cannot be emitted as C");
  }
  if (conv.has_residual) {
    const bool same = conv.residual.buffer == conv.y.buffer &&
                      conv.residual.offset == conv.y.offset && conv.kernel.ldr == conv.kernel.ldc;
    product.residual = same ? EmittedResidual::kResult : EmittedResidual::kOther;
  }
  return for_iterations(conv, [&](const WindowLoop& at) -> Status {
    product.weights = weights + at.weights;
    product.bias = bias == nullptr ? nullptr : bias + at.bias;
    if (product.residual == EmittedResidual::kResult && at.residual != at.y) {
      return fail(Code::kUnsupported,
                  "a residual with other strides than the result cannot be emitted as C");
    }
    emit_product(product,
                 {to.floats(conv.x, at.x),
                  conv.has_residual ? to.floats(conv.residual, at.residual) : std::string(),
                  to.floats(conv.y, at.y)},
                 to);
    return {};
  });
}

/// Write the function of a depthwise call: channels are contiguous, in frames and in weights.
std::string depthwise_function(const DepthwiseF32Args& args, bool has_bias, StepWriter& to) {
  std::string text = "static void @NAME(const float *@RESTRICT x, const float *@RESTRICT w";
  if (has_bias) text += ", const float *@RESTRICT b";
  text += str_cat(", float *@RESTRICT y) {\n  for (int t = 0; t < ", args.frames,
                  "; ++t) {\n    float s[", args.channels, "];\n    for (int c = 0; c < ",
                  args.channels, "; ++c) s[c] = ", has_bias ? "b[c]" : "0.0f", ";\n");
  text += str_cat("    for (int o = 0; o < ", args.taps_outer, "; ++o) {\n    for (int k = 0; k < ",
                  args.taps, "; ++k) {\n      for (int c = 0; c < ", args.channels,
                  "; ++c) s[c] = @madd(x[t * ", args.x_frame_stride, " + o * ",
                  args.x_tap_outer_stride, " + k * ", args.x_tap_stride, " + c], w[(o * ",
                  args.taps, " + k) * ", args.channels, " + c], s[c]);\n    }\n    }\n");
  std::string value = "s[c]";
  if (args.clip) {
    value = str_cat(to.math("limited"), "(s[c], ", emit_c::c_float(args.lo), ", ",
                    emit_c::c_float(args.hi), ")");
  }
  text += str_cat("    for (int c = 0; c < ", args.channels, "; ++c) y[t * ", args.y_frame_stride,
                  " + c] = ", value, ";\n  }\n}\n");
  return to.function(text);
}

Status write_call(const ConvArgs<DepthwiseF32Args>& conv, StepWriter& to) {
  const std::string name = depthwise_function(conv.kernel, conv.has_bias, to);
  return for_iterations(conv, [&](const WindowLoop& at) -> Status {
    std::string call =
        str_cat(name, "(", to.floats(conv.x, at.x), ", ", to.floats(conv.weights, at.weights));
    if (conv.has_bias) call += ", " + to.floats(conv.bias, at.bias);
    to.line(call + ", " + to.floats(conv.y, at.y) + ");");
    return {};
  });
}

template <class Args>
Status write_calls(const ConvCalls<Args>& all, StepWriter& to) {
  for (const ConvArgs<Args>& conv : all.calls) RILL_TRY(write_call(conv, to));
  return {};
}

}  // namespace

extern const emit_c::StepText depthwise_text;
extern const emit_c::StepText windows_text;
const emit_c::StepText depthwise_text =
    emit_c::step_text<ConvCalls<DepthwiseF32Args>, write_calls<DepthwiseF32Args>>(kDepthwise);
const emit_c::StepText windows_text =
    emit_c::step_text<ConvCalls<MatmulF32Args>, write_calls<MatmulF32Args>>(kWindows);

}  // namespace rill::ops
