// Steps of streams: one alone, or several sessions of a plan together.

#include "api/src/step_together.h"

#include <cstdio>

#include "api/src/errors.h"
#include "api/src/handles.h"
#include "core/run/index_range.h"
#include "core/run/index_step.h"
#include "core/run/together.h"
#include "core/tensor/frames.h"

namespace rill::api {
namespace {

rill_status too_long(const char* function, const rill_session& session) {
  const Plan& plan = *session.plan->plan;
  return refuse(
      RILL_E_SHAPE,
      "%s: the model's tables or assertions allow streams of at most %lld %s: end the stream, "
      "or restart with rill_session_reset",
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
                "%s: the file does not contain the lengths of the outputs of "
                "its pulsed model: load the original model",
                function);
}

/// Check the inputs that hold indices, as far as the step reads them.
rill_status check_indices(const rill_session& session, const rill_session_step& step) {
  const auto& inputs = session.plan->plan->inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const rill::PlanIo& io = inputs[i];
    if (!io.indices) continue;
    rill::View values = session.session->input(i);
    if (step.kind == RILL_STEP_PARTIAL && io.stream.axis >= 0) {
      const int64_t frames = step.valid_frames * io.stream.pulse / session.plan->input_pulse();
      values = rill::frames_of(values, io.stream.axis, 0, frames);
    }
    const rill_status known = report(rill::check_index_range(io, values));
    if (known != RILL_OK) return known;
  }
  return RILL_OK;
}

rill_status check_kind(const char* function, const rill_session_step& step) {
  const rill_session& session = *step.session;
  if (step.kind == RILL_STEP_FULL) return check_step(function, session);
  return check_partial(function, session, step.valid_frames);
}

Call call_of(rill_step_kind kind) {
  if (kind == RILL_STEP_PARTIAL) return Call::kPartial;
  return kind == RILL_STEP_FLUSH ? Call::kFlush : Call::kStep;
}

}  // namespace

rill_status check_session_step(const char* function, const rill_session_step& step) {
  if (!alive(step.session)) return refuse(RILL_E_ARG, "%s: %s", function, kNotASession);
  if (step.kind < RILL_STEP_FULL || step.kind > RILL_STEP_FLUSH) {
    return refuse(RILL_E_ARG, "%s: unknown kind of step: %d", function,
                  static_cast<int>(step.kind));
  }
  const rill_session& session = *step.session;
  const rill_status now = check_state(function, call_of(step.kind), session);
  if (now != RILL_OK) return now;
  if (step.kind == RILL_STEP_FLUSH) return check_flush(function, session);
  const rill_status fits = check_kind(function, step);
  return fits == RILL_OK ? check_indices(session, step) : fits;
}

rill_status announce_end(const rill_session_step& step) {
  if (step.kind != RILL_STEP_PARTIAL) return RILL_OK;
  rill_session* session = step.session;
  // The length counts frames of the input, which may have several per unit of the stream symbol.
  const int64_t pulse = session->plan->input_pulse();
  const int64_t symbol_pulse = session->plan->plan->stream_pulse;
  const int64_t length = session->session->position(pulse) + step.valid_frames;
  const auto end = rill::scaled_whole(length, symbol_pulse, pulse);
  if (!end) {
    return refuse(RILL_E_SHAPE,
                  "a stream of %lld frame%s does not suit the model: %lld frames stand for %lld %s",
                  static_cast<long long>(length), rill::plural(length),
                  static_cast<long long>(pulse), static_cast<long long>(symbol_pulse),
                  session->plan->plan->stream_symbol.c_str());
  }
  return report(session->session->try_end(*end));
}

void take_end_back(const rill_session_step& step) {
  if (step.kind != RILL_STEP_PARTIAL) return;
  step.session->session->announce_end(-1);
}

bool begin_step(const rill_session_step& step) {
  rill_session* session = step.session;
  pass_state(call_of(step.kind), session);
  session->stage.gave_frames = step.kind == RILL_STEP_FULL ||
                               (step.kind == RILL_STEP_PARTIAL && step.valid_frames > 0) ||
                               session->session->steps_left() > 0;
  return session->stage.gave_frames;
}

namespace {

/// The caller's steps; their struct size may be that of a later rill.h.
class SessionSteps {
 public:
  SessionSteps(const rill_session_step* first, size_t count) RILL_NONBLOCKING
      : first_(reinterpret_cast<const char*>(first)),
        size_(first->size),
        count_(count) {}
  size_t size() const RILL_NONBLOCKING { return count_; }
  const rill_session_step& operator[](size_t i) const RILL_NONBLOCKING {
    return *reinterpret_cast<const rill_session_step*>(first_ + i * size_);
  }

 private:
  const char* first_;
  size_t size_;
  size_t count_;
};

/// The place of a refused step, for messages.
struct Place {
  RILL_NOT_IN_STEPS_BEGIN
  explicit Place(size_t step) noexcept RILL_NONBLOCKING {
    std::snprintf(text, sizeof text, "rill_step_together: step %zu", step);
  }
  RILL_NOT_IN_STEPS_END
  char text[48];
};

/// Check all steps individually, then together; mark the sessions of the steps.
rill_status check_steps(const SessionSteps& steps, size_t* marked) {
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].size != steps[0].size) {
      return refuse(RILL_E_ABI, "%s: size %u, expected that of the first, %u", Place(i).text,
                    static_cast<unsigned>(steps[i].size), static_cast<unsigned>(steps[0].size));
    }
    if (check_session_step("rill_step_together", steps[i]) != RILL_OK) {
      return check_session_step(Place(i).text, steps[i]);
    }
    rill_session* session = steps[i].session;
    if (session->plan != steps[0].session->plan) {
      return refuse(RILL_E_ARG, "%s: a session of another plan", Place(i).text);
    }
    if (session->in_step) {
      return refuse(RILL_E_ARG, "%s: its session already has a step", Place(i).text);
    }
    session->in_step = true;
    *marked = i + 1;
  }
  return RILL_OK;
}

rill_status announce_ends(const SessionSteps& steps) {
  for (size_t i = 0; i < steps.size(); ++i) {
    const rill_status ends = announce_end(steps[i]);
    if (ends == RILL_OK) continue;
    while (i-- > 0) take_end_back(steps[i]);
    return ends;
  }
  return RILL_OK;
}

void run_layers(const SessionSteps& steps) {
  const auto session = [&](size_t i) -> PlacedSession* {
    const rill_session& own = *steps[i].session;
    return own.stage.gave_frames ? own.session : nullptr;
  };
  step_together(*steps[0].session->plan->plan, steps.size(), session);
}

/// Refuse the first session whose model computed an index out of range; all have stepped.
rill_status check_computed(const SessionSteps& steps) {
  for (size_t i = 0; i < steps.size(); ++i) {
    const rill_session& own = *steps[i].session;
    if (!own.stage.gave_frames) continue;
    const rill_status known = refuse_bad_index(*own.session);
    if (known != RILL_OK) return known;
  }
  return RILL_OK;
}

rill_status check_sizes(const rill_session_step* steps) {
  const rill_status known = check_size(steps, "rill_session_step");
  if (known != RILL_OK) return known;
  if (steps->size % alignof(rill_session_step) == 0) return RILL_OK;
  return refuse(RILL_E_ABI, "rill_session_step: size %u is not a multiple of %zu",
                static_cast<unsigned>(steps->size), alignof(rill_session_step));
}

}  // namespace
}  // namespace rill::api

extern "C" {

rill_status rill_step_together(const rill_session_step* steps, size_t count) RILL_REAL_TIME {
  if (count == 0) return RILL_OK;
  if (!steps) return rill::api::refuse(RILL_E_ARG, "rill_step_together: no steps");
  rill_status ready = rill::api::check_sizes(steps);
  if (ready != RILL_OK) return ready;
  const rill::api::SessionSteps all(steps, count);
  size_t marked = 0;
  ready = rill::api::check_steps(all, &marked);
  for (size_t i = 0; i < marked; ++i) all[i].session->in_step = false;
  if (ready == RILL_OK) ready = rill::api::announce_ends(all);
  if (ready != RILL_OK) return ready;
  for (size_t i = 0; i < count; ++i) rill::api::begin_step(all[i]);
  rill::api::run_layers(all);
  return rill::api::check_computed(all);
}

}  // extern "C"
