#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "cli/commands.h"
#include "cli/exec.h"

namespace rill::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The value below which a share of the sorted times lies: nearest rank.
double quantile(const std::vector<double>& sorted, double share) {
  const auto rank = static_cast<size_t>(share * static_cast<double>(sorted.size()));
  return sorted[std::min(rank, sorted.size() - 1)];
}

void print_ms(std::string_view what, double seconds) {
  fmt::print("{} {:.4f} ms", what, seconds * 1e3);
}

/// Of a pulsed plan, the first pulse of each streaming input.
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

/// Seconds of every run, warm-up left out. A stream goes on from run to run.
std::vector<double> timed_runs(const Args& args, bool pulsed, Session* session) {
  const Clock::time_point warm = Clock::now();
  for (int64_t i = 0; i < args.warmup_loops; ++i) session->step();
  while (seconds_since(warm) * 1e3 < static_cast<double>(args.warmup_ms)) session->step();
  std::vector<double> times;
  const Clock::time_point begin = Clock::now();
  do {
    if (!pulsed) session->reset();
    const Clock::time_point start = Clock::now();
    session->step();
    times.push_back(seconds_since(start));
  } while (static_cast<int64_t>(times.size()) < args.max_loops &&
           seconds_since(begin) * 1e3 < static_cast<double>(args.max_ms));
  return times;
}

void print_times(const Args& args, std::vector<double> times) {
  const double sum = std::accumulate(times.begin(), times.end(), 0.0);
  const double mean = sum / static_cast<double>(times.size());
  if (args.machine_friendly) {
    fmt::print("real: {:.8f}\n", mean);
    return;
  }
  fmt::print("Bench ran {} times, {:.3f} ms/i.\n", times.size(), mean * 1e3);
  if (args.flavor == Flavor::kTract) return;
  std::sort(times.begin(), times.end());
  print_ms("min", times.front());
  print_ms("  p50", quantile(times, 0.5));
  print_ms("  p99", quantile(times, 0.99));
  print_ms("  max", times.back());
}

}  // namespace

Status bench_command(const Args& args, const Log& log, const Model& model) {
  RILL_ASSIGN(const InputSource source, InputSource::make(args, log));
  RILL_ASSIGN(InputValues inputs, source.resolve(model.graph, 0, 1));
  const Clock::time_point before = Clock::now();
  RILL_ASSIGN(const Ready ready, make_ready(model.graph, inputs.bindings, optimizes(args)));
  const double prepare_s = seconds_since(before);
  RILL_TRY(cut_to_pulse(*ready.plan, &inputs.values));
  RILL_TRY(feed(ready.session.get(), inputs.values));
  print_times(args, timed_runs(args, model.pulsed(), ready.session.get()));
  if (log.tract() || args.machine_friendly) return {};
  print_ms("  prepare", prepare_s);
  fmt::print("  session {} bytes\n", ready.session->memory_bytes());
  return {};
}

}  // namespace rill::cli
