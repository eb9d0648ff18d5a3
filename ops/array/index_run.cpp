#include "ops/array/index_run.h"

#include "core/graph/course.h"
#include "ops/array/cast.h"
#include "ops/array/common.h"
#include "ops/array/range.h"

namespace rill::ops {
namespace {

using Function = Course::Function;

// Models compute an index from its range in a few nodes.
constexpr int kMostNodes = 24;

// Keeps products of strides within int64.
constexpr int64_t kMostStep = 1 << 24;

/// Return the run after an operation with a number `by`; nothing if the result is not a run.
std::optional<IndexRun> run_with(Function kind, IndexRun run, const Dim& by, bool number_first) {
  if (kind == Function::kMax && !run.low) {
    run.low = by;
    return run;
  }
  if (kind == Function::kMin && !run.high) {
    run.high = by;
    return run;
  }
  if (run.is_clamped()) return std::nullopt;
  if (kind == Function::kAdd) return run.moved(by);
  if (kind == Function::kSub && !number_first) return run.moved(-by);
  const auto times = by.to_int();
  if (kind != Function::kMul || !times || *times < 1 || *times > kMostStep ||
      run.step > kMostStep) {
    return std::nullopt;
  }
  return IndexRun{run.begin * by, run.end * by, run.step * *times, {}, {}};
}

std::optional<IndexRun> run_of(const Graph& graph, OutletId indices, int most_nodes) {
  if (most_nodes == 0) return std::nullopt;
  const Node* node = &graph.node(indices.node);
  const bool cast = cast_from(*node) && counts_rows(node->outputs[0].dtype);
  if (cast || node->op->traits().keeps_order) return run_of(graph, node->inputs[0], most_nodes - 1);
  if (const auto* range = node->op->as<Range>()) {
    if (range->step < 1 || range->step > kMostStep) return std::nullopt;
    return IndexRun{range->start, range->end, range->step, {}, {}};
  }
  const Course course = node->op->course();
  if (!course.is(Course::Form::kPerElement) || node->inputs.size() != 2) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const TensorPtr& konst = graph.fact(node->inputs[i]).konst;
    if (!konst || konst->volume() != 1 || !counts_rows(konst->dtype())) continue;
    const auto by = element_as_dim(*konst, 0);
    if (!by.ok()) return std::nullopt;
    const auto run = run_of(graph, node->inputs[1 - i], most_nodes - 1);
    return run ? run_with(course.function, *run, *by, i == 0) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

bool counts_rows(DType dtype) {
  return dtype == DType::kDim || (is_int(dtype) && dtype_size(dtype) >= 4);
}

std::optional<IndexRun> index_run_of(const Graph& graph, OutletId indices) {
  return run_of(graph, indices, kMostNodes);
}

std::optional<OffsetIndices> offset_indices_of(const Graph& graph, OutletId indices) {
  const Node& node = graph.node(indices.node);
  if (!node.op->course().is(Function::kAdd)) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const TensorPtr& konst = graph.fact(node.inputs[i]).konst;
    if (konst) return OffsetIndices{konst, node.inputs[1 - i]};
  }
  return std::nullopt;
}

}  // namespace rill::ops
