// Times the start of an app with librill_run, from opening a compiled model to the end of its first
// step: the first start of the process, and the shortest of several more.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "rill/rill.h"

namespace {

using Clock = std::chrono::steady_clock;

double start_ms(const char* path) {
  rill_plan* plan = nullptr;
  rill_session* session = nullptr;
  const auto begin = Clock::now();
  const bool started = rill_plan_open(path, &plan) == RILL_OK &&
                       rill_session_new(plan, &session) == RILL_OK &&
                       rill_step(session) == RILL_OK;
  const auto end = Clock::now();
  if (!started) {
    std::fprintf(stderr, "%s\n", rill_last_error());
    std::exit(1);
  }
  rill_session_free(session);
  rill_plan_release(plan);
  return std::chrono::duration<double, std::milli>(end - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kRounds = 41;
  if (argc != 2) {
    std::fputs("usage: rill-bench-open FILE\n"
               "FILE is a compiled model. Prints the first start of this process and the least of\n"
               "more, in milliseconds.\n",
               stderr);
    return 2;
  }
  const double first = start_ms(argv[1]);
  double least = first;
  for (int round = 0; round < kRounds; ++round) least = std::min(least, start_ms(argv[1]));
  std::printf("%.3f %.3f\n", first, least);
}
