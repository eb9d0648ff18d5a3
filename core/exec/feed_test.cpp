// Streams of random graphs that are pushed and pulled in pieces of any size, and go on in sessions
// of other pulses by way of saved states, give the frames of the whole run, bit for bit.
//
// RILL_PROPERTY_SEEDS=first:count takes other seeds than those below.

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/exec/saved.h"
#include "tests/property/generate.h"
#include "tests/property/streaming.h"

namespace rill::test {
namespace {

constexpr int64_t kFirstSeed = 1;
constexpr int64_t kSeeds = 200;

struct Lane {
  int64_t pulse = 0;
  StreamedRun run;
  std::unique_ptr<Feed> feed;
};

struct Tally {
  int64_t compared = 0;  ///< streams whose frames were compared
  int64_t moved = 0;     ///< states that went from one session to another
  int64_t stayed = 0;    ///< states that no session of another pulse could take
  std::string why;       ///< the last reason for that
};

/// One stream, by pieces, through sessions of several pulses in turn.
class Journey {
 public:
  Journey(const Graph& graph, std::vector<Lane>* lanes, int64_t length, uint64_t seed, Tally* tally)
      : lanes_(*lanes), random_(seed), tally_(tally), length_(length) {
    inputs_ = noise_inputs(graph, length, seed);
  }

  /// Empty if the frames are those that are wanted.
  std::string run(const std::vector<Tensor>& want) {
    begin(0);
    if (random_.chance(30)) {
      // A stream that is given up in the middle leaves nothing behind.
      for (int i = 0; i < 20; ++i) act();
      begin(now_);
    }
    for (int i = 0; i < 4000 && !all_pushed(); ++i) act();
    for (int i = 0; !all_pushed(); ++i) {
      if (i > 100000) return "pushes are not taken any more";
      push();
      pull();
    }
    Status finished = lane().feed->finish();
    if (!finished.ok()) return finished.error().to_string();
    for (int i = 0; i < 50; ++i) act();
    for (size_t i = 0; i < got_.size(); ++i) {
      while (pull_some(i, 7) > 0) continue;
    }
    for (size_t i = 0; i < want.size(); ++i) {
      const PlanStream& stream = lane().run.session().plan().outputs[i].stream;
      if (stream.axis < 0) continue;
      const Tensor got = stacked(i, want[i]);
      const std::string text = difference(got, want[i]);
      if (!text.empty()) return str_cat("output ", i, ": ", text);
    }
    ++tally_->compared;
    return {};
  }

 private:
  Lane& lane() { return lanes_[now_]; }

  void begin(size_t lane_index) {
    now_ = lane_index;
    lane().run.session().reset();
    lane().feed->reset();
    pushed_.assign(inputs_.size(), 0);
    got_.assign(lane().run.session().plan().outputs.size(), {});
    frames_.assign(got_.size(), 0);
    set_static_inputs();
  }

  void set_static_inputs() {
    Session& session = lane().run.session();
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (session.plan().inputs[i].stream.axis >= 0) continue;
      copy_view(inputs_[i].view(), session.input(i));
    }
  }

  bool all_pushed() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const int axis = lane().run.session().plan().inputs[i].stream.axis;
      if (axis >= 0 && pushed_[i] < inputs_[i].extent(axis)) return false;
    }
    return true;
  }

  void act() {
    const int64_t dice = random_.in(1, 100);
    if (dice <= 45 && !lane().feed->finished()) return push();
    if (dice <= 90) return pull();
    move();
  }

  void push() {
    const auto i = static_cast<size_t>(random_.in(0, static_cast<int64_t>(inputs_.size()) - 1));
    const int axis = lane().run.session().plan().inputs[i].stream.axis;
    if (axis < 0) return;
    const int64_t left = inputs_[i].extent(axis) - pushed_[i];
    const int64_t count = std::min(left, random_.in(0, 2 * lane().pulse + 3));
    pushed_[i] += lane().feed->push(i, frames_of(inputs_[i].view(), axis, pushed_[i], count));
  }

  void pull() {
    const auto i = static_cast<size_t>(random_.in(0, static_cast<int64_t>(got_.size()) - 1));
    pull_some(i, random_.in(0, 2 * lane().pulse + 3));
  }

  int64_t pull_some(size_t i, int64_t room) {
    const PlanIo& io = lane().run.session().plan().outputs[i];
    if (io.stream.axis < 0) return 0;
    const View like = lane().run.session().output(i);
    const int64_t bytes = frame_bytes(like, io.stream.axis);
    std::vector<std::byte> rows(static_cast<size_t>(room * bytes));
    const View into = frame_rows(like, io.stream.axis, room, rows.data());
    const int64_t count = lane().feed->pull(i, into);
    got_[i].insert(got_[i].end(), rows.begin(), rows.begin() + count * bytes);
    frames_[i] += count;
    return count;
  }

  /// Saves the state, and goes on in another session, or in the same one after a reset.
  void move() {
    const auto next = static_cast<size_t>(random_.in(0, static_cast<int64_t>(lanes_.size()) - 1));
    SavedState from(&lane().run.session(), lane().feed.get());
    std::vector<std::byte> bytes(static_cast<size_t>(from.most_bytes()));
    const int64_t size = from.save(bytes);
    ASSERT_GT(size, 0);
    lanes_[next].run.session().reset();
    lanes_[next].feed->reset();
    SavedState to(&lanes_[next].run.session(), lanes_[next].feed.get());
    const Status loaded = to.load({bytes.data(), static_cast<size_t>(size)});
    if (loaded.ok()) {
      tally_->moved += next != now_ ? 1 : 0;
      now_ = next;
      set_static_inputs();
      return;
    }
    EXPECT_NE(next, now_) << loaded.error().to_string();
    EXPECT_EQ(loaded.code(), Code::kState) << loaded.error().to_string();
    ++tally_->stayed;
    tally_->why = loaded.error().to_string();
  }

  Tensor stacked(size_t i, const Tensor& want) {
    const PlanIo& io = lane().run.session().plan().outputs[i];
    std::vector<int64_t> shape = want.shape();
    shape[static_cast<size_t>(io.stream.axis)] = frames_[i];
    Tensor out = std::move(Tensor::zeros(io.dtype, shape, io.q)).value();
    const View to = out.view();
    copy_view(frame_rows(to, io.stream.axis, frames_[i], got_[i].data()), to);
    return out;
  }

  std::vector<Lane>& lanes_;
  Random random_;
  Tally* tally_;
  int64_t length_;
  std::vector<Tensor> inputs_;
  size_t now_ = 0;
  std::vector<int64_t> pushed_;
  std::vector<std::vector<std::byte>> got_;
  std::vector<int64_t> frames_;
};

std::string check(uint64_t seed, Tally* tally) {
  const Generated generated = generate(recipe(seed));
  auto graph = load_text(generated.text);
  if (!graph.ok()) return {};
  Random random(seed * 77 + 5);
  const int64_t unit = generated.pulse_unit;
  std::vector<Lane> lanes;
  for (const int64_t pulse : {unit, unit * random.in(2, 3), unit * random.in(4, 9)}) {
    auto run = StreamedRun::make(*graph, pulse);
    if (!run.ok()) continue;
    Lane lane{pulse, std::move(run).value(), nullptr};
    auto feed = Feed::make(&lane.run.session(), random.chance(50) ? 0 : random.in(1, 40));
    if (!feed.ok()) return feed.error().to_string();
    lane.feed = std::move(feed).value();
    lanes.push_back(std::move(lane));
  }
  if (lanes.empty()) return {};
  for (int i = 0; i < 4; ++i) {
    const int64_t length = random.in(1, 6 * lanes.back().pulse + 10);
    if (is_too_short(*graph, length)) continue;
    auto whole = WholeRun::make(*graph, length);
    if (!whole.ok()) continue;
    const auto want = whole->run(noise_inputs(*graph, length, seed + static_cast<uint64_t>(i)));
    const std::string problem =
        Journey(*graph, &lanes, length, seed + static_cast<uint64_t>(i), tally).run(want);
    if (!problem.empty()) return str_cat("length ", length, ": ", problem);
  }
  return {};
}

std::pair<int64_t, int64_t> seeds() {
  const char* text = std::getenv("RILL_PROPERTY_SEEDS");
  if (!text) return {kFirstSeed, kSeeds};
  char* rest = nullptr;
  const int64_t first = std::strtoll(text, &rest, 10);
  return {first, *rest == ':' ? std::strtoll(rest + 1, nullptr, 10) : 1};
}

TEST(Feed, PushedInPiecesAndMovedBetweenPulsesGiveTheWholeRun) {
  const auto [first, count] = seeds();
  Tally tally;
  for (int64_t seed = first; seed < first + count; ++seed) {
    const std::string problem = check(static_cast<uint64_t>(seed), &tally);
    EXPECT_EQ(problem, "") << "seed " << seed << "\n"
                           << generate(recipe(static_cast<uint64_t>(seed))).text;
    if (!problem.empty()) break;
  }
  RecordProperty("compared", static_cast<int>(tally.compared));
  RecordProperty("moved", static_cast<int>(tally.moved));
  std::printf("%ld streams compared, %ld states moved, %ld stayed (%s)\n",
              static_cast<long>(tally.compared), static_cast<long>(tally.moved),
              static_cast<long>(tally.stayed), tally.why.c_str());
  if (count < kSeeds) return;
  EXPECT_GT(tally.compared, count);
  EXPECT_GT(tally.moved, 5 * count);
  // States of nearly all graphs move between any two pulses.
  EXPECT_LT(tally.stayed * 20, tally.moved);
}

}  // namespace
}  // namespace rill::test
