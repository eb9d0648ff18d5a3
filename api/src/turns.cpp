// Steps of streams: one alone, or several sessions of a plan together.

#include "api/src/turns.h"

#include <cstdio>

#include "api/src/errors.h"
#include "api/src/handles.h"
#include "core/exec/denormals.h"

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
  if (!session.plan->streams()) return RILL_OK;
  if (!session.session->end_announced()) {
    return session.session->has_room() ? RILL_OK : too_long(function, session);
  }
  return refuse(RILL_E_STATE,
                "%s: the end of the stream is announced: bring out the tail "
                "with rill_flush, or begin anew with rill_session_reset",
                function);
}

rill_status check_partial(const char* function, const rill_session& session, int64_t valid_frames) {
  if (!session.plan->streams()) {
    return refuse(RILL_E_STATE, "%s: the plan does not stream", function);
  }
  if (session.session->end_announced()) {
    return refuse(RILL_E_STATE, "%s: the end of the stream is announced already", function);
  }
  const int64_t pulse = session.plan->input_pulse();
  if (valid_frames >= 0 && valid_frames <= pulse) return RILL_OK;
  return refuse(RILL_E_ARG, "%s: %lld valid frames: expected 0 to %lld", function,
                static_cast<long long>(valid_frames), static_cast<long long>(pulse));
}

rill_status check_flush(const char* function, const rill_session& session) {
  if (!session.session->end_announced()) {
    return refuse(RILL_E_STATE,
                  "%s: the end of the stream is not announced: call rill_step_partial", function);
  }
  if (session.session->steps_left() >= 0) return RILL_OK;
  return refuse(RILL_E_UNSUPPORTED,
                "%s: the file does not say how long the outputs of "
                "its pulsed model are: load the model it was made of",
                function);
}

}  // namespace

rill_status check_turn(const char* function, const rill_turn& turn) {
  if (!alive(turn.session)) return refuse(RILL_E_ARG, "%s: %s", function, kNotASession);
  const rill_session& session = *turn.session;
  // A pulse run by hand between pushed frames would come out of turn.
  if (session.drive == Drive::kPushes) {
    return refuse(RILL_E_STATE, "%s: this stream is pushed: use rill_push, rill_pull, rill_finish",
                  function);
  }
  switch (turn.kind) {
    case RILL_TURN_STEP:
      return check_step(function, session);
    case RILL_TURN_PARTIAL:
      return check_partial(function, session, turn.valid_frames);
    case RILL_TURN_FLUSH:
      return check_flush(function, session);
  }
  return refuse(RILL_E_ARG, "%s: no kind of turn: %d", function, static_cast<int>(turn.kind));
}

rill_status announce_end(const rill_turn& turn) {
  if (turn.kind != RILL_TURN_PARTIAL) return RILL_OK;
  rill_session* session = turn.session;
  // The length counts frames of the input, of which a unit of the stream symbol may be several.
  const int64_t pulse = session->plan->input_pulse();
  const int64_t symbol_pulse = session->plan->plan->stream_pulse;
  const int64_t length = session->session->position(pulse) + turn.valid_frames;
  const int64_t scaled = length * symbol_pulse;
  if (scaled % pulse != 0) {
    return refuse(RILL_E_SHAPE,
                  "a stream of %lld frames does not suit the model: %lld frames stand for %lld %s",
                  static_cast<long long>(length), static_cast<long long>(pulse),
                  static_cast<long long>(symbol_pulse), session->plan->plan->stream_symbol.c_str());
  }
  const Status suits = session->session->try_end(scaled / pulse);
  if (!suits.ok()) return report(suits);
  session->end_frames = length;
  return RILL_OK;
}

void take_end_back(const rill_turn& turn) {
  if (turn.kind != RILL_TURN_PARTIAL) return;
  turn.session->session->announce_end(-1);
  turn.session->end_frames = -1;
}

bool begin_turn(const rill_turn& turn) {
  rill_session* session = turn.session;
  if (session->plan->streams()) session->drive = Drive::kSteps;
  session->gave_frames = turn.kind == RILL_TURN_STEP ||
                         (turn.kind == RILL_TURN_PARTIAL && turn.valid_frames > 0) ||
                         session->session->steps_left() > 0;
  return session->gave_frames;
}

namespace {

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
rill_status check_turns(const rill_turn* turns, size_t count, size_t* marked) {
  for (size_t i = 0; i < count; ++i) {
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

rill_status announce_ends(const rill_turn* turns, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const rill_status ends = announce_end(turns[i]);
    if (ends == RILL_OK) continue;
    while (i-- > 0) take_end_back(turns[i]);
    return ends;
  }
  return RILL_OK;
}

void run_layers(const rill_turn* turns, size_t count) {
  const FlushDenormals flush;
  const size_t layers = turns[0].session->plan->plan->steps.size();
  for (size_t layer = 0; layer < layers; ++layer) {
    for (size_t i = 0; i < count; ++i) {
      if (turns[i].session->gave_frames) turns[i].session->session->run_layer(layer);
    }
  }
  for (size_t i = 0; i < count; ++i) {
    if (turns[i].session->gave_frames) turns[i].session->session->end_turn();
  }
}

}  // namespace
}  // namespace rill::api

extern "C" {

rill_status rill_step_together(const rill_turn* turns, size_t count) RILL_REAL_TIME {
  if (count == 0) return RILL_OK;
  if (!turns) return rill::api::refuse(RILL_E_ARG, "rill_step_together: no turns");
  size_t marked = 0;
  rill_status ready = rill::api::check_turns(turns, count, &marked);
  for (size_t i = 0; i < marked; ++i) turns[i].session->in_turn = false;
  if (ready == RILL_OK) ready = rill::api::announce_ends(turns, count);
  if (ready != RILL_OK) return ready;
  for (size_t i = 0; i < count; ++i) rill::api::begin_turn(turns[i]);
  rill::api::run_layers(turns, count);
  return RILL_OK;
}

}  // extern "C"
