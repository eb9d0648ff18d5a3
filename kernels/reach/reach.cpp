#include "kernels/reach/reach.h"

#include <algorithm>
#include <chrono>

namespace rill::kernels {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Tier kTiers[] = {Tier::kAvx512, Tier::kAvx2, Tier::kNeon, Tier::kSse42, Tier::kScalar};

double ns_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

/// Return the number of calls per clock reading for which reading the clock costs little.
int64_t calls_for(const ReachRun& run) {
  constexpr double kLookNs = 20'000;
  run.run();
  const auto begin = Clock::now();
  run.run();
  const double once = std::max(1.0, ns_since(begin));
  return std::max<int64_t>(1, static_cast<int64_t>(kLookNs / once));
}

/// Return the least time of a call over a period.
double least_ns(const ReachRun& run, double while_ns) {
  const int64_t calls = calls_for(run);
  double best = 1e18;
  const auto begin = Clock::now();
  for (int looks = 0; looks < 5 || ns_since(begin) < while_ns; ++looks) {
    const auto start = Clock::now();
    for (int64_t i = 0; i < calls; ++i) run.run();
    best = std::min(best, ns_since(start) / static_cast<double>(calls));
    if (looks >= 1 && ns_since(begin) > 20 * while_ns) break;
  }
  return best;
}

void set_bound(const Machine& machine, const ReachCase& work, Reach* reach) {
  const Level& level = machine.level_of(work.bytes);
  const double by_reading = static_cast<double>(work.bytes) / level.gbytes;
  const double by_arithmetic = work.flops > 0 ? work.flops / machine.peak(reach->tier) : 0;
  reach->bound_ns = std::max(by_reading, by_arithmetic);
  reach->bound = by_arithmetic > by_reading ? "FMA" : level.name;
}

bool wanted(const ReachCase& work, const std::string& filter) {
  return (work.family + " " + work.shape).find(filter) != std::string::npos;
}

}  // namespace

std::vector<ReachRow> measure_reach(const Machine& machine, const std::string& filter) {
  constexpr double kWhileNs = 4e6;
  std::vector<ReachRow> rows;
  for (const ReachCase& work : reach_cases()) {
    if (!wanted(work, filter)) continue;
    ReachRow row{work.family, work.shape, {}};
    const std::string chosen = work.make(active_tier()).kernel;
    for (const Tier tier : kTiers) {
      if (!supports(detected_tier(), tier)) continue;
      const ReachRun run = work.make(tier);
      Reach reach;
      reach.kernel = run.kernel;
      reach.tier = tier;
      reach.ns = least_ns(run, kWhileNs);
      reach.gflops = work.flops / reach.ns;
      reach.gbytes = static_cast<double>(work.bytes) / reach.ns;
      reach.chosen = run.kernel == chosen;
      set_bound(machine, work, &reach);
      row.kernels.push_back(std::move(reach));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

namespace {

const Reach* fastest(const ReachRow& row) {
  const auto less = [](const Reach& a, const Reach& b) { return a.ns < b.ns; };
  const auto found = std::min_element(row.kernels.begin(), row.kernels.end(), less);
  return found == row.kernels.end() ? nullptr : &*found;
}

const Reach* chosen(const ReachRow& row) {
  const auto found = std::find_if(row.kernels.begin(), row.kernels.end(),
                                  [](const Reach& reach) { return reach.chosen; });
  return found == row.kernels.end() ? nullptr : &*found;
}

}  // namespace

bool seems_wrong(const ReachRow& row, double allowed) {
  const Reach* taken = chosen(row);
  return taken && taken->ns > fastest(row)->ns * (1 + allowed);
}

std::vector<WrongChoice> wrong_choices(const std::vector<ReachRow>& rows, double allowed) {
  constexpr int kRounds = 15;
  constexpr double kWhileNs = 1e6;
  std::vector<WrongChoice> wrong;
  const std::vector<ReachCase> cases = reach_cases();
  for (const ReachRow& row : rows) {
    if (!seems_wrong(row, allowed)) continue;
    const auto work = std::find_if(cases.begin(), cases.end(), [&](const ReachCase& c) {
      return c.family == row.family && c.shape == row.shape;
    });
    // Reallocate the arrays every round: the speed of large reads depends on their address.
    double one_ns = 1e18;
    double other_ns = 1e18;
    for (int round = 0; round < kRounds; ++round) {
      one_ns = std::min(one_ns, least_ns(work->make(chosen(row)->tier), kWhileNs));
      other_ns = std::min(other_ns, least_ns(work->make(fastest(row)->tier), kWhileNs));
    }
    if (one_ns <= other_ns * (1 + allowed)) continue;
    wrong.push_back(
        {row.family, row.shape, chosen(row)->kernel, fastest(row)->kernel, one_ns / other_ns});
  }
  return wrong;
}

}  // namespace rill::kernels
