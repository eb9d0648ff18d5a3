// The input draws a valid graph. Every pulse gives the frames of the whole run, and every tier
// streams the frames of its whole run.

#include <cstring>

#include "kernels/cpu.h"
#include "tests/fuzz/target.h"
#include "tests/property/generate.h"
#include "tests/property/streaming.h"

using namespace rill;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  uint64_t words[2] = {0, 0};
  std::memcpy(words, data, size < sizeof words ? size : sizeof words);
  test::Random random(words[1]);
  const auto tier = static_cast<kernels::Tier>(random.in(0, 3));
  kernels::set_tier_limit(tier);
  const test::Generated generated = test::generate(test::recipe(words[0]));
  const auto graph = test::load_text(generated.text);
  if (!graph.ok()) test::finding(graph.error().to_string() + "\n" + generated.text);
  auto streamed = test::StreamedRun::make(*graph, generated.pulse_unit * random.in(1, 12));
  test::expect_explained(streamed);
  if (!streamed.ok()) return 0;
  for (int i = 0; i < 3; ++i) {
    const int64_t length = random.in(1, 60);
    if (test::is_too_short(*graph, length)) continue;
    const std::string problem =
        test::stream_problem(*graph, &*streamed, length, generated.tolerance);
    if (!problem.empty()) test::finding(problem + "\n" + generated.text);
  }
  return 0;
}
