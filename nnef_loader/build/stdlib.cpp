#include "nnef_loader/build/stdlib.h"

#include <array>

#include "core/base/search.h"
#include "nnef_loader/load.h"

namespace rill::nnef {
namespace {

constexpr std::string_view kText = R"NNEF(
fragment rcp(x: tensor<scalar>) -> (y: tensor<scalar>) { y = recip(x); }
fragment sqr(x: tensor<scalar>) -> (y: tensor<scalar>) { y = x ^ 2.0; }
fragment rsqr(x: tensor<scalar>) -> (y: tensor<scalar>) { y = x ^ -2.0; }
fragment log2(x: tensor<scalar>) -> (y: tensor<scalar>) { y = log(x) / log(2.0); }

fragment clamp(x: tensor<scalar>, a: tensor<scalar>, b: tensor<scalar>) -> (y: tensor<scalar>)
{ y = max(min(x, b), a); }

fragment mean_reduce(input: tensor<scalar>, axes: integer[]) -> (output: tensor<scalar>)
{ output = sum_reduce(input, axes = axes, normalize = true); }

fragment moments(input: tensor<scalar>, axes: integer[])
-> (mean: tensor<scalar>, variance: tensor<scalar>)
{
  mean = mean_reduce(input, axes = axes);
  variance = mean_reduce(sqr(input - mean), axes = axes);
}

fragment relu(x: tensor<scalar>) -> (y: tensor<scalar>) { y = max(x, 0.0); }

fragment softabs(x: tensor<scalar>, epsilon: scalar) -> (y: tensor<scalar>)
{ y = sqrt(sqr(x) + epsilon); }

fragment elu(x: tensor<scalar>) -> (y: tensor<scalar>)
{ y = select(x < 0.0, exp(x) - 1.0, x); }

fragment prelu(x: tensor<scalar>, alpha: tensor<scalar>) -> (y: tensor<scalar>)
{ y = select(x < 0.0, alpha * x, x); }

fragment max_pool(
  input: tensor<scalar>, size: integer[], border: string = 'constant',
  padding: (integer, integer)[] = [], stride: integer[] = [], dilation: integer[] = [])
-> (output: tensor<scalar>)
{
  output, index = max_pool_with_index(input, size = size, border = border, padding = padding,
                                      stride = stride, dilation = dilation);
}

fragment avg_pool(
  input: tensor<scalar>, size: integer[], border: string = 'constant',
  padding: (integer, integer)[] = [], stride: integer[] = [], dilation: integer[] = [])
-> (output: tensor<scalar>)
{
  output = box(input, size = size, border = border, padding = padding, stride = stride,
               dilation = dilation, normalize = true);
}

fragment rms_pool(
  input: tensor<scalar>, size: integer[], border: string = 'constant',
  padding: (integer, integer)[] = [], stride: integer[] = [], dilation: integer[] = [])
-> (output: tensor<scalar>)
{
  output = sqrt(avg_pool(sqr(input), size = size, border = border, padding = padding,
                         stride = stride, dilation = dilation));
}

fragment linear(input: tensor<scalar>, filter: tensor<scalar>, bias: tensor<scalar> = 0.0)
-> (output: tensor<scalar>)
{ output = matmul(input, filter, transposeB = true) + bias; }

fragment separable_conv(
  input: tensor<scalar>, plane_filter: tensor<scalar>, point_filter: tensor<scalar>,
  bias: tensor<scalar> = 0.0, border: string = 'constant',
  padding: (integer, integer)[] = [], stride: integer[] = [], dilation: integer[] = [],
  groups: integer = 1)
-> (output: tensor<scalar>)
{
  filtered = conv(input, plane_filter, border = border, padding = padding, stride = stride,
                  dilation = dilation, groups = 0);
  output = conv(filtered, point_filter, bias, groups = groups);
}

fragment separable_deconv(
  input: tensor<scalar>, plane_filter: tensor<scalar>, point_filter: tensor<scalar>,
  bias: tensor<scalar> = 0.0, border: string = 'constant',
  padding: (integer, integer)[] = [], stride: integer[] = [], dilation: integer[] = [],
  output_shape: integer[] = [], groups: integer = 1)
-> (output: tensor<scalar>)
{
  filtered = deconv(input, point_filter, groups = groups);
  output = deconv(filtered, plane_filter, bias, border = border, padding = padding,
                  stride = stride, dilation = dilation, output_shape = output_shape, groups = 0);
}

fragment local_response_normalization(
  input: tensor<scalar>, size: integer[], alpha: scalar = 1.0, beta: scalar = 0.5,
  bias: scalar = 1.0)
-> (output: tensor<scalar>)
{
  sigma = bias + alpha * box(sqr(input), size = size, normalize = true);
  output = input / (sigma ^ beta);
}

fragment local_mean_normalization(input: tensor<scalar>, size: integer[])
-> (output: tensor<scalar>)
{
  mean = box(input, size = size, normalize = true);
  output = sub(input, mean);
}

fragment local_variance_normalization(
  input: tensor<scalar>, size: integer[], bias: scalar = 0.0, epsilon: scalar = 0.0)
-> (output: tensor<scalar>)
{
  sigma = sqrt(box(sqr(input), size = size, normalize = true));
  output = input / max(sigma + bias, epsilon);
}

fragment local_contrast_normalization(
  input: tensor<scalar>, size: integer[], bias: scalar = 0.0, epsilon: scalar = 0.0)
-> (output: tensor<scalar>)
{
  centered = local_mean_normalization(input, size = size);
  output = local_variance_normalization(centered, size = size, bias = bias, epsilon = epsilon);
}

fragment l1_normalization(
  input: tensor<scalar>, axes: integer[], bias: scalar = 0.0, epsilon: scalar = 0.0)
-> (output: tensor<scalar>)
{
  sigma = sum_reduce(abs(input), axes = axes);
  output = input / max(sigma + bias, epsilon);
}

fragment l2_normalization(
  input: tensor<scalar>, axes: integer[], bias: scalar = 0.0, epsilon: scalar = 0.0)
-> (output: tensor<scalar>)
{
  sigma = sqrt(sum_reduce(sqr(input), axes = axes));
  output = input / max(sigma + bias, epsilon);
}

fragment batch_normalization(
  input: tensor<scalar>, mean: tensor<scalar>, variance: tensor<scalar>,
  offset: tensor<scalar>, scale: tensor<scalar>, epsilon: scalar)
-> (output: tensor<scalar>)
{ output = offset + scale * (input - mean) / sqrt(variance + epsilon); }
)NNEF";

constexpr std::array<std::string_view, 18> kUnsupported = {
    "update",          "argmax_pool",     "sample",
    "desample",        "copy_n",          "nearest_downsample",
    "area_downsample", "avg_roi_pool",    "max_roi_pool",
    "roi_resample",    "avg_roi_align",   "max_roi_align",
    "add_n",           "linear_quantize", "min_max_linear_quantize",
    "length_of",       "range_of",        "zero_point_linear_quantize"};

}  // namespace

std::string_view stdlib_text() { return kText; }

std::vector<std::string_view> standard_fragments() {
  constexpr std::string_view kWord = "\nfragment ";
  std::vector<std::string_view> names;
  for (size_t at = kText.find(kWord); at != std::string_view::npos; at = kText.find(kWord, at)) {
    at += kWord.size();
    names.push_back(kText.substr(at, kText.find('(', at) - at));
  }
  return names;
}

bool is_unsupported_khronos_op(std::string_view name) { return contains(kUnsupported, name); }

}  // namespace rill::nnef
