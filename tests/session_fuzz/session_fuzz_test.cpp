// Random calls of sessions, compared with the whole run bit for bit. RILL_CALLS sets the total
// number of calls; RILL_CALLS_SEED another seed than 1.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/session_fuzz/wander.h"

namespace rill::test {
namespace {

constexpr int64_t kCalls = 150000;
constexpr int64_t kRound = 400;      ///< calls between two subjects
constexpr size_t kMostGraphs = 400;  ///< graphs that are cached with their whole runs
constexpr size_t kThreads = 3;

int64_t setting(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

/// Graphs with features that random graphs lack: static side inputs, values known at the end,
/// asserted lengths, several inputs and rates.
std::vector<std::string> small_graphs() {
  const std::string head =
      "version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n";
  const auto external = [](const std::string& name, const std::string& shape) {
    return "  " + name + " = tract_core_external(shape = [" + shape + "], datum_type = 'f32');\n";
  };
  return {
      head + "graph network(x, w) -> (y, t)\n{\n" + external("x", "1, 2, S") +
          external("w", "1, 2, 1") + "  y = x * w;\n  t = sum_reduce(y, axes = [2]);\n}\n",
      head + "graph network(x) -> (t)\n{\n" + external("x", "1, 2, S") +
          "  t = max_reduce(x, axes = [2]);\n}\n",
      head + "extension tract_assert S >= 3;\ngraph network(x, w) -> (y)\n{\n" +
          external("w", "1, 2, S") + external("x", "1, 2, S") +
          "  y = conv(x + w, [[[0.5, 0.25, -1.0], [0.1, 0.2, 0.3]]], 0.125, stride = [1], "
          "dilation = [1], padding = [(1, 1)], border = 'constant');\n}\n",
      head + "graph network(x, w) -> (y, z)\n{\n" + external("x", "1, 1, 2*S") +
          external("w", "1, 1, S") +
          "  y = box(x, size = [1, 1, 4], stride = [1, 1, 2], padding = [(0, 0), (0, 0), (1, 1)], "
          "normalize = true);\n  z = y * w;\n}\n",
      head + "graph network(x) -> (y, z)\n{\n" + external("x", "S, 3") +
          "  y = pad(x, padding = [(2, 3), (0, 0)], border = 'constant', value = 0.5);\n"
          "  z = slice(x, axes = [0], begin = [1], end = [S - 2]);\n}\n",
  };
}

class Subjects {
 public:
  explicit Subjects(uint64_t seed) : seed_(seed) {
    for (const ModelFolder& folder : streaming_models()) {
      // These streams sum over fewer keys than whole runs do.
      if (has_attention(folder)) continue;
      for (const Tiers tiers : {Tiers::kBest, Tiers::kPlain, Tiers::kMixed}) {
        if (tiers == Tiers::kBest || (seed + all_.size()) % 3 == 0) {
          keep(Subject::of_model(folder, tiers, seed));
        }
      }
    }
    const auto graphs = small_graphs();
    for (size_t i = 0; i < graphs.size(); ++i) {
      auto subject =
          Subject::of_text("graph " + std::to_string(i), graphs[i], 1, Tiers::kBest, seed);
      EXPECT_TRUE(subject) << graphs[i] << rill_last_error();
      keep(std::move(subject));
    }
    fixed_ = all_.size();
  }

  /// Return one of the fixed subjects, or a random graph.
  Subject* draw(Random* random) {
    if (random->chance(50)) {
      const auto last = static_cast<int64_t>(fixed_) - 1;
      Subject* subject = all_[static_cast<size_t>(random->in(0, last))].get();
      // Reference kernels are far slower, and the calls are the same, so draw them less often.
      while (subject->has_plain() && !random->chance(15)) {
        subject = all_[static_cast<size_t>(random->in(0, last))].get();
      }
      return subject;
    }
    for (;;) {
      const uint64_t seed = seed_ * 1000003 + ++drawn_;
      const Generated graph = generate(recipe(seed));
      if (graph.tolerance > 0) continue;
      auto made =
          Subject::of_text("graph of seed " + std::to_string(seed), graph.text, graph.pulse_unit,
                           seed % 3 == 0 ? Tiers::kPlain : Tiers::kBest, seed);
      if (!made) continue;
      if (all_.size() > fixed_ + kMostGraphs) all_.resize(fixed_);
      keep(std::move(made));
      return all_.back().get();
    }
  }

 private:
  void keep(std::unique_ptr<Subject> subject) {
    if (subject) all_.push_back(std::move(subject));
  }

  uint64_t seed_;
  uint64_t drawn_ = 0;
  size_t fixed_ = 0;
  std::vector<std::unique_ptr<Subject>> all_;
};

TEST(SessionFuzz, EveryFrameIsThatOfTheWholeRun) {
  const auto seed = static_cast<uint64_t>(setting("RILL_CALLS_SEED", 1));
  const int64_t calls = setting("RILL_CALLS", kCalls);
  Subjects subjects(seed);
  Random random(seed);
  Tally tally;
  while (tally.calls < calls) {
    Subject* subject = subjects.draw(&random);
    const uint64_t own = random.next();
    const std::string problem = Wanderer(subject, own, &tally).wander(kRound);
    ASSERT_EQ(problem, "") << "RILL_CALLS_SEED=" << seed << ", seed " << own << "\n"
                           << subject->text();
  }
  std::printf(
      "%lld calls: %lld frames compared, %lld streams to the end, %lld states moved, %lld "
      "stayed, %lld calls refused\n",
      static_cast<long long>(tally.calls), static_cast<long long>(tally.frames),
      static_cast<long long>(tally.streams), static_cast<long long>(tally.moved),
      static_cast<long long>(tally.stayed), static_cast<long long>(tally.refused));
  EXPECT_GT(tally.streams, calls / 500);
}

// Each thread has its own sessions; all threads share the plans.
TEST(SessionFuzz, ThreadsSharePlans) {
  const auto seed = static_cast<uint64_t>(setting("RILL_CALLS_SEED", 1));
  const int64_t calls = setting("RILL_CALLS", kCalls) / 4;
  Subjects subjects(seed);
  Random random(seed ^ 0x7468726561647321);
  std::vector<Tally> tallies(kThreads);
  int64_t made = 0;
  int64_t streams = 0;
  while (made < calls) {
    Subject* subject = subjects.draw(&random);
    while (subject->has_plain()) subject = subjects.draw(&random);
    const uint64_t own = random.next();
    std::vector<std::string> problems(kThreads);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        problems[i] = Wanderer(subject, own + i, &tallies[i]).wander(kRound);
      });
    }
    for (std::thread& thread : threads) thread.join();
    made = streams = 0;
    for (size_t i = 0; i < kThreads; ++i) {
      ASSERT_EQ(problems[i], "") << "RILL_CALLS_SEED=" << seed << ", seed " << own + i << "\n"
                                 << subject->text();
      made += tallies[i].calls;
      streams += tallies[i].streams;
    }
  }
  EXPECT_GT(streams, calls / 500);
}

}  // namespace
}  // namespace rill::test
