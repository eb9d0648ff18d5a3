// The smallest program that streams: it places a plan, a session and a feed in its own memory, so
// its size is the size of the run layer. Given a plan file, it prints sums of the outputs.

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "core/run/feed.h"
#include "core/run/place_plan.h"

extern "C" {
extern const rill::StepKind* const rill_steps[];
extern const unsigned long rill_steps_count;
}

namespace {

constexpr size_t kRoom = size_t{1} << 24;
alignas(64) std::byte file[kRoom];
alignas(64) std::byte memory[kRoom];

const char* target = "scalar";

int rank_of(std::string_view name) { return name == target ? 0 : -1; }

int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return 2;
  if (count > 2) target = arguments[2];
  std::FILE* const from = std::fopen(arguments[1], "rb");
  if (from == nullptr) return 2;
  const size_t size = std::fread(file, 1, kRoom, from);
  std::fclose(from);
  const rill::Runner runner{{rill_steps, rill_steps_count}, rank_of};
  rill::PlacedPlan placed;
  rill::Refusal refused = rill::place_plan({file, size}, memory, runner, &placed);
  if (!refused.ok()) {
    std::fprintf(stderr, "%s\n", refused.message);
    return 1;
  }
  const rill::Plan& plan = *placed.plan;
  std::byte* at = memory + aligned(placed.bytes);
  rill::PlacedSession* const session = rill::PlacedSession::place(plan, at);
  at += rill::PlacedSession::bytes_for(plan);
  const rill::PlanStream& in = plan.inputs[0].stream;
  rill::PlacedFeed* const feed = rill::PlacedFeed::place(session, in.pulse, at);
  at += rill::PlacedFeed::bytes_for(plan, in.pulse).value_or(0);
  const rill::View pulse = session->input(0);
  const rill::View whole = rill::frame_rows(pulse, in.axis, in.pulse, at);
  std::memset(at, 0, static_cast<size_t>(in.pulse * rill::frame_bytes(pulse, in.axis)));
  at += aligned(in.pulse * rill::frame_bytes(pulse, in.axis));
  const int axis = plan.outputs[0].stream.axis;
  const rill::View out = rill::frame_rows(session->output(0), axis, 64, at);
  int64_t frames = 0;
  for (int i = 0; i < 8; ++i) {
    feed->push(0, whole);
    frames += feed->pull(0, out);
  }
  refused = feed->finish();
  for (int64_t given = 1; given > 0; frames += given) given = feed->pull(0, out);
  std::printf("%lld frames\n", static_cast<long long>(frames));
  return refused.ok() ? 0 : 1;
}
