// Times the start of an app to the end of its first step, alternately from a model (load, pulse,
// prepare) and from a compiled model (open).

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "rill/rill.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr char kUsage[] =
    "usage: rill-bench-start MODEL FILE SYMBOL=FRAMES [SYMBOL=VALUE ...]\n"
    "FILE is MODEL, compiled with these symbols. Pulses along the first symbol, binds the others.\n"
    "Prints the median start times of both in milliseconds, and the ratio of MODEL to FILE.\n";

[[noreturn]] void fail() {
  std::fprintf(stderr, "%s\n", rill_last_error());
  std::exit(1);
}

/// Run the first step of a plan on zeros. Return the time when it was done.
Clock::time_point first_step(rill_plan* plan) {
  rill_session* session = nullptr;
  if (rill_session_new(plan, &session) != RILL_OK || rill_step(session) != RILL_OK) fail();
  const auto done = Clock::now();
  rill_session_free(session);
  rill_plan_release(plan);
  return done;
}

using Symbols = std::vector<std::pair<std::string, std::string>>;

Clock::time_point start_from_model(const char* path, const Symbols& symbols) {
  rill_model* model = nullptr;
  if (rill_load(path, nullptr, &model) != RILL_OK) fail();
  for (size_t i = 1; i < symbols.size(); ++i) {
    const auto& [name, value] = symbols[i];
    if (rill_model_set_symbol(model, name.c_str(), value.c_str()) != RILL_OK) fail();
  }
  const auto& [name, pulse] = symbols[0];
  if (rill_model_pulse(model, name.c_str(), pulse.c_str()) != RILL_OK) fail();
  rill_plan* plan = nullptr;
  if (rill_prepare(model, nullptr, &plan) != RILL_OK) fail();
  rill_model_free(model);
  return first_step(plan);
}

Clock::time_point start_from_file(const char* path) {
  rill_plan* plan = nullptr;
  if (rill_plan_open(path, &plan) != RILL_OK) fail();
  return first_step(plan);
}

template <class Call>
double timed_ms(const Call& call) {
  const auto begin = Clock::now();
  return std::chrono::duration<double, std::milli>(call() - begin).count();
}

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kRounds = 41;
  Symbols symbols;
  for (int i = 3; i < argc; ++i) {
    const std::string word = argv[i];
    const size_t equals = word.find('=');
    if (equals == std::string::npos) {
      std::fputs(kUsage, stderr);
      return 2;
    }
    symbols.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  if (symbols.empty()) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  std::vector<double> model;
  std::vector<double> file;
  for (int round = 0; round < kRounds; ++round) {
    model.push_back(timed_ms([&] { return start_from_model(argv[1], symbols); }));
    file.push_back(timed_ms([&] { return start_from_file(argv[2]); }));
  }
  std::printf("%.3f %.3f %.0f\n", median(model), median(file), median(model) / median(file));
}
