// Modes of streams: pushed, stepped, and stepped together.

#include <algorithm>
#include <cstring>

#include "tests/session_fuzz/layout.h"
#include "tests/session_fuzz/ports.h"
#include "tests/session_fuzz/wander.h"

namespace rill::test {

void Wanderer::push(Lane* lane) {
  const auto& ports = plan_of(*lane).inputs;
  const size_t i = pick(ports.size());
  if (ports[i].axis < 0) return;
  const int64_t left = total(*lane, ports[i], i) - lane->at.in[i];
  const int64_t count = std::min(left, random_.in(0, 2 * pulse_of(ports[i]) + 3));
  Scattered frames(ports[i], count, &random_);
  if (count > 0) frames.put(lane->at.whole->inputs[i], lane->at.in[i], count);
  const rill_view view = frames.view();
  int64_t taken = -1;
  const rill_status status = rill_push(lane->session.get(), i, &view, &taken);
  note(*lane, "rill_push of input " + std::to_string(i) + ", " + std::to_string(count) +
                  " frames, of which " + std::to_string(taken) + " are taken");
  if (!expect(status, RILL_OK, "rill_push")) return;
  if (taken < 0 || taken > count) return fail("rill_push took a count that makes no sense");
  lane->at.in[i] += taken;
  lane->at.mode = Mode::kPushed;
}

void Wanderer::pull(Lane* lane, size_t output, int64_t capacity, int64_t* given) {
  const Port& port = plan_of(*lane).outputs[output];
  Scattered frames(port, capacity, &random_);
  const rill_view view = frames.view();
  const rill_status status = rill_pull(lane->session.get(), output, &view, given);
  note(*lane, "rill_pull of output " + std::to_string(output) + ", capacity " +
                  std::to_string(capacity) + ", " + std::to_string(*given) + " are given");
  if (!expect(status, RILL_OK, "rill_pull")) return;
  lane->at.mode = Mode::kPushed;
  int64_t& had = lane->at.out[output];
  const Whole& whole = *lane->at.whole;
  const int64_t all = wanted(*lane, port, output);
  if (!whole.too_short || whole.length == 0) {
    if (*given < 0 || *given > capacity || (*given > 0 && had + *given > all)) {
      return fail("output " + std::to_string(output) + " has " + std::to_string(had + *given) +
                  " frames, expected " + std::to_string(all));
    }
    if (*given > 0) {
      const std::string wrong = subject_.difference(
          frames.take(*given), whole.outputs[output].part(port.axis, had, *given));
      if (!wrong.empty()) fail("output " + std::to_string(output) + ": " + wrong);
    }
    if (!frames.is_untouched()) fail("bytes were written that are no frames");
    tally_->frames += *given;
  }
  had += *given;
}

void Wanderer::finish(Lane* lane) {
  const rill_status status = rill_finish(lane->session.get());
  note(*lane, "rill_finish");
  if (!end_is_fine(lane, status, "rill_finish")) return;
  lane->at.mode = Mode::kPushed;
  lane->at.ended = true;
  // Before its state was saved, the stream may have been stepped, and have given frames past its
  // end.
  const auto& ports = plan_of(*lane).outputs;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].early == 0) continue;
    lane->at.out[i] = std::min(lane->at.out[i], wanted(*lane, ports[i], i));
  }
}

/// Pull until no output gives frames.
void Wanderer::drain(Lane* lane) {
  const auto& ports = plan_of(*lane).outputs;
  if (random_.chance(70)) {
    const size_t output = pick(ports.size());
    int64_t given = 0;
    if (ports[output].axis < 0) return;
    return pull(lane, output, random_.in(0, 2 * pulse_of(ports[output]) + 3), &given);
  }
  for (int64_t all = 1; all > 0 && problem_.empty();) {
    all = 0;
    for (size_t i = 0; i < ports.size() && problem_.empty(); ++i) {
      int64_t given = 0;
      if (ports[i].axis >= 0) pull(lane, i, random_.in(1, 9), &given);
      all += given;
    }
  }
  check_over(lane);
}

void Wanderer::check_over(Lane* lane) {
  const Whole& whole = *lane->at.whole;
  const auto& ports = plan_of(*lane).outputs;
  lane->at.over = true;
  if (whole.too_short || !problem_.empty()) return;
  for (size_t i = 0; i < ports.size(); ++i) {
    const Port& port = ports[i];
    if (port.axis >= 0) {
      const int64_t all = wanted(*lane, port, i);
      if (lane->at.out[i] == all) continue;
      return fail("output " + std::to_string(i) + " gave " + std::to_string(lane->at.out[i]) +
                  " frames in all, expected " + std::to_string(all));
    }
    if (!whole.defined) return fail("a value of a stream for which there is no whole run");
    const Array value = read_buffer(lane->session.get(), RILL_OUTPUT, i, port);
    const std::string wrong = subject_.difference(value, whole.outputs[i]);
    if (!wrong.empty()) return fail("value of output " + std::to_string(i) + ": " + wrong);
  }
  ++tally_->streams;
}

void Wanderer::fill_pulse(Lane* lane, bool beyond) {
  const auto& ports = plan_of(*lane).inputs;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].axis < 0) continue;
    const rill_view view = buffer_of(lane->session.get(), RILL_INPUT, i);
    const int64_t pulse = pulse_of(ports[i]);
    Array part = Array::zeros(ports[i].dtype, ports[i].shape);
    if (lane->at.whole->defined && !beyond) {
      // Frames past the end are NaN.
      part = lane->at.whole->inputs[i].part(ports[i].axis, lane->at.in[i], pulse);
    } else if (ports[i].dtype == RILL_F32) {
      std::memset(part.bytes.data(), 0xFF, part.bytes.size());
    }
    std::memcpy(view.data, part.bytes.data(), part.bytes.size());
  }
}

/// Prepare the next common step, with its frames in the buffers. Return false if the stream is
/// pushed.
bool Wanderer::next_part(Lane* lane, rill_session_step* member) {
  if (lane->at.mode == Mode::kPushed || lane->at.over) return false;
  const auto& ports = plan_of(*lane).inputs;
  const size_t first = first_stream(ports);
  const int64_t pulse = pulse_of(ports[first]);
  const int64_t left = total(*lane, ports[first], first) - lane->at.in[first];
  *member = {};
  member->size = sizeof(*member);
  member->session = lane->session.get();
  member->kind = RILL_STEP_FULL;
  if (lane->at.ended) {
    member->kind = RILL_STEP_FLUSH;
  } else if (left < pulse || (left == pulse && !(plan_of(*lane).late_end && random_.chance(50)))) {
    member->kind = RILL_STEP_PARTIAL;
    member->valid_frames = left;
  }
  fill_pulse(lane, lane->at.ended);
  return true;
}

void Wanderer::took_part(Lane* lane, const rill_session_step& member) {
  lane->at.mode = Mode::kStepped;
  const auto& ports = plan_of(*lane).inputs;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].axis < 0) continue;
    if (member.kind == RILL_STEP_FULL) lane->at.in[i] += pulse_of(ports[i]);
    if (member.kind == RILL_STEP_PARTIAL) lane->at.in[i] = total(*lane, ports[i], i);
  }
  lane->at.ended |= member.kind == RILL_STEP_PARTIAL;
  const Whole& whole = *lane->at.whole;
  const auto& outputs = plan_of(*lane).outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Port& port = outputs[i];
    if (port.axis < 0) continue;
    int64_t first = -1;
    int64_t count = -1;
    if (!expect(rill_valid_frames(lane->session.get(), i, &first, &count), RILL_OK,
                "rill_valid_frames")) {
      return;
    }
    const int64_t had = lane->at.out[i];
    lane->at.out[i] += count;
    if (whole.too_short && whole.length > 0) continue;
    const int64_t all = wanted(*lane, port, i);
    if (lane->at.ended) lane->at.out[i] = std::min(lane->at.out[i], all);
    if (port.early > 0) count = std::clamp<int64_t>(all - had, 0, count);
    if (had + count > all + port.early) {
      return fail("output " + std::to_string(i) + " has " + std::to_string(had + count) +
                  " frames, expected " + std::to_string(all));
    }
    if (count == 0) continue;
    const Array found =
        read_buffer(lane->session.get(), RILL_OUTPUT, i, port).part(port.axis, first, count);
    const std::string wrong =
        subject_.difference(found, whole.outputs[i].part(port.axis, had, count));
    if (!wrong.empty()) return fail("output " + std::to_string(i) + ": " + wrong);
    tally_->frames += count;
  }
}

void Wanderer::step(Lane* lane) {
  rill_session_step member;
  if (!next_part(lane, &member)) return;
  int64_t left = -1;
  rill_status status = RILL_OK;
  const char* call = "rill_step";
  if (member.kind == RILL_STEP_FULL) {
    status = rill_step(member.session);
  } else if (member.kind == RILL_STEP_PARTIAL) {
    call = "rill_step_partial";
    status = rill_step_partial(member.session, member.valid_frames);
  } else {
    call = "rill_flush";
    status = rill_flush(member.session, &left);
  }
  note(*lane, std::string(call) + " " + std::to_string(member.valid_frames));
  if (member.kind == RILL_STEP_PARTIAL && !end_is_fine(lane, status, call)) return;
  if (!expect(status, RILL_OK, call)) return;
  took_part(lane, member);
  if (left == 0) check_over(lane);
}

void Wanderer::step_together() {
  const size_t plan = pick(subject_.plans().size());
  std::vector<rill_session_step> requests;
  std::vector<Lane*> active;
  for (Lane& lane : lanes_) {
    rill_session_step member;
    const bool sure = lane.at.whole->accepted;
    if (lane.plan != plan || !sure || random_.chance(20) || !next_part(&lane, &member)) continue;
    requests.push_back(member);
    active.push_back(&lane);
  }
  const rill_status status = rill_step_together(requests.data(), requests.size());
  for (size_t i = 0; i < active.size(); ++i) {
    note(*active[i], "rill_step_together, kind " + std::to_string(requests[i].kind) + ", " +
                         std::to_string(requests[i].valid_frames));
  }
  if (!expect(status, RILL_OK, "rill_step_together")) return;
  for (size_t i = 0; i < active.size() && problem_.empty(); ++i) took_part(active[i], requests[i]);
}

}  // namespace rill::test
