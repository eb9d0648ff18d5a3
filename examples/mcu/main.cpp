// Streams a model in read-only memory on a microcontroller, without a heap. Prints the bits of the
// outputs, which run.py compares, and the costs.

#include <cstdint>
#include <cstring>
#include <new>

#include "board.h"
#include "core/run/denormals.h"
#include "core/run/feed.h"
#include "core/run/place_plan.h"
#include "model.h"

namespace {

// `run.py` sets the memory of the plan, its session and the feed at build time.
alignas(64) std::byte plan_memory[RILL_PLAN_BYTES];
alignas(64) std::byte session_memory[RILL_SESSION_BYTES];
alignas(64) std::byte feed_memory[RILL_FEED_BYTES];

int rank_of(std::string_view target) { return target == "scalar" ? 0 : -1; }

[[noreturn]] void stop(const char* why) {
  board::print("refused: ");
  board::print(why);
  board::print("\n");
  board::stop(1);
}

/// Print a word as eight hexadecimal digits.
void print_word(uint32_t word) {
  char text[10];
  for (int i = 0; i < 8; ++i) text[i] = "0123456789abcdef"[word >> (28 - 4 * i) & 15U];
  text[8] = '\n';
  text[9] = '\0';
  board::print(text);
}

void print_number(const char* what, int64_t number) {
  char text[24];
  char* at = text + sizeof text - 1;
  *at = '\0';
  do {
    *--at = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number > 0);
  board::print(what);
  board::print(at);
  board::print("\n");
}

constexpr int64_t kDrained = 64;  // floats

/// Pull and print all frames of output 0 that are ready.
void drain(rill::PlacedFeed* feed, const rill::View& like, int axis) {
  static float frames[kDrained];
  const int64_t some = kDrained * 4 / rill::frame_bytes(like, axis);
  const rill::View into = rill::frame_rows(like, axis, some, frames);
  for (int64_t count = some; count == some;) {
    count = feed->pull(0, into);
    const int64_t words = count * rill::frame_bytes(like, axis) / 4;
    for (int64_t i = 0; i < words; ++i) {
      uint32_t word = 0;
      std::memcpy(&word, &frames[i], sizeof word);
      print_word(word);
    }
  }
}

}  // namespace

int main() {
  board::begin();
  const rill::Runner runner{kinds(), rank_of};
  rill::PlacedPlan placed;
  const std::span<const std::byte> file(reinterpret_cast<const std::byte*>(kModelWords),
                                        kModelBytes);
  const uint64_t at_open = board::instructions();
  const rill::Refusal refused = rill::place_plan(file, plan_memory, runner, &placed);
  if (!refused.ok()) stop(refused.message);
  const rill::Plan& plan = *placed.plan;
  print_number("plan bytes ", placed.bytes);
  print_number("session bytes ", rill::PlacedSession::bytes_for(plan));
  if (rill::PlacedSession::bytes_for(plan) > RILL_SESSION_BYTES) stop("too little memory: session");
  rill::PlacedSession* const session = rill::PlacedSession::place(plan, session_memory);
  const rill::PlanStream& in = plan.inputs[0].stream;
  const auto feed_bytes = rill::PlacedFeed::bytes_for(plan, in.pulse);
  if (!feed_bytes) stop("the plan does not stream");
  print_number("feed bytes ", *feed_bytes);
  if (*feed_bytes > RILL_FEED_BYTES) stop("too little memory: feed");
  rill::PlacedFeed* const feed = rill::PlacedFeed::place(session, in.pulse, feed_memory);
  print_number("instructions to open ", static_cast<int64_t>(board::instructions() - at_open));

  // Repeat one pulse to measure a step.
  constexpr int kSteps = 20;
  const uint64_t at_steps = board::instructions();
  for (int i = 0; i < kSteps; ++i) session->step();
  const uint64_t steps = board::instructions() - at_steps;
  print_number("instructions per step ", static_cast<int64_t>(steps / kSteps));
  session->reset();
  feed->reset();

  board::print("output\n");
  const rill::View input = session->input(0);
  const rill::View output = session->output(0);
  const int out_axis = plan.outputs[0].stream.axis;
  const rill::View frames =
      rill::frame_rows(input, in.axis, kInputFrames, const_cast<uint32_t*>(kInputWords));
  for (int64_t at = 0; at < kInputFrames;) {
    // Push 7 frames at a time: the feed queues them until a pulse is complete.
    const int64_t some = kInputFrames - at < 7 ? kInputFrames - at : 7;
    at += feed->push(0, rill::frames_of(frames, in.axis, at, some));
    drain(feed, output, out_axis);
  }
  const rill::Refusal ended = feed->finish();
  if (!ended.ok()) stop(ended.message);
  drain(feed, output, out_axis);
  board::print("end\n");
  board::stop(0);
}
