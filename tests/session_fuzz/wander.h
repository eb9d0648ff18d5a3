#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "tests/property/generate.h"
#include "tests/session_fuzz/subject.h"

namespace rill::test {

/// Counts of calls and their results.
struct Tally {
  int64_t calls = 0;
  int64_t frames = 0;   ///< compared
  int64_t streams = 0;  ///< compared until the last frame and value
  int64_t moved = 0;    ///< states loaded
  int64_t stayed = 0;   ///< states that the other plan could not take
  int64_t refused = 0;  ///< calls that had to fail, and did
};

/// Makes random calls of the sessions of a subject, and compares every output with the whole run.
/// Clones and saved states carry the progress of their stream.
class Wanderer {
 public:
  Wanderer(Subject* subject, uint64_t seed, Tally* tally);
  /// Make `calls` calls. Return the first failure with the calls before it; empty if there is none.
  std::string wander(int64_t calls);

 private:
  enum class Mode { kOpen, kStepped, kPushed };
  /// The progress of a stream.
  struct Progress {
    Whole* whole = nullptr;
    std::vector<int64_t> in;   ///< frames taken
    std::vector<int64_t> out;  ///< frames given
    Mode mode = Mode::kOpen;
    bool ended = false;
    bool over = false;  ///< everything was compared
  };
  struct Lane {
    size_t plan = 0;
    SessionPtr session;
    Progress at;
    std::vector<std::vector<uint64_t>> bound_in;
    std::vector<std::vector<uint64_t>> bound_out;
  };
  struct Saved {
    std::vector<uint64_t> bytes;
    size_t size = 0;
    Progress at;
    size_t plan = 0;
  };

  const Pulsed& plan_of(const Lane& lane) const { return subject_.plans()[lane.plan]; }
  Lane& any_lane() { return lanes_[pick(lanes_.size())]; }
  size_t pick(size_t count) {
    return static_cast<size_t>(random_.in(0, static_cast<int64_t>(count) - 1));
  }
  void note(const Lane& lane, const std::string& call);
  void fail(const std::string& problem);
  bool expect(rill_status found, rill_status want, const char* call);

  void open(Lane* lane, size_t plan);
  void begin(Lane* lane);
  Whole& draw_whole();
  void act();
  void go_on(Lane* lane);
  // By pushes.
  void push(Lane* lane);
  void pull(Lane* lane, size_t output, int64_t capacity, int64_t* given);
  void finish(Lane* lane);
  void drain(Lane* lane);
  // By steps.
  bool next_part(Lane* lane, rill_session_step* member);
  void fill_pulse(Lane* lane, bool beyond);
  void took_part(Lane* lane, const rill_session_step& member);
  void step(Lane* lane);
  void step_together();
  // Clones, states and buffers.
  void clone(Lane* lane);
  void save(Lane* lane);
  void load(Lane* lane);
  void bind(Lane* lane);
  void misuse(Lane* lane);
  void set_side_inputs(Lane* lane);

  /// Record the status of a stream's end. Return false if it was refused, and the stream restarted.
  bool end_is_fine(Lane* lane, rill_status status, const char* call);
  bool all_in(const Lane& lane) const;
  /// Return the number of frames of an output in the whole run.
  static int64_t wanted(const Lane& lane, const Port& port, size_t output);
  int64_t total(const Lane& lane, const Port& port, size_t input) const;
  void check_position(const Lane& lane);
  void check_over(Lane* lane);

  Subject& subject_;
  Random random_;
  Tally* tally_;
  std::deque<Lane> lanes_;
  std::deque<Saved> saved_;
  std::deque<std::string> trace_;
  std::string problem_;
};

}  // namespace rill::test
