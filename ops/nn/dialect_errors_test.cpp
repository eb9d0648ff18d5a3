// Errors for invalid calls of the rarer operators of the dialect.

#include "ops/math/test_support.h"

namespace rill::ops::test {
namespace {

const std::vector<Input> kInputs = {
    {"x", "1, 2, 4"},    {"g", "1, 3, 1"},    {"i", "1, 2, 4", "i64"}, {"m", "3, 4"},
    {"u", "2, S, 3, 3"}, {"v", "1, 2, 3, 3"}, {"e", "3, 4, 5"},        {"b", "2, 3, 4", "bool"}};

void expect_refusal(std::string_view statements, Code code, std::string_view words) {
  expect_load_error(kInputs, statements, code, words);
}

TEST(DialectErrors, OfSampling) {
  expect_refusal("y = tract_core_resize(x);", Code::kArg, "either scales or sizes");
  expect_refusal("y = tract_core_resize(x, scales = [1.0, 2.0]);", Code::kShape, "expected 3");
  expect_refusal("y = tract_core_resize(x, scales = [1.0, 1.0, -2.0]);", Code::kShape, "positive");
  expect_refusal("y = tract_core_resize(x, scales = [1.0, 1.0, 0.0]);", Code::kShape, "positive");
  expect_refusal("y = tract_core_resize(x, sizes = [1, 2, 8], interpolator = 'spline');",
                 Code::kArg, "spline");
  expect_refusal("y = tract_core_resize(x, sizes = [1, 2, -8]);", Code::kShape, "0 or more");
  expect_refusal("y = tract_core_resize(u, scales = [1.0, 1.3, 1.0, 1.0]);", Code::kSymbol,
                 "not a simple expression");
  expect_refusal(
      "y = tract_onnx_resize(x, scales = [1.0, 1.0, 2.0], coord_transformer ="
      " 'tf_crop_and_resize');",
      Code::kShape, "roi of 0 values");
  expect_refusal("y = multilinear_upsample(x, factor = [2], border = 'constant');",
                 Code::kUnsupported, "expected replicate");
  expect_refusal("y = nearest_upsample(x, factor = [0]);", Code::kShape, "1 or more");
  expect_refusal("y = tract_core_grid_sample(x, g, mode = 'bicubic');", Code::kShape, "rank 4");
  expect_refusal("y = tract_core_grid_sample(x, m);", Code::kShape, "one rank");
  expect_refusal("y = tract_core_grid_sample(i, g);", Code::kDType, "floats");
  expect_refusal("y = debox(x, size = [1, 2, 3]);", Code::kShape, "1 on batch and channel");
}

TEST(DialectErrors, OfNorms) {
  expect_refusal("y = tract_core_rms_norm(x, axis = 3);", Code::kShape, "no axis 3");
  expect_refusal("y = tract_core_rms_norm(i, axis = 1);", Code::kDType, "floats");
  expect_refusal("y = tract_core_scaled_rms_norm(x, m, axis = 2);", Code::kShape, "expected 4");
  expect_refusal("y = tract_core_clamped_swiglu(x, m, alpha = 1.0, limit = 1.0);", Code::kShape,
                 "one shape");
  expect_refusal("y = tract_core_clamped_swiglu(x, x, alpha = 1.0, limit = 0.0);", Code::kShape,
                 "above 0");
  expect_refusal("y = tract_core_complex_to_inner_dim(x);", Code::kShape, "pairs");
  expect_refusal("y = tract_extra_exp_unit_norm(x, m, axis = 1, alpha = 0.5);", Code::kShape,
                 "state");
  expect_refusal("y = tract_onnx_lrn(x, size = 0);", Code::kShape, "size 0");
}

TEST(DialectErrors, OfTransformers) {
  expect_refusal("y = tract_transformers_apply_rope(v, v, v);", Code::kShape, "even");
  expect_refusal("y = tract_transformers_scaled_masked_softmax(x, m, scale = 0.0);", Code::kShape,
                 "scale 0");
  expect_refusal(
      "y = tract_transformers_scaled_masked_softmax(x, x, scale = 1.0, post_softmax_mask"
      " = true);",
      Code::kDType, "expected bool");
  expect_refusal("(y, z) = tract_transformers_causal_conv1d_update(x, m, x);", Code::kShape,
                 "weight");
  expect_refusal("(y, z) = tract_transformers_gdn_recurrent(v, v, v, x, x, v);", Code::kShape,
                 "log_decay");
  expect_refusal("y = tract_moe_ffn(m, m, e, e, k = 1, activation = 'silu', gate = 'raw');",
                 Code::kShape, "w2");
  expect_refusal("y = tract_moe_ffn(m, m, e, e, k = 0, activation = 'silu', gate = 'raw');",
                 Code::kShape, "k = 0");
  expect_refusal("y = tract_transformers_window_kv_sdpa(v, v, v, axis = 1, window = 3);",
                 Code::kShape, "expected 2");
}

TEST(DialectErrors, OfSumsAndLookups) {
  expect_refusal("y = tract_core_matmul(m, m, axes = [0, 1, 0]);", Code::kShape, "expected 6");
  expect_refusal("y = tract_core_matmul(m, m, axes = [0, 0, 1, 0, 0, 1]);", Code::kShape, "rank 2");
  expect_refusal(
      "y = tract_core_einsum_q([i, i], expr = 'abc,abd->cd', acc = 'i32', output ="
      " 'f32');",
      Code::kDType, "expected integers");
  expect_refusal("y = split(x, axis = 2, ratios = [1, 2]);", Code::kShape, "multiple");
  expect_refusal("y = constant(shape = [3], value = [1.0, 2.0]);", Code::kShape, "2 values");
  expect_refusal("y = tract_onnx_ml_direct_lookup(x, [1.0], 0.0);", Code::kDType, "integer");
  expect_refusal("y = tract_onnx_ml_reverse_lookup(x, [1, 2], 0);", Code::kDType, "one type");
  expect_refusal("y = tract_onnx_non_max_suppression(x, x);", Code::kShape, "expected [N, B, 4]");
}

TEST(DialectErrors, SelectionsOfInputsAreRefusedWhenAPlanIsMade) {
  const Graph g = graph_of({{"x", "2, 3"}}, "y = tract_onnx_non_zero(x, count_symbol = 'N');");
  EXPECT_EQ(g.fact(g.outputs[0]).to_string(), "2,N,I64");
  const auto plan = prepare(g.with_symbol("N", Dim(4)).value());
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, Code::kUnsupported) << plan.error().to_string();
}

}  // namespace
}  // namespace rill::ops::test
