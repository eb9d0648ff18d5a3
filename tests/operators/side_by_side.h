#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/exec/plan.h"
#include "tests/operators/case.h"

namespace rill::test {

/// Fill two views of any type with equal small numbers, which are valid as indices.
void fill_alike(const View& first, const View& second, size_t input, int step);

/// Run two plans side by side on noise. Compare all outputs and kept states after every step. A
/// stream ends in the last step.
void expect_same_runs(const Plan& plan, const std::shared_ptr<const Plan>& other, int steps);

/// The graph and options of a plan.
struct PreparedFrom {
  const Graph& graph;
  PrepareOptions options;
};

using SeePlan = std::function<void(const PreparedFrom& from, const Plan& plan, int steps)>;

/// Visit the plans of a case: streamed at each of its pulses, whole at each of its lengths, with
/// original and with quantized weights.
void for_each_plan(const Case& a_case, const SeePlan& see);
/// Visit the plans of a graph in text with one input of shape [1, S, 4].
void for_each_plan_of_text(const char* statements, const SeePlan& see);
/// Visit the plans of all models of tests/models: streamed at the smallest legal pulse and at three
/// times that pulse, or whole. Return the number of models.
int64_t for_each_plan_of_models(const SeePlan& see);

/// Statements that read values known at the end of a stream, or its positions. No case of an
/// operator has them.
extern const std::vector<const char*> kKeptOfStreams;

}  // namespace rill::test
