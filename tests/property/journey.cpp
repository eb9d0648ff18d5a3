#include "tests/property/journey.h"

#include <algorithm>
#include <memory>

#include "core/exec/saved.h"
#include "core/tensor/frames.h"
#include "tests/property/generate.h"
#include "tests/property/streaming.h"

namespace rill::test {
namespace {

struct Lane {
  int64_t pulse = 0;
  StreamedRun run;
  std::unique_ptr<Feed> feed;
};

/// Pushes one stream in pieces through sessions of several pulses, one after another.
class Journey {
 public:
  Journey(const Graph& graph, std::vector<Lane>* lanes, int64_t length, uint64_t seed, Tally* tally,
          double tolerance)
      : lanes_(*lanes), random_(seed), tally_(tally), tolerance_(tolerance) {
    inputs_ = noise_inputs(graph, length, seed);
  }

  /// Return the first difference from the expected frames; empty if there is none.
  std::string run(const std::vector<Tensor>& want) {
    begin(static_cast<size_t>(random_.in(0, static_cast<int64_t>(lanes_.size()) - 1)));
    if (random_.chance(30)) {
      // An abandoned stream must not affect the next one.
      for (int i = 0; i < 20; ++i) act();
      begin(now_);
    }
    for (int i = 0; i < 4000 && !all_pushed(); ++i) act();
    for (int i = 0; !all_pushed(); ++i) {
      if (i > 100000) return "pushes are not taken any more";
      push();
      pull();
    }
    const Status finished = lane().feed->finish().status();
    if (!finished.ok()) return finished.error().to_string();
    // An output that is known at the end remains in the session that ran the last step.
    for (int i = 0; i < 50 && !known_at_the_end(); ++i) act();
    // An output without frames may wait until another one is pulled.
    for (int64_t given = 1; given > 0;) {
      given = 0;
      for (size_t i = 0; i < got_.size(); ++i) given += pull_some(i, 7);
    }
    if (!problem_.empty()) return problem_;
    for (size_t i = 0; i < want.size(); ++i) {
      const PlanStream& stream = lane().run.session().plan().outputs[i].stream;
      if (stream.axis < 0 && !known_at_the_end()) continue;
      const std::string text =
          difference(stream.axis < 0 ? value(i) : stacked(i, want[i]), want[i], tolerance_);
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

  bool known_at_the_end() {
    const auto& outputs = lane().run.session().plan().outputs;
    return std::any_of(outputs.begin(), outputs.end(), [](const PlanIo& io) {
      return io.stream.axis < 0 && io.stream.length.valid();
    });
  }

  Tensor value(size_t i) {
    const PlanIo& io = lane().run.session().plan().outputs[i];
    const std::vector<int64_t> shape(io.shape.begin(), io.shape.end());
    Tensor out = std::move(Tensor::zeros(io.dtype, shape, io.q)).value();
    copy_view(lane().run.session().output(i), out.view());
    return out;
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

  /// Save the state. Load it in another session, or in the same one after a reset.
  void move() {
    const auto next = static_cast<size_t>(random_.in(0, static_cast<int64_t>(lanes_.size()) - 1));
    SavedState from(&lane().run.session(), lane().feed.get());
    std::vector<std::byte> bytes(static_cast<size_t>(from.most_bytes()));
    const int64_t size = from.save(bytes);
    if (size <= 0) problem_ = "a state is larger than its announced size";
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
    if (next == now_ || loaded.code() != Code::kState) problem_ = loaded.error().to_string();
    // Two pulses may differ in a wire's delay, in a wire's first frame, or in their wires, if one
    // pulse undoes a wait. Only these differences may prevent a move.
    const std::string& why = loaded.error().message;
    const bool differs = why.find("lags by") != std::string::npos ||
                         why.find("begins") != std::string::npos ||
                         why.find("wires, the plan") != std::string::npos;
    if (!differs) {
      problem_ = loaded.error().to_string();
    }
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
  double tolerance_;
  std::string problem_;
  std::vector<Tensor> inputs_;
  size_t now_ = 0;
  std::vector<int64_t> pushed_;
  std::vector<std::vector<std::byte>> got_;
  std::vector<int64_t> frames_;
};

}  // namespace

std::string journey_problem(const Graph& graph, const std::vector<int64_t>& pulses, uint64_t seed,
                            Tally* tally, double tolerance) {
  Random random(seed * 77 + 5);
  std::vector<Lane> lanes;
  for (const int64_t pulse : pulses) {
    auto run = StreamedRun::make(graph, pulse);
    if (!run.ok()) continue;
    Lane lane{pulse, std::move(run).value(), nullptr};
    auto feed = Feed::make(&lane.run.session(), random.chance(50) ? 0 : random.in(1, 40));
    if (!feed.ok()) return feed.error().to_string();
    lane.feed = std::move(feed).value();
    lanes.push_back(std::move(lane));
  }
  for (uint64_t i = 0; i < 4 && !lanes.empty(); ++i) {
    const int64_t length = random.in(1, 6 * lanes.back().pulse + 10);
    if (is_too_short(graph, length)) continue;
    auto whole = WholeRun::make(graph, length);
    if (!whole.ok()) continue;
    const auto want = whole->run(noise_inputs(graph, length, seed + i));
    const std::string problem =
        Journey(graph, &lanes, length, seed + i, tally, tolerance).run(want);
    if (!problem.empty()) return str_cat("length ", length, ": ", problem);
  }
  return {};
}

}  // namespace rill::test
