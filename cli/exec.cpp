#include "cli/exec.h"

#include <algorithm>

#include "core/optim/optim.h"
#include "plan_file/check.h"

namespace rill::cli {

namespace {

/// Check a prepared plan against the limits that were given.
Status check_limits(const Plan& plan, plan_file::Limits limits) {
  bool any = false;
  for (int64_t* limit : {&limits.max_session_bytes, &limits.max_step_work, &limits.max_ends,
                         &limits.max_buffers}) {
    any |= *limit > 0;
    if (*limit == 0) *limit = INT64_MAX;
  }
  if (!any) return {};
  Status status = plan_file::check(plan, limits).status();
  if (status.ok() || status.code() == Code::kNoMem) return status;
  return fail(Code::kUnsupported, "the cost of the plan is unknown: ", status.error().message)
      .hint("Leave out the limits on plans");
}

}  // namespace

bool optimizes(const CommonOptions& common) {
  return common.model.optimize || common.model.runtime == "cpu" ||
         common.model.runtime == "default";
}

Result<Graph> final_graph(const CommonOptions& common, const Graph& graph) {
  if (!optimizes(common)) return graph;
  return fuse(graph, common.model.optimize_rounds);
}

PlanOptions plan_options(const CommonOptions& common) {
  return {optimizes(common), common.program.threads, common.limits.plan};
}

Result<Ready> make_ready(const Graph& graph, const Bindings& bindings,
                         const PlanOptions& options) {
  const auto within = [&](const Plan& plan) { return check_limits(plan, options.limits); };
  auto ready =
      audit::make_ready(graph, bindings, options.optimize, options.threads, nullptr, within);
  if (ready.ok() || ready.error().code != Code::kSymbol) return ready;
  return ready.take_status().hint("Bind the symbols with --set SYMBOL=N");
}

namespace {

/// Inputs with at most this number of integers contain sizes rather than data.
constexpr int64_t kMostSizes = 16;

bool has_open_output(const Graph& graph) {
  std::vector<std::string> open;
  for (const OutletId& output : graph.outputs) {
    for (const Dim& extent : graph.fact(output).shape) extent.collect_symbols(&open);
  }
  return !open.empty();
}

/// Return the simplified graph with some inputs as constants, and the values of the others.
Result<Shaped> with_values(const Graph& bound, std::span<const Tensor> values, bool sizes_only) {
  Shaped out;
  Graph graph = bound;
  graph.inputs.clear();
  for (size_t i = 0; i < values.size(); ++i) {
    const bool size = !is_float(values[i].dtype()) && values[i].volume() <= kMostSizes;
    if (sizes_only && !size) {
      graph.inputs.push_back(bound.inputs[i]);
      out.inputs.push_back(values[i]);
      continue;
    }
    Node& node = graph.nodes[static_cast<size_t>(bound.inputs[i].node)];
    const auto value = std::make_shared<const Tensor>(values[i]);
    node.op = make_op<Const>(value);
    node.outputs[0] = Fact::of_tensor(value);
  }
  RILL_ASSIGN(out.graph, declutter(graph));
  return out;
}

}  // namespace

Result<std::optional<Shaped>> shaped_by_values(const Graph& bound, std::span<const Tensor> inputs) {
  for (const OutletId& input : bound.inputs) {
    for (const Dim& extent : bound.fact(input).shape) {
      if (!extent.is_const()) return std::optional<Shaped>();
    }
  }
  if (!has_open_output(bound) || inputs.size() != bound.inputs.size()) {
    return std::optional<Shaped>();
  }
  for (const bool sizes_only : {true, false}) {
    RILL_ASSIGN(Shaped shaped, with_values(bound, inputs, sizes_only));
    if (!has_open_output(shaped.graph)) return std::optional<Shaped>(std::move(shaped));
  }
  return fail(Code::kUnsupported,
              "extents of outputs depend on values, and are open once these are known");
}

void show_progress(StreamOptions* options) {
  options->progress = [](int64_t step, int64_t steps) {
    if (step + 1 == steps) {
      Log::progress("");
    } else if (step % 64 == 0) {
      Log::progress(str_cat("step ", step + 1, " of ", steps));
    }
  };
}

Status check_stream(const Reference& reference, const Graph& graph, const Plan& plan,
                    const StreamResult& result, bool open_end, const Log& log) {
  if (!reference.any()) return {};
  Status failure;
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    const std::string& label = graph.output_names[i];
    const std::string& node = graph.node(graph.outputs[i].node).name;
    RILL_ASSIGN(const Bundle::Item* item, reference.find(label, node));
    if (item == nullptr) continue;
    const int axis = plan.outputs[i].stream.axis;
    Tensor expected = item->turns[0];
    Tensor got = result.outputs[i];
    if (axis >= 0 && !result.exact_length[i] && expected.rank() == got.rank()) {
      const int64_t frames = std::min(expected.extent(axis), got.extent(axis));
      RILL_ASSIGN(got, frames_of(got, axis, 0, frames));
      if (open_end) {
        RILL_ASSIGN(expected, frames_of(expected, axis, 0, frames));
      }
    }
    Status status = reference.check_output(i, expected, got).in_node(label, "");
    if (status.ok()) {
      log.info(str_cat("Checked output #", i, ", ok."));
    } else if (failure.ok()) {
      failure = std::move(status);
    } else {
      log.error(status.error());
    }
  }
  return failure;
}

int64_t stream_frames(const Plan& plan, std::span<const Tensor> inputs) {
  const int counting = counting_input(plan);
  if (counting < 0) return 0;
  const auto i = static_cast<size_t>(counting);
  const PlanStream& stream = plan.inputs[i].stream;
  return scaled(inputs[i].extent(stream.axis), plan.stream_pulse, stream.pulse);
}

Status drop_partial_pulses(const Plan& plan, std::vector<Tensor>* inputs) {
  for (size_t i = 0; i < inputs->size(); ++i) {
    const PlanStream& stream = plan.inputs[i].stream;
    if (stream.axis < 0 || stream.pulse == 0) continue;
    Tensor& value = (*inputs)[i];
    const int64_t whole = value.extent(stream.axis) / stream.pulse * stream.pulse;
    RILL_ASSIGN(value, frames_of(value, stream.axis, 0, whole));
  }
  return {};
}

}  // namespace rill::cli
