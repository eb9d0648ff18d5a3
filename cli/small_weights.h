#pragma once

#include <string>
#include <vector>

#include "cli/log.h"
#include "cli/pipeline.h"
#include "core/exec/weight_choice.h"
#include "kernels/target.h"

namespace rill::cli {

/// The distance of outputs from those of the original model, over all frames of all bundles.
struct OutputDifference {
  std::string name;
  double largest = 0;  ///< infinite if one of two values is NaN
  int64_t at = -1;     ///< index of the element that differs most, in its tensor
  double sum = 0;      ///< of the differences of all elements
  double value = 0;    ///< largest magnitude in the unchanged model's output
  int64_t count = 0;

  double mean() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
};

/// Add the differences of the elements of two outputs.
void add_difference(const Tensor& expected, const Tensor& got, OutputDifference* to);

/// Options of weight quantization.
struct WeightOptions {
  std::string format;          ///< f16, q8, q4 or int8; empty: unchanged
  bool int8 = false;           ///< the same as the format int8
  std::string max_difference;  ///< a number, or empty
  std::vector<std::string> keep;

  bool any() const { return int8 || !format.empty(); }
};

/// The weight quantization of a model, and its effect.
struct SmallWeights {
  WeightChoice choice;                    ///< with the format of each layer
  std::vector<OutputDifference> outputs;  ///< empty where nothing was measured
  std::vector<double> alone;              ///< by layer: the largest difference that it alone makes
  size_t runs = 0;                        ///< number of inputs
};

/// Apply `--weights` or `--int8`, measure its effect on the given inputs, and keep layers in f32 to
/// stay under `--max-difference`. Runs use the kernels of `target` if this CPU supports them.
/// Errors: kArg for requests without effect; kUnsupported if no layer supports the format, or if
/// too many layers would have to stay f32.
Result<SmallWeights> choose_weights(const CommonOptions& common, const WeightOptions& options,
                                    const Log& log, const Model& model,
                                    const kernels::Target& target);

/// Return a summary in one line, for the file.
std::string weights_line(const SmallWeights& weights);
/// Print a table, or JSON.
void print_weights(const ReportOptions& report, const SmallWeights& weights);

}  // namespace rill::cli
