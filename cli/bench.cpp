#include "cli/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "cli/bench_streams.h"
#include "cli/commands.h"
#include "cli/exec.h"
#include "cli/say_impl.h"

namespace rill::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Return a quantile of the sorted times by nearest rank.
double quantile(const std::vector<double>& sorted, double share) {
  const auto rank = static_cast<size_t>(share * static_cast<double>(sorted.size()));
  return sorted[std::min(rank, sorted.size() - 1)];
}

void print_ms(std::string_view what, double seconds) {
  say("{} {:.4f} ms", what, seconds * 1e3);
}

/// Return the first pulse of each streaming input of a pulsed plan.
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

/// Seconds of every run after warm-up. A stream continues from run to run.
std::vector<double> timed_runs(const Args& args, bool pulsed, Session* session) {
  const Clock::time_point warm = Clock::now();
  for (int64_t i = 0; i < args.loop.warmup_loops; ++i) session->step();
  while (seconds_since(warm) * 1e3 < static_cast<double>(args.loop.warmup_ms)) session->step();
  std::vector<double> times;
  const Clock::time_point begin = Clock::now();
  do {
    if (!pulsed) session->reset();
    const Clock::time_point start = Clock::now();
    session->step();
    times.push_back(seconds_since(start));
  } while (static_cast<int64_t>(times.size()) < args.loop.max_loops &&
           seconds_since(begin) * 1e3 < static_cast<double>(args.loop.max_ms));
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
  say("{:.1f} turns/sec over every stream together.\n", result.metric("turns_per_s"));
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
  print("admission_p50", 1e3, "p50 wait to admit one {:.1f} ms.\n");
  print("admission_p99", 1e3, "p99 wait to admit one {:.1f} ms.\n");
  print("capacity", 1, "Capacity {:.0f} streams in real time.\n");
}

/// Print the measurements; false if no other output may follow.
bool print_result(const Args& args, const BenchResult& result) {
  if (args.program.emit_jsonl) {
    for (const auto& [name, value] : result.metrics) {
      say("{{\"metric\":\"{}\",\"value\":{}}}\n", name, value);
    }
    return false;
  }
  const double seconds = result.metric("evaltime");
  if (args.program.machine_friendly) {
    say("real: {:.8f}\n", seconds);
  } else {
    say("Bench ran {} times, {:.3f} ms/i.\n", result.runs, seconds * 1e3);
  }
  print_streams(result);
  return !args.program.machine_friendly && args.flavor != Flavor::kTract;
}

void print_times(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  print_ms("min", times.front());
  print_ms("  p50", quantile(times, 0.5));
  print_ms("  p99", quantile(times, 0.99));
  print_ms("  max", times.back());
}

Status bench_many(const Args& args, const Model& model, const InputSource& source) {
  RILL_ASSIGN(const Turns turns, turns_of(args, model.graph, source));
  if (turns.values.empty()) return fail(Code::kArg, "the input is shorter than a pulse");
  RILL_ASSIGN(const BenchResult result, bench_streams(args, model.pulsed(), turns));
  print_result(args, result);
  return {};
}

}  // namespace

Status bench_command(const Args& args, const Log& log, const Model& model) {
  RILL_ASSIGN(const InputSource source, InputSource::make(args, log));
  RILL_TRY(check_bench_options(args));
  if (benches_streams(args)) return bench_many(args, model, source);
  RILL_ASSIGN(InputValues inputs, source.resolve(model.graph, 0, 1));
  const Clock::time_point before = Clock::now();
  RILL_ASSIGN(const Ready ready,
              make_ready(model.graph, inputs.bindings, optimizes(args), args.program.threads));
  return bench_session(args, ready.session.get(), &inputs.values,
                       {"prepare", seconds_since(before)});
}

Status bench_session(const Args& args, Session* session, std::vector<Tensor>* values,
                     Stage before) {
  RILL_TRY(cut_to_pulse(session->plan(), values));
  RILL_TRY(feed(session, *values));
  std::vector<double> times = timed_runs(args, session->plan().stream_pulse > 0, session);
  if (!print_result(args, result_of(times))) return {};
  print_times(std::move(times));
  print_ms(str_cat("  ", before.name), before.seconds);
  say("  session {} bytes\n", session->memory_bytes());
  return {};
}

}  // namespace rill::cli
