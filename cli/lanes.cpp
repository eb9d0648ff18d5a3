#include "cli/lanes.h"

#include <algorithm>

#include "cli/commands.h"
#include "core/run/together.h"

namespace rill::cli {
namespace {

int64_t ceil_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Return the number of steps: those that the inputs fill, and those that drain the first output.
int64_t pulses_of(const CommonOptions& common, const Plan& plan, std::span<const Tensor> values) {
  int64_t turns = 0;
  int64_t frames = 0;
  int64_t pulse = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const PlanStream& stream = plan.inputs[i].stream;
    if (stream.axis < 0 || stream.pulse == 0) continue;
    const int64_t extent = values[i].extent(stream.axis);
    turns = std::max(turns, common.values.drop_partial_pulse ? extent / stream.pulse
                                                             : ceil_of(extent, stream.pulse));
    if (pulse == 0) frames = extent;
    if (pulse == 0) pulse = stream.pulse;
  }
  if (common.values.drop_partial_pulse || plan.outputs.empty() || pulse == 0) return turns;
  const PlanStream& out = plan.outputs[0].stream;
  if (out.axis < 0 || out.pulse == 0) return turns;
  return std::max(turns, ceil_of(frames * out.pulse / pulse + out.delay, out.pulse));
}

/// Return the frames of one pulse, with zeros after the end.
Result<Tensor> pulse_at(const Tensor& whole, const PlanStream& stream, int64_t turn) {
  std::vector<int64_t> shape = whole.shape();
  shape[static_cast<size_t>(stream.axis)] = stream.pulse;
  RILL_ASSIGN(Tensor out, Tensor::zeros(whole.dtype(), std::move(shape), whole.qparams()));
  const int64_t begin = turn * stream.pulse;
  const int64_t count = std::min(stream.pulse, whole.extent(stream.axis) - begin);
  if (count <= 0) return out;
  RILL_ASSIGN(const Tensor frames, frames_of(whole, stream.axis, begin, count));
  View to = out.view();
  to.shape[static_cast<size_t>(stream.axis)] = count;
  copy_view(frames.view(), to);
  return out;
}

}  // namespace

Result<Turns> turns_of(const CommonOptions& common, const Graph& graph, const InputSource& source) {
  Turns out;
  RILL_ASSIGN(InputValues first, source.resolve(graph, 0));
  RILL_ASSIGN(out.ready,
              make_ready(graph, first.bindings, {optimizes(common), 1, common.limits.plan}));
  const Plan& plan = *out.ready.plan;
  if (plan.stream_symbol.empty()) {
    const size_t turns = source.turns(graph);
    for (size_t turn = 0; turn < turns; ++turn) {
      RILL_ASSIGN(InputValues inputs, source.resolve(graph, turn));
      if (inputs.bindings != first.bindings) {
        return fail(Code::kShape, "turn ", turn, " has ", bindings_text(inputs.bindings),
                    ", turn 0 has ", bindings_text(first.bindings))
            .hint("Streams that run side by side take turns of one size");
      }
      out.values.push_back(std::move(inputs.values));
    }
    return out;
  }
  const int64_t turns = pulses_of(common, plan, first.values);
  for (int64_t turn = 0; turn < turns; ++turn) {
    std::vector<Tensor> values;
    for (size_t i = 0; i < first.values.size(); ++i) {
      const PlanStream& stream = plan.inputs[i].stream;
      if (stream.axis < 0 || stream.pulse == 0) {
        values.push_back(first.values[i]);
        continue;
      }
      RILL_ASSIGN(Tensor pulse, pulse_at(first.values[i], stream, turn));
      values.push_back(std::move(pulse));
    }
    out.values.push_back(std::move(values));
  }
  return out;
}

Result<Lanes> Lanes::make(const std::shared_ptr<const Plan>& plan, size_t count) {
  Lanes out;
  for (size_t i = 0; i < count; ++i) {
    RILL_ASSIGN(auto session, Session::make(plan));
    out.sessions_.push_back(std::move(session));
  }
  return out;
}

void Lanes::step_together() {
  if (sessions_.empty()) return;
  rill::step_together(sessions_[0]->plan(), sessions_.size(),
                      [&](size_t i) { return sessions_[i].get(); });
}

}  // namespace rill::cli
