#include "cli/bench_streams.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <thread>

#include "cli/say_impl.h"

namespace rill::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

double since(Clock::time_point start) { return Seconds(Clock::now() - start).count(); }

double mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double quantile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  const auto rank = static_cast<size_t>(share * static_cast<double>(sorted.size()));
  return sorted[std::min(rank, sorted.size() - 1)];
}

/// Durations and lateness of steps, in seconds; sorted once all streams are done.
struct Trial {
  int64_t streams = 0;
  std::vector<double> service;
  std::vector<double> added;
  double wall = 0;
  int64_t admissions = 0;
  std::vector<double> admitting;

  void merge(Trial other) {
    service.insert(service.end(), other.service.begin(), other.service.end());
    added.insert(added.end(), other.added.begin(), other.added.end());
    admitting.insert(admitting.end(), other.admitting.begin(), other.admitting.end());
    wall = std::max(wall, other.wall);
    admissions += other.admissions;
  }
  void sort() {
    std::sort(service.begin(), service.end());
    std::sort(added.begin(), added.end());
    std::sort(admitting.begin(), admitting.end());
  }
  double late_share(double deadline) const {
    if (added.empty()) return 0;
    const auto in_time = std::upper_bound(added.begin(), added.end(), deadline) - added.begin();
    return 1 - static_cast<double>(in_time) / static_cast<double>(added.size());
  }
};

class StreamBench {
 public:
  StreamBench(const BenchLoad& load, bool pulsed, const Turns& turns)
      : load_(load.load),
        loop_(load.loop),
        together_(load.autobatch_sessions),
        pulsed_(pulsed),
        turns_(turns),
        period_(load.load.turn_period_ms / 1e3),
        deadline_((load_.deadline_ms > 0 ? load_.deadline_ms : load_.turn_period_ms) / 1e3) {}

  Result<BenchResult> saturated();
  Result<BenchResult> paced();

 private:
  bool more(size_t turns, Clock::time_point start) const {
    return static_cast<int64_t>(turns) < loop_.max_loops &&
           since(start) * 1e3 < static_cast<double>(loop_.max_ms);
  }
  void turn(Session* session) const {
    if (!pulsed_) session->reset();
    session->step();
  }
  Result<Lanes> lanes(size_t count) const;
  std::vector<double> together(Lanes* lanes) const;
  Trial one_stream(Session* session, Clock::time_point start, int64_t index, int64_t count) const;
  Result<Trial> trial(int64_t streams) const;
  Result<std::pair<Trial, int64_t>> search(int64_t ceiling) const;
  bool holds(const Trial& trial) const {
    return !trial.added.empty() && quantile(trial.added, load_.deadline_quantile) <= deadline_;
  }
  BenchResult metrics_of(const Trial& trial) const;

  const LoadOptions& load_;
  const LoopOptions& loop_;
  int64_t together_;  ///< streams that are stepped together; 0: each alone
  bool pulsed_;
  const Turns& turns_;
  double period_;
  double deadline_;
};

Result<Lanes> StreamBench::lanes(size_t count) const {
  RILL_ASSIGN(Lanes out, Lanes::make(turns_.ready.plan, count));
  for (size_t i = 0; i < count; ++i) RILL_TRY(feed(&out.session(i), turns_.values[0]));
  return out;
}

std::vector<double> StreamBench::together(Lanes* lanes) const {
  std::vector<double> out;
  const Clock::time_point start = Clock::now();
  while (more(out.size() / lanes->size(), start)) {
    const Clock::time_point begin = Clock::now();
    for (size_t i = 0; !pulsed_ && i < lanes->size(); ++i) lanes->session(i).reset();
    lanes->step_together();
    out.insert(out.end(), lanes->size(), since(begin));
  }
  return out;
}

Result<BenchResult> StreamBench::saturated() {
  const auto count = static_cast<size_t>(std::max<int64_t>(1, load_.streams));
  RILL_ASSIGN(Lanes all, lanes(count));
  const Clock::time_point start = Clock::now();
  std::vector<double> times;
  if (together_ > 0) {
    times = together(&all);
  } else {
    std::vector<std::vector<double>> each(count);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        while (more(each[i].size(), start)) {
          const Clock::time_point begin = Clock::now();
          turn(&all.session(i));
          each[i].push_back(since(begin));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& part : each) times.insert(times.end(), part.begin(), part.end());
  }
  const double wall = since(start);
  std::sort(times.begin(), times.end());
  BenchResult out;
  out.runs = static_cast<int64_t>(times.size());
  out.metrics = {{"evaltime", mean(times)},
                 {"turns_per_s", static_cast<double>(times.size()) / wall},
                 {"latency_p50", quantile(times, 0.5)},
                 {"latency_p95", quantile(times, 0.95)}};
  if (together_ > 0) {
    out.metrics.emplace_back("occupancy", static_cast<double>(count));
  }
  return out;
}

/// One stream with a step due each period, at its own offset. With a session duration it ends from
/// time to time, and the next stream starts with the next due step.
Trial StreamBench::one_stream(Session* session, Clock::time_point start, int64_t index,
                              int64_t count) const {
  Trial out;
  std::mt19937_64 random(static_cast<uint64_t>(index));
  std::exponential_distribution<double> hold(1.0);
  const Clock::time_point grid =
      start + std::chrono::duration_cast<Clock::duration>(
                  Seconds(period_ * static_cast<double>(index) / static_cast<double>(count)));
  int64_t slot = 0;
  double ends_at = 0;
  while (more(out.service.size(), start)) {
    if (out.admissions == 0 || (load_.session_ms > 0 && since(start) >= ends_at)) {
      const Clock::time_point asked = Clock::now();
      session->reset();
      out.admitting.push_back(since(asked));
      ++out.admissions;
      ends_at = since(start) + std::max(period_, hold(random) * load_.session_ms / 1e3);
    }
    const Clock::time_point due = grid + std::chrono::duration_cast<Clock::duration>(
                                             Seconds(period_ * static_cast<double>(slot)));
    ++slot;
    std::this_thread::sleep_until(due);
    const Clock::time_point begin = Clock::now();
    turn(session);
    out.service.push_back(since(begin));
    out.added.push_back(std::max(0.0, since(due)));
    out.wall = since(grid);
  }
  return out;
}

Result<Trial> StreamBench::trial(int64_t streams) const {
  const auto count = static_cast<size_t>(streams);
  RILL_ASSIGN(Lanes all, lanes(count));
  for (size_t i = 0; i < count; ++i) turn(&all.session(i));
  const Clock::time_point start = Clock::now();
  std::vector<Trial> parts(count);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      parts[i] = one_stream(&all.session(i), start, static_cast<int64_t>(i), streams);
    });
  }
  for (std::thread& thread : threads) thread.join();
  Trial out;
  out.streams = streams;
  for (Trial& part : parts) out.merge(std::move(part));
  out.sort();
  say_to(stderr, "{:4} streams: {:7.1f} ms added at q{}, {:5.1f}% late\n", streams,
         quantile(out.added, load_.deadline_quantile) * 1e3, load_.deadline_quantile,
         out.late_share(deadline_) * 100);
  return out;
}

/// Double the load until a deadline is missed, then bisect.
Result<std::pair<Trial, int64_t>> StreamBench::search(int64_t ceiling) const {
  Trial held;
  Trial broken;
  int64_t floor = 0;
  int64_t broke = 0;
  for (int64_t streams = 1; broke == 0;) {
    RILL_ASSIGN(Trial now, trial(streams));
    if (!holds(now)) {
      broke = streams;
      broken = std::move(now);
      break;
    }
    floor = streams;
    held = std::move(now);
    if (streams == ceiling) break;
    streams = std::min(streams * 2, ceiling);
  }
  while (broke > floor + 1) {
    const int64_t streams = floor + (broke - floor) / 2;
    RILL_ASSIGN(Trial now, trial(streams));
    (holds(now) ? floor : broke) = streams;
    (floor == streams ? held : broken) = std::move(now);
  }
  return std::pair(floor > 0 ? std::move(held) : std::move(broken), floor);
}

BenchResult StreamBench::metrics_of(const Trial& trial) const {
  BenchResult out;
  out.runs = static_cast<int64_t>(trial.service.size());
  const auto runs = static_cast<double>(out.runs);
  out.metrics = {{"evaltime", mean(trial.service)},
                 {"streams", static_cast<double>(trial.streams)},
                 {"turns_per_s", trial.wall > 0 ? runs / trial.wall : 0},
                 {"added_p50", quantile(trial.added, 0.5)},
                 {"added_p95", quantile(trial.added, 0.95)},
                 {"added_p99", quantile(trial.added, 0.99)},
                 {"late_fraction", trial.late_share(deadline_)}};
  if (trial.admissions > trial.streams) {
    out.metrics.emplace_back("admissions_per_s",
                             static_cast<double>(trial.admissions) / trial.wall);
    out.metrics.emplace_back("starve_fraction", 0.0);  // a separate session is always free
    out.metrics.emplace_back("admission_p50", quantile(trial.admitting, 0.5));
    out.metrics.emplace_back("admission_p99", quantile(trial.admitting, 0.99));
  }
  return out;
}

Result<BenchResult> StreamBench::paced() {
  if (static_cast<double>(loop_.max_ms) < 4 * load_.turn_period_ms) {
    return fail(Code::kArg, "A turn period of ", load_.turn_period_ms,
                " ms wants four periods of run at least, --max-time gives ", loop_.max_ms, " ms");
  }
  if (load_.session_ms > 0 && !pulsed_) {
    return fail(Code::kArg,
                "Churn ends a session and admits another in its place, which only means something "
                "for a model carrying a session across turns");
  }
  const int64_t ceiling = load_.streams > 0 ? load_.streams : together_ > 0 ? together_ : 1;
  if (!load_.capacity) {
    RILL_ASSIGN(const Trial load, trial(ceiling));
    return metrics_of(load);
  }
  RILL_ASSIGN(const auto found, search(ceiling));
  BenchResult out = metrics_of(found.first);
  out.metrics.emplace_back("capacity", static_cast<double>(found.second));
  return out;
}

}  // namespace

double BenchResult::metric(std::string_view name) const {
  for (const auto& [key, value] : metrics) {
    if (key == name) return value;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

bool benches_streams(const LoadOptions& load) {
  return load.streams > 1 || load.turn_period_ms > 0;
}

Status check_bench_options(const BenchLoad& bench) {
  const LoadOptions& load = bench.load;
  if (load.turn_period_ms <= 0) {
    if (load.capacity) {
      return fail(Code::kArg, "--capacity searches a real-time load: it wants --turn-period");
    }
    if (load.deadline_ms > 0) {
      return fail(Code::kArg,
                  "--deadline times a turn against the wall clock: it wants --turn-period");
    }
    if (load.session_ms > 0) {
      return fail(Code::kArg,
                  "--session-duration paces a session against the wall clock: it wants "
                  "--turn-period");
    }
  }
  if (!(load.deadline_quantile >= 0 && load.deadline_quantile <= 1)) {
    return fail(Code::kArg, "--deadline-quantile reads the deadline at a q in 0..1, got ",
                load.deadline_quantile);
  }
  if (bench.autobatch_sessions > 0 && load.streams > bench.autobatch_sessions) {
    return fail(Code::kArg, counted(load.streams, "stream"), " over ", bench.autobatch_sessions,
                " autobatch sessions: a stream holds one for its whole life");
  }
  return {};
}

Result<BenchResult> bench_streams(const BenchLoad& load, bool pulsed, const Turns& turns) {
  StreamBench bench(load, pulsed, turns);
  return load.load.turn_period_ms > 0 ? bench.paced() : bench.saturated();
}

}  // namespace rill::cli
