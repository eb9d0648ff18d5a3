#include "tests/session_fuzz/wander.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "api/src/handles.h"
#include "tests/session_fuzz/layout.h"
#include "tests/session_fuzz/ports.h"

namespace rill::test {
namespace {

constexpr size_t kLanes = 5;
constexpr size_t kStates = 6;
constexpr size_t kReported = 60;  ///< calls that a failure reports

}  // namespace

Wanderer::Wanderer(Subject* subject, uint64_t seed, Tally* tally)
    : subject_(*subject), random_(seed), tally_(tally), lanes_(kLanes) {
  for (Lane& lane : lanes_) open(&lane, pick(subject_.plans().size()));
}

void Wanderer::note(const Lane& lane, const std::string& call) {
  const auto at =
      std::find_if(lanes_.begin(), lanes_.end(), [&](const Lane& each) { return &each == &lane; });
  trace_.push_back("session " + std::to_string(at - lanes_.begin()) + " (" + plan_of(lane).name +
                   ", length " + std::to_string(lane.at.whole->length) + "): " + call);
  if (trace_.size() > kReported) trace_.pop_front();
  ++tally_->calls;
}

void Wanderer::fail(const std::string& problem) {
  if (problem_.empty()) problem_ = problem;
}

bool Wanderer::expect(rill_status found, rill_status want, const char* call) {
  if (found == want) return true;
  fail(std::string(call) + ": " + rill_status_name(found) + ", expected " + rill_status_name(want) +
       ": " + rill_last_error());
  return false;
}

std::string Wanderer::wander(int64_t calls) {
  const int64_t last = tally_->calls + calls;
  while (problem_.empty() && tally_->calls < last) act();
  if (problem_.empty()) return {};
  std::string text = subject_.name() + ": " + problem_ + "\nafter\n";
  for (const std::string& call : trace_) text += "  " + call + "\n";
  return text;
}

bool Wanderer::end_is_fine(Lane* lane, rill_status status, const char* call) {
  Whole& whole = *lane->at.whole;
  (status == RILL_E_SHAPE ? whole.refused : whole.accepted) = true;
  if (whole.refused && whole.accepted) {
    fail(std::string(call) +
         ": the same length is refused here and accepted there: " + rill_last_error());
    return false;
  }
  if (!whole.refused) return expect(status, RILL_OK, call);
  // For example, a model that repeats frames refuses short streams.
  expect(rill_session_reset(lane->session.get()), RILL_OK, "rill_session_reset");
  begin(lane);
  return false;
}

Whole& Wanderer::draw_whole() {
  for (int i = 0; i < 200; ++i) {
    Whole& whole = subject_.whole(subject_.draw_length(random_.next() >> 8));
    if (whole.refused && !random_.chance(5)) continue;
    // An empty stream is refused or gives nothing, except if a wire has a negative number of
    // frames. The whole run then fails on values that it computes from that number, which a stream
    // never computes.
    const bool is_announced = whole.defined || !whole.too_short;
    if (whole.length == 0 && is_announced && random_.chance(40)) return whole;
    if (whole.defined && (!whole.too_short || random_.chance(5))) return whole;
  }
  return subject_.whole(0);
}

void Wanderer::open(Lane* lane, size_t plan) {
  rill_session_opts opts = {};
  opts.size = sizeof(opts);
  opts.max_push = random_.chance(50) ? 0 : random_.in(1, 40);
  rill_session* session = nullptr;
  if (!expect(rill_session_open(subject_.plans()[plan].plan.get(), &opts, &session), RILL_OK,
              "rill_session_open")) {
    return;
  }
  *lane = Lane{};
  lane->plan = plan;
  lane->session.reset(session);
  lane->bound_in.resize(plan_of(*lane).inputs.size());
  lane->bound_out.resize(plan_of(*lane).outputs.size());
  begin(lane);
}

void Wanderer::begin(Lane* lane) {
  lane->at = {};
  lane->at.whole = &draw_whole();
  lane->at.in.assign(plan_of(*lane).inputs.size(), 0);
  lane->at.out.assign(plan_of(*lane).outputs.size(), 0);
  set_side_inputs(lane);
}

void Wanderer::set_side_inputs(Lane* lane) {
  const auto& ports = plan_of(*lane).inputs;
  for (size_t i = 0; i < ports.size() && lane->at.whole->defined; ++i) {
    if (ports[i].axis >= 0) continue;
    const auto& bytes = lane->at.whole->inputs[i].bytes;
    std::memcpy(buffer_of(lane->session.get(), RILL_INPUT, i).data, bytes.data(), bytes.size());
  }
}

int64_t Wanderer::total(const Lane& lane, const Port& port, size_t input) const {
  const Whole& whole = *lane.at.whole;
  return whole.defined ? whole.inputs[input].shape[static_cast<size_t>(port.axis)] : 0;
}

int64_t Wanderer::wanted(const Lane& lane, const Port& port, size_t output) {
  const Whole& whole = *lane.at.whole;
  return whole.defined ? whole.outputs[output].shape[static_cast<size_t>(port.axis)] : 0;
}

bool Wanderer::all_in(const Lane& lane) const {
  const auto& ports = plan_of(lane).inputs;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].axis >= 0 && lane.at.in[i] < total(lane, ports[i], i)) return false;
  }
  return true;
}

void Wanderer::act() {
  Lane& lane = any_lane();
  const int64_t dice = random_.in(1, 100);
  if (dice <= 70) return go_on(&lane);
  if (dice <= 76) return clone(&lane);
  if (dice <= 81) return save(&lane);
  if (dice <= 86) return load(&lane);
  if (dice <= 91) return bind(&lane);
  if (dice <= 96) return misuse(&lane);
  if (dice <= 99) return check_position(lane);
  note(lane, "rill_session_reset");
  expect(rill_session_reset(lane.session.get()), RILL_OK, "rill_session_reset");
  begin(&lane);
}

void Wanderer::go_on(Lane* lane) {
  if (lane->at.over) {
    if (random_.chance(50)) return open(lane, pick(subject_.plans().size()));
    note(*lane, "rill_session_reset");
    expect(rill_session_reset(lane->session.get()), RILL_OK, "rill_session_reset");
    return begin(lane);
  }
  const bool pushes =
      lane->at.mode == Mode::kPushed || (lane->at.mode == Mode::kOpen && random_.chance(50));
  if (!pushes) {
    if (random_.chance(25)) return step_together();
    return step(lane);
  }
  if (lane->at.ended) return drain(lane);
  if (all_in(*lane) && random_.chance(30)) return finish(lane);
  if (random_.chance(55)) return push(lane);
  const auto& ports = plan_of(*lane).outputs;
  const size_t output = pick(ports.size());
  int64_t given = 0;
  if (ports[output].axis >= 0) {
    pull(lane, output, random_.in(0, 2 * pulse_of(ports[output]) + 3), &given);
  }
}

void Wanderer::clone(Lane* lane) {
  rill_session* copy = nullptr;
  const rill_status status = rill_session_clone(lane->session.get(), &copy);
  note(*lane, "rill_session_clone");
  if (!expect(status, RILL_OK, "rill_session_clone")) return;
  Lane& to = any_lane();
  Lane made;
  made.plan = lane->plan;
  made.at = lane->at;
  made.session.reset(copy);
  made.bound_in.resize(lane->bound_in.size());
  made.bound_out.resize(lane->bound_out.size());
  to = std::move(made);
  note(to, "is that clone");
  if (to.at.over) check_over(&to);
}

void Wanderer::save(Lane* lane) {
  Saved saved;
  size_t size = 0;
  note(*lane, "rill_state_save");
  if (!expect(rill_state_size(lane->session.get(), &size), RILL_OK, "rill_state_size")) return;
  saved.bytes.resize(size / 8 + 2);
  if (!expect(rill_state_save(lane->session.get(), saved.bytes.data(), size, &saved.size), RILL_OK,
              "rill_state_save")) {
    return;
  }
  saved.at = lane->at;
  saved.plan = lane->plan;
  saved_.push_back(std::move(saved));
  if (saved_.size() > kStates) saved_.pop_front();
}

void Wanderer::load(Lane* lane) {
  if (saved_.empty()) return;
  const Saved& saved = saved_[pick(saved_.size())];
  const rill_status status = rill_state_load(lane->session.get(), saved.bytes.data(), saved.size);
  note(*lane, "rill_state_load from " + subject_.plans()[saved.plan].name + ": " +
                  rill_status_name(status));
  if (status == RILL_E_STATE && saved.plan != lane->plan) {
    ++tally_->stayed;
    return;
  }
  if (!expect(status, RILL_OK, "rill_state_load")) return;
  ++tally_->moved;
  lane->at = saved.at;
  const bool waits = lane->session->stage.drive == api::Drive::kPushes;
  if (waits && saved.at.mode != Mode::kPushed) fail("frames wait although none were pushed");
  lane->at.mode = waits ? Mode::kPushed : Mode::kOpen;
  set_side_inputs(lane);
  if (lane->at.over) check_over(lane);
}

void Wanderer::bind(Lane* lane) {
  const bool in = random_.chance(50);
  const Pulsed& plan = plan_of(*lane);
  const size_t i = pick(in ? plan.inputs.size() : plan.outputs.size());
  // The output of the last step is in the buffer that was bound during that step.
  if (!in && lane->at.mode == Mode::kStepped && lane->at.ended) return;
  const Port& port = in ? plan.inputs[i] : plan.outputs[i];
  auto& bound = in ? lane->bound_in[i] : lane->bound_out[i];
  const Array like = Array::zeros(port.dtype, port.shape);
  std::vector<uint64_t> memory;
  rill_view view = like.view();
  if (random_.chance(70)) memory.assign(like.bytes.size() / 8 + 1, 0x7FC0DEAD7FC0DEAD);
  view.data = memory.data();
  const rill_view* to = memory.empty() ? nullptr : &view;
  const rill_status status = in ? rill_bind_input(lane->session.get(), i, to)
                                : rill_bind_output(lane->session.get(), i, to);
  note(*lane, std::string(in ? "rill_bind_input " : "rill_bind_output ") + std::to_string(i) +
                  (to ? "" : ", null"));
  expect(status, RILL_OK, "rill_bind");
  // The caller may reuse a buffer that is no longer bound.
  std::fill(bound.begin(), bound.end(), 0xFFFFFFFFFFFFFFFF);
  bound = std::move(memory);
  if (in) set_side_inputs(lane);
}

void Wanderer::misuse(Lane* lane) {
  rill_session* session = lane->session.get();
  const Pulsed& plan = plan_of(*lane);
  const size_t first = first_stream(plan.inputs);
  Port port = plan.inputs[first];
  const auto wrong_type = port.dtype == RILL_F64 ? RILL_F32 : RILL_F64;
  rill_session_step twice[2] = {};
  for (rill_session_step& member : twice) {
    member.size = sizeof(member);
    member.session = session;
  }
  int64_t moved = -7;
  rill_status status = RILL_OK;
  const int64_t dice = random_.in(1, 8);
  note(*lane, "misuse " + std::to_string(dice));
  if (dice == 1) {
    port.dtype = wrong_type;
    Scattered frames(port, 2, &random_);
    const rill_view view = frames.view();
    status = rill_push(session, first, &view, &moved);
  } else if (dice == 2) {
    status = rill_push(session, plan.inputs.size(), nullptr, &moved);
  } else if (dice == 3) {
    status = rill_step_together(twice, 2);
  } else if (dice == 4) {
    status = rill_step_partial(session, random_.chance(50) ? -1 : pulse_of(port) + 1);
  } else if (dice == 5) {
    status = rill_run(session, nullptr, 0, nullptr, 0);
  } else if (dice == 6 && !saved_.empty()) {
    Saved damaged = saved_.back();
    damaged.bytes[pick(damaged.size / 8)] ^= uint64_t{1} << random_.in(0, 63);
    status = rill_state_load(session, damaged.bytes.data(), damaged.size);
  } else if (dice == 7 && lane->at.mode == Mode::kPushed) {
    status = random_.chance(50) ? rill_step(session) : rill_flush(session, &moved);
  } else if (lane->at.mode == Mode::kStepped) {
    Scattered frames(port, 1, &random_);
    const rill_view view = frames.view();
    status = random_.chance(50) ? rill_push(session, first, &view, &moved) : rill_finish(session);
  } else {
    return;
  }
  if (status == RILL_OK) return fail("a wrong call was not refused");
  if (moved != -7) fail("a call that was refused wrote a count");
  ++tally_->refused;
}

void Wanderer::check_position(const Lane& lane) {
  const Pulsed& plan = plan_of(lane);
  note(lane, "rill_position");
  if (lane.at.whole->too_short) return;
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    if (plan.outputs[i].axis < 0) continue;
    int64_t in = -1;
    int64_t out = -1;
    if (!expect(rill_position(lane.session.get(), i, &in, &out), RILL_OK, "rill_position")) return;
    const int64_t want_in = lane.at.in[first_stream(plan.inputs)];
    if (in == want_in && out == lane.at.out[i]) continue;
    return fail("rill_position tells " + std::to_string(in) + " and " + std::to_string(out) +
                ", expected " + std::to_string(want_in) + " and " + std::to_string(lane.at.out[i]));
  }
}

}  // namespace rill::test
