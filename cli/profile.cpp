#include <algorithm>
#include <chrono>

#include "cli/exec.h"
#include "cli/notes.h"
#include "transforms/scan_state.h"

namespace rill::cli {
namespace {

using Clock = std::chrono::steady_clock;

// The number of timed iterations of a body: enough for a steady mean, few compared to the runs of
// the model.
constexpr int kBodyRuns = 50;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Cut the inputs of a pulsed graph to one pulse.
Result<std::vector<Tensor>> one_pulse(const Plan& plan, std::span<const Tensor> values) {
  std::vector<Tensor> out(values.begin(), values.end());
  for (size_t i = 0; i < out.size(); ++i) {
    const PlanStream& stream = plan.inputs[i].stream;
    if (stream.axis < 0) continue;
    RILL_CHECK(out[i].extent(stream.axis) >= stream.pulse, "input ", plan.inputs[i].name, " has ",
               out[i].extent(stream.axis), " frames, a pulse takes ", stream.pulse);
    RILL_ASSIGN(out[i], frames_of(out[i], stream.axis, 0, stream.pulse));
  }
  return out;
}

// The median considers at most this number of runs, the first ones.
constexpr size_t kMostSamples = 20000;

double at_rank(std::vector<double>* sorted, double quantile) {
  const auto rank = static_cast<size_t>(quantile * static_cast<double>(sorted->size()));
  return (*sorted)[std::min(rank, sorted->size() - 1)];
}

/// The times of every node over many runs, in nanoseconds.
class Times {
 public:
  explicit Times(size_t nodes) : total_(nodes), now_(nodes), samples_(nodes) {}

  void run(Session* session) {
    std::fill(now_.begin(), now_.end(), 0);
    spans_.clear();
    const Clock::time_point start = Clock::now();
    session->step_timed([&](int node, int64_t ns) {
      if (node < 0) return;
      now_[static_cast<size_t>(node)] += ns;
      const std::chrono::duration<double, std::nano> after = Clock::now() - start;
      spans_.push_back({node, std::max<int64_t>(0, static_cast<int64_t>(after.count()) - ns), ns});
    });
    const double entire = ms_since(start);
    if (fastest_.empty() || entire < fastest_ms_) {
      fastest_ms_ = entire;
      fastest_ = spans_;
    }
    for (size_t i = 0; i < now_.size(); ++i) {
      total_[i] += now_[i];
      if (samples_[i].size() < kMostSamples) samples_[i].push_back(static_cast<double>(now_[i]));
    }
    ++runs_;
  }
  int64_t runs() const { return runs_; }
  const std::vector<Span>& fastest() const { return fastest_; }
  /// Add the measured times, multiplied by `iterations`, to the notes of the nodes.
  void note(double iterations, std::vector<NodeNotes>* nodes) {
    for (size_t i = 0; i < std::min(total_.size(), nodes->size()); ++i) {
      if (total_[i] == 0) continue;
      const double scale = iterations * 1e-9;
      std::vector<double>& sorted = samples_[i];
      std::sort(sorted.begin(), sorted.end());
      NodeNotes& node = (*nodes)[i];
      node.seconds = static_cast<double>(total_[i]) / static_cast<double>(runs_) * scale;
      node.min_seconds = sorted.front() * scale;
      node.median_seconds = at_rank(&sorted, 0.5) * scale;
      node.p99_seconds = at_rank(&sorted, 0.99) * scale;
      node.max_seconds = sorted.back() * scale;
      node.calls = static_cast<int64_t>(iterations);
    }
  }

 private:
  std::vector<int64_t> total_, now_;
  std::vector<std::vector<double>> samples_;  ///< by node
  std::vector<Span> spans_, fastest_;
  double fastest_ms_ = 0;
  int64_t runs_ = 0;
};

/// Time one iteration of a loop's body on zeros, and subtract all iterations from the loop's own
/// time. The total stays as measured: if the iterations took longer than the loop, their times are
/// scaled down.
void profile_body(const Graph& graph, const Node& node, NodeNotes* notes) {
  const Graph* body = node.op->nested();
  const auto iterations = transforms::loop_iterations(graph, node).to_int();
  if (body == nullptr || !iterations || !notes->seconds) return;
  PrepareOptions options;
  options.optimize = false;
  const auto plan = prepare(*body, options);
  if (!plan.ok()) return;
  const auto session = Session::make(*plan);
  if (!session.ok()) return;
  Times times((*plan)->nodes.size());
  for (int i = 0; i < kBodyRuns; ++i) times.run(session->get());
  notes->body.resize(body->nodes.size());
  times.note(static_cast<double>(*iterations), &notes->body);
  double sum = 0;
  for (const NodeNotes& each : notes->body) sum += each.seconds.value_or(0);
  const double scale = sum > *notes->seconds ? *notes->seconds / sum : 1;
  for (NodeNotes& each : notes->body) {
    if (!each.seconds) continue;
    for (auto* seconds : {&each.seconds, &each.min_seconds, &each.median_seconds, &each.p99_seconds,
                          &each.max_seconds}) {
      **seconds *= scale;
    }
  }
  notes->seconds = std::max(0.0, *notes->seconds - sum * scale);
}

}  // namespace

Status profile(int64_t threads, const LoopOptions& loop, bool folded, const Graph& graph,
               const InputValues& inputs, Notes* notes) {
  PrepareOptions options;
  options.optimize = false;
  RILL_ASSIGN(const auto plan, prepare(graph, options));
  RILL_ASSIGN(const auto session, Session::make(plan));
  RILL_TRY(use_threads(threads, session.get()));
  RILL_ASSIGN(const std::vector<Tensor> values, one_pulse(*plan, inputs.values));
  RILL_TRY(feed(session.get(), values));
  const bool pulsed = !plan->stream_symbol.empty();

  const Clock::time_point warm = Clock::now();
  for (int64_t i = 0; i < loop.warmup_loops; ++i) session->step();
  while (ms_since(warm) < static_cast<double>(loop.warmup_ms)) session->step();

  Times times(plan->nodes.size());
  double entire_ms = 0;
  const Clock::time_point begin = Clock::now();
  do {
    if (!pulsed) session->reset();
    const Clock::time_point start = Clock::now();
    times.run(session.get());
    entire_ms += ms_since(start);
  } while (times.runs() < loop.max_loops && ms_since(begin) < static_cast<double>(loop.max_ms));

  notes->profile = true;
  notes->iterations = times.runs();
  notes->seconds_per_run = entire_ms / static_cast<double>(times.runs()) * 1e-3;
  notes->nodes.resize(graph.nodes.size());
  times.note(1, &notes->nodes);
  notes->timeline = times.fastest();
  for (size_t i = 0; !folded && i < graph.nodes.size(); ++i) {
    profile_body(graph, graph.nodes[i], &notes->nodes[i]);
  }
  return {};
}

}  // namespace rill::cli
