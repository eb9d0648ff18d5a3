#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "cli/bench_streams.h"
#include "cli/commands.h"
#include "cli/exec.h"
#include "cli/plan_files.h"
#include "cli/say_impl.h"

namespace rill::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Return the sorted time at index `share` of their number, rounded down, or the last.
double quantile(const std::vector<double>& sorted, double share) {
  const auto rank = static_cast<size_t>(share * static_cast<double>(sorted.size()));
  return sorted[std::min(rank, sorted.size() - 1)];
}

void print_ms(std::string_view what, double seconds) {
  say("{} {:.4f} ms", what, seconds * 1e3);
}

/// Cut each streaming input of a pulsed plan to its first pulse.
Status cut_to_pulse(const Plan& plan, std::vector<Tensor>* values) {
  for (size_t i = 0; i < values->size(); ++i) {
    const PlanStream& stream = plan.inputs[i].stream;
    if (stream.axis < 0) continue;
    Tensor& value = (*values)[i];
    RILL_CHECK(value.extent(stream.axis) >= stream.pulse, "input ", plan.inputs[i].name, " has ",
               value.extent(stream.axis), " frames, a pulse takes ", stream.pulse);
    RILL_ASSIGN(value, frames_of(value, stream.axis, 0, stream.pulse));
  }
  return {};
}

/// Return the seconds of every run after warm-up. A stream continues from run to run.
std::vector<double> timed_runs(const LoopOptions& loop, bool pulsed, Session* session) {
  const Clock::time_point warm = Clock::now();
  for (int64_t i = 0; i < loop.warmup_loops; ++i) session->step();
  while (seconds_since(warm) * 1e3 < static_cast<double>(loop.warmup_ms)) session->step();
  std::vector<double> times;
  const Clock::time_point begin = Clock::now();
  do {
    if (!pulsed) session->reset();
    const Clock::time_point start = Clock::now();
    session->step();
    times.push_back(seconds_since(start));
  } while (static_cast<int64_t>(times.size()) < loop.max_loops &&
           seconds_since(begin) * 1e3 < static_cast<double>(loop.max_ms));
  return times;
}

BenchResult result_of(const std::vector<double>& times) {
  BenchResult out;
  out.runs = static_cast<int64_t>(times.size());
  const double sum = std::accumulate(times.begin(), times.end(), 0.0);
  out.metrics = {{"evaltime", sum / static_cast<double>(times.size())},
                 {"least_evaltime", *std::min_element(times.begin(), times.end())}};
  return out;
}

void print_streams(const BenchResult& result) {
  if (std::isnan(result.metric("turns_per_s"))) return;
  say("{:.1f} turns per second, all streams together.\n", result.metric("turns_per_s"));
  const auto print = [&](const char* name, double scale, const char* format) {
    const double value = result.metric(name);
    if (!std::isnan(value)) say(fmt::runtime(format), value * scale);
  };
  print("latency_p50", 1e3, "p50 turn {:.3f} ms/i.\n");
  print("latency_p95", 1e3, "p95 turn {:.3f} ms/i.\n");
  print("added_p50", 1e3, "p50 added latency {:.1f} ms.\n");
  print("added_p95", 1e3, "p95 added latency {:.1f} ms.\n");
  print("added_p99", 1e3, "p99 added latency {:.1f} ms.\n");
  print("late_fraction", 100, "{:.1f}% of the turns completed past the deadline.\n");
  print("occupancy", 1, "Mean occupancy {:.2f}.\n");
  print("admissions_per_s", 1, "{:.1f} sessions admitted per second.\n");
  print("starve_fraction", 100, "{:.1f}% of the admissions waited for a lane.\n");
  print("admission_p50", 1e3, "p50 wait for admission {:.1f} ms.\n");
  print("admission_p99", 1e3, "p99 wait for admission {:.1f} ms.\n");
  print("capacity", 1, "Capacity {:.0f} streams in real time.\n");
}

/// Print the measurements. Return whether other output may follow.
bool print_result(const CommonOptions& common, const BenchResult& result) {
  if (common.program.emit_jsonl) {
    for (const auto& [name, value] : result.metrics) {
      say("{{\"metric\":\"{}\",\"value\":{}}}\n", name, value);
    }
    return false;
  }
  const double seconds = result.metric("evaltime");
  if (common.program.machine_friendly) {
    say("real: {:.8f}\n", seconds);
  } else {
    say("Bench ran {} times, {:.3f} ms/i.\n", result.runs, seconds * 1e3);
  }
  print_streams(result);
  return !common.program.machine_friendly && common.flavor != Flavor::kTract;
}

void print_times(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  print_ms("min", times.front());
  print_ms("  p50", quantile(times, 0.5));
  print_ms("  p99", quantile(times, 0.99));
  print_ms("  max", times.back());
}

/// A stage before the first step, and its time.
struct Stage {
  std::string_view name;
  double seconds;
};

/// Measure the duration of steps over the first frames of `values`, and print it.
Status bench_session(const CommonOptions& common, const LoopOptions& loop, Session* session,
                     std::vector<Tensor>* values, Stage before) {
  RILL_TRY(cut_to_pulse(session->plan(), values));
  RILL_TRY(feed(session, *values));
  std::vector<double> times = timed_runs(loop, session->plan().stream_pulse > 0, session);
  if (!print_result(common, result_of(times))) return {};
  print_times(std::move(times));
  print_ms(str_cat("  ", before.name), before.seconds);
  say("  session {} bytes\n", session->memory_bytes());
  return {};
}

/// Options of `bench`.
struct BenchOptions {
  CheckOptions checks;
  ViewOptions view;
  LoopOptions loop;
  LoadOptions load;
};

Status bench_many(const CommonOptions& common, const BenchLoad& load, const Model& model,
                  const InputSource& source) {
  RILL_ASSIGN(const Turns turns, turns_of(common, model.graph, source));
  if (turns.values.empty()) return fail(Code::kArg, "the input is shorter than a pulse");
  RILL_ASSIGN(const BenchResult result, bench_streams(load, model.pulsed(), turns));
  print_result(common, result);
  return {};
}

class BenchCommand final : public ModelCommand {
 public:
  BenchCommand()
      : ModelCommand({"bench", kOnBench, "measure the duration of runs",
                      "rill model.nnef.tgz --set B=1 --pulse S=8 -O bench -R --max-time 200"}) {}

  void add_options(std::vector<Option>* out) override {
    add(&options_.checks, out);
    add(&options_.view, out);
    add(&options_.loop, out);
    add(&options_.load, out);
  }
  std::optional<std::string> wrong_value(const CommonOptions&) const override {
    if (auto wrong = cli::wrong_value(options_.checks)) return wrong;
    if (auto wrong = cli::wrong_value(options_.load)) return wrong;
    return cli::wrong_value(options_.loop);
  }

 protected:
  bool limits_plans() const override { return true; }
  bool takes_plan_files() const override { return true; }
  Status run_model(const CommonOptions& common, const Log& log, const Model& model) const override {
    RILL_ASSIGN(const InputSource source, InputSource::make(common, log));
    const BenchLoad load{options_.load, options_.loop, common.streaming.autobatch_sessions};
    RILL_TRY(check_bench_options(load));
    if (benches_streams(options_.load)) return bench_many(common, load, model, source);
    RILL_ASSIGN(InputValues inputs, source.resolve(model.graph, 0, 1));
    const Clock::time_point before = Clock::now();
    RILL_ASSIGN(const Ready ready, make_ready(model.graph, inputs.bindings, plan_options(common)));
    return bench_session(common, options_.loop, ready.session.get(), &inputs.values,
                         {"prepare", seconds_since(before)});
  }
  /// Measure the steps of one session, and the opening of the file.
  Status run_plan_file(const CommonOptions& common, const Log& log) const override {
    const Clock::time_point before = Clock::now();
    RILL_ASSIGN(const plan_file::OpenedPlan opened, open_plan_file(common));
    RILL_ASSIGN(const auto session, Session::make(opened.plan));
    const double seconds = seconds_since(before);
    RILL_TRY(use_threads(common.program.threads, session.get()));
    RILL_ASSIGN(const InputSource source, InputSource::make(common, log));
    RILL_ASSIGN(InputValues inputs, source.resolve(faces_of(*opened.plan), 0, 1));
    return bench_session(common, options_.loop, session.get(), &inputs.values, {"open", seconds});
  }

 private:
  BenchOptions options_;
};

}  // namespace

std::unique_ptr<Command> bench_command() { return std::make_unique<BenchCommand>(); }

}  // namespace rill::cli
