// Times models as an app uses them: load and prepare, the first step, and the following steps.

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "rill/rill.hpp"
#include "tests/support/heap_calls.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr char kUsage[] =
    "usage: rill-bench [--set SYMBOL=VALUE] [--pulse SYMBOL=FRAMES] [--steps N] [--loads N]\n"
    "                  [--cpu TIER] [--threads N] [--together N] MODEL ...\n"
    "Binds symbols, pulses with --pulse, and times steps on noise. A symbol that a model lacks is\n"
    "ignored. Each --pulse gives a row. --threads: N threads share large steps. --together: N\n"
    "streams step together. --loads: repeat loading N times, and report the least time. Take the\n"
    "least of several runs on an idle machine. 'unpack' is the time in which libarchive alone\n"
    "unpacks the archive, a part of 'load'; 'pulse' includes the binding of symbols.\n";

struct Options {
  std::vector<std::pair<std::string, std::string>> symbols;
  std::vector<std::pair<std::string, std::string>> pulses;
  int64_t steps = 2000;
  int64_t loads = 1;
  uint32_t threads = 1;
  size_t together = 1;
  std::vector<std::string> models;
};

bool split(const std::string& word, std::vector<std::pair<std::string, std::string>>* out) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos) return false;
  out->emplace_back(word.substr(0, equals), word.substr(equals + 1));
  return true;
}

bool parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("--", 0) != 0) {
      options->models.push_back(word);
      continue;
    }
    if (++i == argc) return false;
    if (word == "--set" && split(argv[i], &options->symbols)) continue;
    if (word == "--pulse" && split(argv[i], &options->pulses)) continue;
    if (word == "--cpu" && rill_set_cpu_limit(argv[i]) == RILL_OK) continue;
    if (word == "--threads") {
      options->threads = static_cast<uint32_t>(std::atoi(argv[i]));
      continue;
    }
    if (word == "--together") {
      options->together = static_cast<size_t>(std::max(1, std::atoi(argv[i])));
      continue;
    }
    if (word == "--loads" && (options->loads = std::atoll(argv[i])) > 0) continue;
    if (word == "--steps" && (options->steps = std::atoll(argv[i])) > 0) continue;
    return false;
  }
  return !options->models.empty();
}

double us_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

void fill_inputs(rill::Session* session) {
  const auto inputs = session->plan().inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto floats = session->input<float>(i);  // other types stay 0
    for (int64_t k = 0; k < floats.size(); ++k) {
      floats.data()[k] = static_cast<float>(std::rand()) / 1073741824.0F - 1.0F;
    }
  }
}

struct Timed {
  double first_us = 0;
  std::vector<double> steps_us;  ///< sorted
  int64_t heap_calls = 0;        ///< in the steps, the first included
};

/// The streams that step: one, or several together.
class Streams {
 public:
  static rill::Result<Streams> make(const rill::Plan& plan, const Options& options) {
    Streams out;
    for (size_t i = 0; i < options.together; ++i) {
      auto session = rill::Session::make(plan);
      if (!session) return session.error();
      if (options.threads != 1) {
        auto threads = rill::Threads::make(options.threads);
        if (!threads) return threads.error();
        if (auto given = session->set_threads(*threads); !given) return given.error();
      }
      fill_inputs(&*session);
      out.steps_.push_back({sizeof(rill_session_step), RILL_STEP_FULL, session->get(), 0});
      out.sessions_.push_back(std::move(*session));
    }
    return out;
  }
  rill::Status step() {
    if (sessions_.size() == 1) return sessions_[0].step();
    return rill::Status::of(rill_step_together(steps_.data(), steps_.size()));
  }

 private:
  std::vector<rill::Session> sessions_;
  std::vector<rill_session_step> steps_;
};

rill::Status time_steps(Streams* streams, int64_t steps, Timed* out) {
  out->steps_us.reserve(static_cast<size_t>(steps));
  for (int64_t i = 0; i <= steps; ++i) {
    const int64_t calls = rill::test::heap_calls();
    const auto begin = Clock::now();
    auto ran = streams->step();
    const double us = us_since(begin);
    out->heap_calls += rill::test::heap_calls() - calls;
    if (!ran) return ran;
    if (i == 0)
      out->first_us = us;
    else
      out->steps_us.push_back(us);
  }
  std::sort(out->steps_us.begin(), out->steps_us.end());
  return {};
}

/// Read and decompress all entries of an archive, and discard them. A folder takes no time.
void unpack(const std::string& path) {
  archive* from = archive_read_new();
  archive_read_support_format_all(from);
  archive_read_support_filter_all(from);
  archive_entry* entry = nullptr;
  std::vector<char> bytes;
  if (archive_read_open_filename(from, path.c_str(), size_t{1} << 16) == ARCHIVE_OK) {
    while (archive_read_next_header(from, &entry) == ARCHIVE_OK) {
      bytes.resize(static_cast<size_t>(archive_entry_size(entry)));
      if (archive_read_data(from, bytes.data(), bytes.size()) < 0) break;
    }
  }
  archive_read_free(from);
}

rill::Status rewrite(const Options& options, const std::pair<std::string, std::string>* pulse,
                     rill::Model* model) {
  for (const auto& [symbol, value] : options.symbols) {
    auto bound = model->set(symbol, value);
    if (!bound && bound.error().code != RILL_E_SYMBOL) return bound;
  }
  if (!pulse) return {};
  return model->pulse(pulse->first, std::atoll(pulse->second.c_str()));
}

/// The time of loading and preparing, and the plan.
struct Start {
  std::optional<rill::Plan> plan;
  double unpack_us = std::numeric_limits<double>::infinity();
  double load_us = unpack_us;
  double rewrite_us = unpack_us;
  double prepare_us = unpack_us;
};

rill::Status start(const std::string& path, const Options& options,
                   const std::pair<std::string, std::string>* pulse, Start* out) {
  const auto keep_least = [](Clock::time_point begin, double* least) {
    *least = std::min(*least, us_since(begin));
  };
  for (int64_t i = 0; i < options.loads; ++i) {
    auto begin = Clock::now();
    unpack(path);
    keep_least(begin, &out->unpack_us);
    begin = Clock::now();
    auto model = rill::Model::load(path);
    keep_least(begin, &out->load_us);
    if (!model) return model.error();
    begin = Clock::now();
    if (auto rewritten = rewrite(options, pulse, &*model); !rewritten) return rewritten;
    keep_least(begin, &out->rewrite_us);
    begin = Clock::now();
    auto plan = model->prepare();
    keep_least(begin, &out->prepare_us);
    if (!plan) return plan.error();
    out->plan = std::move(*plan);
  }
  return {};
}

/// Return the folder's name if the file has the usual name, else the file's name.
std::string short_name(const std::string& path) {
  std::vector<std::string> parts = {""};
  for (const char c : path) {
    if (c == '/')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  const bool usual = parts.back().rfind("model.nnef", 0) == 0 && parts.size() > 1;
  return usual ? parts[parts.size() - 2] : parts.back();
}

rill::Status measure(const std::string& path, const Options& options,
                     const std::pair<std::string, std::string>* pulse) {
  Start started;
  if (auto ready = start(path, options, pulse, &started); !ready) return ready;
  const rill::Plan& plan = *started.plan;
  auto streams = Streams::make(plan, options);
  if (!streams) return streams.error();
  Timed timed;
  if (auto ran = time_steps(&*streams, options.steps, &timed); !ran) return ran;
  const auto at = [&](double q) {
    const auto last = static_cast<double>(timed.steps_us.size() - 1);
    return timed.steps_us[static_cast<size_t>(std::lround(q * last))];
  };
  const rill_memory_info memory = plan.memory();
  const std::string name = short_name(path) + (pulse ? " " + pulse->second : "");
  std::printf("%-30s %9.1f %7.1f %8.1f %7.1f %8.1f %8.1f %8.1f %8.1f %5lld %9.1f %8.1f %8.1f\n",
              name.c_str(), started.unpack_us / 1000, started.load_us / 1000,
              started.rewrite_us / 1000, started.prepare_us / 1000, timed.first_us, at(0.5),
              at(0.99), at(1),
              static_cast<long long>(timed.heap_calls),
              static_cast<double>(memory.weight_bytes) / 1024,
              static_cast<double>(memory.state_bytes) / 1024,
              static_cast<double>(memory.arena_bytes) / 1024);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, &options)) return std::fprintf(stderr, "%s", kUsage), 2;
  std::printf("%s, %s\n", rill_build_info(), rill_cpu());
  std::printf("%-30s %9s %7s %8s %7s %8s %8s %8s %8s %5s %9s %8s %8s\n", "model, pulse",
              "unpack ms", "load ms", "pulse ms", "prep ms", "first us", "p50 us", "p99 us",
              "max us", "heap", "weights K", "state K", "arena K");
  int failures = 0;
  for (const std::string& path : options.models) {
    std::vector<const std::pair<std::string, std::string>*> pulses;
    for (const auto& pulse : options.pulses) pulses.push_back(&pulse);
    if (pulses.empty()) pulses.push_back(nullptr);
    for (const auto* pulse : pulses) {
      auto measured = measure(path, options, pulse);
      if (measured) continue;
      ++failures;
      std::fprintf(stderr, "%s: %s\n", path.c_str(), measured.error().text.c_str());
    }
  }
  return failures == 0 ? 0 : 1;
}
