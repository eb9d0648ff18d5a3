#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/exec/plan.h"
#include "tests/operators/case.h"

namespace rill::test {

/// Bytes that make small numbers of every type, in the same place of two views: indices stay within
/// their axes.
void fill_alike(const View& first, const View& second, size_t input, int step);

/// Run two plans side by side, over noise, and compare all outputs after every step, and what both
/// keep. A stream ends in the last one.
void expect_same_runs(const Plan& plan, const std::shared_ptr<const Plan>& other, int steps);

/// The source of a plan.
struct PreparedFrom {
  const Graph& graph;
  PrepareOptions options;
};

using SeePlan = std::function<void(const PreparedFrom& from, const Plan& plan, int steps)>;

/// Visit the plans of a case: streamed at each of its pulses, whole at each of its lengths; with
/// original weights, and with quantized ones.
void for_each_plan(const Case& a_case, const SeePlan& see);
/// Visit the plans of a graph in text with one input of shape [1, S, 4].
void for_each_plan_of_text(const char* statements, const SeePlan& see);
/// Visit the plans of all models of tests/models: streamed by the smallest legal pulse and by three
/// times as many frames, or whole. Return the number of models.
int64_t for_each_plan_of_models(const SeePlan& see);

/// Statements about what is known of a stream at its end, or by its positions, which no case of an
/// operator has.
extern const std::vector<const char*> kKeptOfStreams;

}  // namespace rill::test
