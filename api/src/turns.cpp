// Steps of streams: one alone, or several sessions of a plan together.

#include "api/src/turns.h"

#include <cstdio>

#include "api/src/errors.h"
#include "api/src/handles.h"
#include "core/run/denormals.h"

namespace rill::api {
namespace {

rill_status too_long(const char* function, const rill_session& session) {
  const Plan& plan = *session.plan->plan;
  return refuse(
      RILL_E_SHAPE,
      "%s: the model is defined for streams of %lld %s at most, by the tables it has or by "
      "what is asserted: end the stream, or begin anew with rill_session_reset",
      function, static_cast<long long>(plan.longest), plan.stream_symbol.c_str());
}

rill_status check_step(const char* function, const rill_session& session) {
  const bool has_room = !session.plan->streams() || session.session->has_room();
  return has_room ? RILL_OK : too_long(function, session);
}

rill_status check_partial(const char* function, const rill_session& session, int64_t valid_frames) {
  const int64_t pulse = session.plan->input_pulse();
  if (valid_frames >= 0 && valid_frames <= pulse) return RILL_OK;
  return refuse(RILL_E_ARG, "%s: %lld valid frames: expected 0 to %lld", function,
                static_cast<long long>(valid_frames), static_cast<long long>(pulse));
}

rill_status check_flush(const char* function, const rill_session& session) {
  if (session.session->steps_left() >= 0) return RILL_OK;
  return refuse(RILL_E_UNSUPPORTED,
                "%s: the file does not say how long the outputs of "
                "its pulsed model are: load the model it was made of",
                function);
}

Call call_of(rill_turn_kind kind) {
  if (kind == RILL_TURN_PARTIAL) return Call::kPartial;
  return kind == RILL_TURN_FLUSH ? Call::kFlush : Call::kStep;
}

}  // namespace

rill_status check_turn(const char* function, const rill_turn& turn) {
  if (!alive(turn.session)) return refuse(RILL_E_ARG, "%s: %s", function, kNotASession);
  if (turn.kind < RILL_TURN_STEP || turn.kind > RILL_TURN_FLUSH) {
    return refuse(RILL_E_ARG, "%s: no kind of turn: %d", function, static_cast<int>(turn.kind));
  }
  const rill_session& session = *turn.session;
  const rill_status now = check_moment(function, call_of(turn.kind), session);
  if (now != RILL_OK) return now;
  if (turn.kind == RILL_TURN_STEP) return check_step(function, session);
  if (turn.kind == RILL_TURN_FLUSH) return check_flush(function, session);
  return check_partial(function, session, turn.valid_frames);
}

rill_status announce_end(const rill_turn& turn) {
  if (turn.kind != RILL_TURN_PARTIAL) return RILL_OK;
  rill_session* session = turn.session;
  // The length counts frames of the input, of which a unit of the stream symbol may be several.
  const int64_t pulse = session->plan->input_pulse();
  const int64_t symbol_pulse = session->plan->plan->stream_pulse;
  const int64_t length = session->session->position(pulse) + turn.valid_frames;
  const auto end = rill::scaled_whole(length, symbol_pulse, pulse);
  if (!end) {
    return refuse(RILL_E_SHAPE,
                  "a stream of %lld frames does not suit the model: %lld frames stand for %lld %s",
                  static_cast<long long>(length), static_cast<long long>(pulse),
                  static_cast<long long>(symbol_pulse), session->plan->plan->stream_symbol.c_str());
  }
  return report(session->session->try_end(*end));
}

void take_end_back(const rill_turn& turn) {
  if (turn.kind != RILL_TURN_PARTIAL) return;
  turn.session->session->announce_end(-1);
}

bool begin_turn(const rill_turn& turn) {
  rill_session* session = turn.session;
  pass_moment(call_of(turn.kind), session);
  session->stage.gave_frames = turn.kind == RILL_TURN_STEP ||
                               (turn.kind == RILL_TURN_PARTIAL && turn.valid_frames > 0) ||
                               session->session->steps_left() > 0;
  return session->stage.gave_frames;
}

namespace {

/// The turns of a caller, whose size may be that of a later rill.h.
class Turns {
 public:
  Turns(const rill_turn* first, size_t count) RILL_NONBLOCKING
      : first_(reinterpret_cast<const char*>(first)),
        size_(first->size),
        count_(count) {}
  size_t size() const RILL_NONBLOCKING { return count_; }
  const rill_turn& operator[](size_t i) const RILL_NONBLOCKING {
    return *reinterpret_cast<const rill_turn*>(first_ + i * size_);
  }

 private:
  const char* first_;
  size_t size_;
  size_t count_;
};

/// Which turn is refused.
struct Place {
  RILL_NOT_IN_STEPS_BEGIN
  explicit Place(size_t turn) noexcept RILL_NONBLOCKING {
    std::snprintf(text, sizeof text, "rill_step_together: turn %zu", turn);
  }
  RILL_NOT_IN_STEPS_END
  char text[48];
};

/// All turns, each alone and then together; marks the sessions that have one.
rill_status check_turns(const Turns& turns, size_t* marked) {
  for (size_t i = 0; i < turns.size(); ++i) {
    if (turns[i].size != turns[0].size) {
      return refuse(RILL_E_ABI, "%s: size %u, expected that of the first, %u", Place(i).text,
                    static_cast<unsigned>(turns[i].size), static_cast<unsigned>(turns[0].size));
    }
    if (check_turn("rill_step_together", turns[i]) != RILL_OK) {
      return check_turn(Place(i).text, turns[i]);
    }
    rill_session* session = turns[i].session;
    if (session->plan != turns[0].session->plan) {
      return refuse(RILL_E_ARG, "%s: a session of another plan", Place(i).text);
    }
    if (session->in_turn) {
      return refuse(RILL_E_ARG, "%s: its session has a turn already", Place(i).text);
    }
    session->in_turn = true;
    *marked = i + 1;
  }
  return RILL_OK;
}

rill_status announce_ends(const Turns& turns) {
  for (size_t i = 0; i < turns.size(); ++i) {
    const rill_status ends = announce_end(turns[i]);
    if (ends == RILL_OK) continue;
    while (i-- > 0) take_end_back(turns[i]);
    return ends;
  }
  return RILL_OK;
}

void run_layers(const Turns& turns) {
  const FlushDenormals flush;
  const size_t layers = turns[0].session->plan->plan->steps.size();
  const auto runs = [&](size_t i) { return turns[i].session->stage.gave_frames; };
  for (size_t layer = 0; layer < layers; ++layer) {
    for (size_t i = 0; i < turns.size(); ++i) {
      if (runs(i)) turns[i].session->session->run_layer(layer);
    }
  }
  for (size_t i = 0; i < turns.size(); ++i) {
    if (runs(i)) turns[i].session->session->end_turn();
  }
}

rill_status check_sizes(const rill_turn* turns) {
  const rill_status known = check_size(turns, "rill_turn");
  if (known != RILL_OK) return known;
  if (turns->size % alignof(rill_turn) == 0) return RILL_OK;
  return refuse(RILL_E_ABI, "rill_turn: size %u is no multiple of %zu",
                static_cast<unsigned>(turns->size), alignof(rill_turn));
}

}  // namespace
}  // namespace rill::api

extern "C" {

rill_status rill_step_together(const rill_turn* turns, size_t count) RILL_REAL_TIME {
  if (count == 0) return RILL_OK;
  if (!turns) return rill::api::refuse(RILL_E_ARG, "rill_step_together: no turns");
  rill_status ready = rill::api::check_sizes(turns);
  if (ready != RILL_OK) return ready;
  const rill::api::Turns all(turns, count);
  size_t marked = 0;
  ready = rill::api::check_turns(all, &marked);
  for (size_t i = 0; i < marked; ++i) all[i].session->in_turn = false;
  if (ready == RILL_OK) ready = rill::api::announce_ends(all);
  if (ready != RILL_OK) return ready;
  for (size_t i = 0; i < count; ++i) rill::api::begin_turn(all[i]);
  rill::api::run_layers(all);
  return RILL_OK;
}

}  // extern "C"
