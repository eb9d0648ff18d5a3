// Streams that are pushed, and the saved state of streams.

#include "api/src/errors.h"
#include "api/src/guard.h"
#include "api/src/handles.h"
#include "api/src/views.h"
#include "core/exec/saved.h"

using rill::api::alive;
using rill::api::check_view;
using rill::api::Drive;
using rill::api::guarded;
using rill::api::IoText;
using rill::api::kNotASession;
using rill::api::refuse;
using rill::api::report;
using rill::api::view_of;

namespace {

rill_status check_streams(const char* function, const rill_session* session) {
  if (!alive(session)) return refuse(RILL_E_ARG, "%s: %s", function, kNotASession);
  if (session->feed) return RILL_OK;
  return refuse(RILL_E_STATE, "%s: the plan does not stream", function);
}

rill_status take_pushes(const char* function, rill_session* session) {
  if (session->drive == Drive::kSteps) {
    return refuse(RILL_E_STATE, "%s: this stream is run by rill_step: reset it before", function);
  }
  session->drive = Drive::kPushes;
  return RILL_OK;
}

/// What rill_push and rill_pull have in common.
rill_status check_move(const char* function, rill_session* session, rill_dir dir, size_t index,
                       const rill_view* frames, int64_t* moved) {
  const rill_status streams = check_streams(function, session);
  if (streams != RILL_OK) return streams;
  const auto& io = session->plan->io[dir];
  if (index >= io.size()) {
    return refuse(RILL_E_ARG, "%s: no %s %zu: there are %zu", function,
                  dir == RILL_INPUT ? "input" : "output", index, io.size());
  }
  if (!moved) return refuse(RILL_E_ARG, "%s: no place for the count of frames", function);
  const IoText& text = *io[index];
  if (text.stream_axis < 0) {
    return refuse(RILL_E_ARG, "%s: \"%s\" does not stream", function, text.name.c_str());
  }
  const rill_status fits = check_view(function, text, frames, text.stream_axis);
  if (fits != RILL_OK) return fits;
  return take_pushes(function, session);
}

}  // namespace

extern "C" {

rill_status rill_push(rill_session* session, size_t input, const rill_view* frames,
                      int64_t* taken) RILL_REAL_TIME {
  const rill_status fits = check_move("rill_push", session, RILL_INPUT, input, frames, taken);
  if (fits != RILL_OK) return fits;
  if (session->feed->finished()) {
    return refuse(RILL_E_STATE,
                  "rill_push: the stream is finished: pull its tail, or begin anew with "
                  "rill_session_reset");
  }
  const rill::api::IoText& io = *session->plan->io[RILL_INPUT][input];
  const int64_t room = session->feed->room(input);
  if (frames->shape[io.stream_axis] > room) {
    const rill::Plan& plan = *session->plan->plan;
    return refuse(
        RILL_E_SHAPE,
        "rill_push: the model is defined for streams of %lld %s at most, by the tables it "
        "has or by what is asserted: there is room for %lld frames",
        static_cast<long long>(plan.longest), plan.stream_symbol.c_str(),
        static_cast<long long>(room));
  }
  *taken = session->feed->push(input, view_of(io, *frames));
  return RILL_OK;
}

rill_status rill_pull(rill_session* session, size_t output, const rill_view* frames,
                      int64_t* given) RILL_REAL_TIME {
  const rill_status fits = check_move("rill_pull", session, RILL_OUTPUT, output, frames, given);
  if (fits != RILL_OK) return fits;
  const rill::api::IoText& io = *session->plan->io[RILL_OUTPUT][output];
  *given = session->feed->pull(output, view_of(io, *frames));
  return RILL_OK;
}

rill_status rill_finish(rill_session* session) RILL_REAL_TIME {
  const rill_status streams = check_streams("rill_finish", session);
  if (streams != RILL_OK) return streams;
  const rill_status free = take_pushes("rill_finish", session);
  if (free != RILL_OK) return free;
  if (session->feed->finished()) {
    return refuse(RILL_E_STATE, "rill_finish: the stream is finished already");
  }
  const rill::Status finished = session->feed->finish();
  if (!finished.ok()) return report(finished);
  session->end_frames = session->feed->pushed(static_cast<size_t>(session->plan->stream_input));
  return RILL_OK;
}

rill_status rill_state_size(const rill_session* session, size_t* size) RILL_REAL_TIME {
  const rill_status streams = check_streams("rill_state_size", session);
  if (streams != RILL_OK) return streams;
  if (!size) return refuse(RILL_E_ARG, "rill_state_size: no place for the size");
  rill::SavedState state(session->session.get(), session->feed.get());
  *size = static_cast<size_t>(state.most_bytes());
  return RILL_OK;
}

rill_status rill_state_save(const rill_session* session, void* bytes, size_t size,
                            size_t* written) RILL_REAL_TIME {
  const rill_status streams = check_streams("rill_state_save", session);
  if (streams != RILL_OK) return streams;
  if (!bytes || !written) return refuse(RILL_E_ARG, "rill_state_save: no place for the state");
  if (reinterpret_cast<uintptr_t>(bytes) % 8 != 0) {
    return refuse(RILL_E_ARG, "rill_state_save: the memory is not aligned to 8 bytes");
  }
  rill::SavedState state(session->session.get(), session->feed.get());
  const int64_t used = state.save({static_cast<std::byte*>(bytes), size});
  if (used < 0) {
    return refuse(RILL_E_ARG, "rill_state_save: %zu bytes: expected %lld, see rill_state_size",
                  size, static_cast<long long>(state.most_bytes()));
  }
  *written = static_cast<size_t>(used);
  return RILL_OK;
}

rill_status rill_state_load(rill_session* session, const void* bytes, size_t size) {
  const rill_status streams = check_streams("rill_state_load", session);
  if (streams != RILL_OK) return streams;
  if (!bytes) return refuse(RILL_E_ARG, "rill_state_load: no bytes");
  if (reinterpret_cast<uintptr_t>(bytes) % 8 != 0) {
    return refuse(RILL_E_ARG, "rill_state_load: the bytes are not aligned to 8");
  }
  const rill_status loaded = guarded("rill_state_load", [&] {
    rill::SavedState state(session->session.get(), session->feed.get());
    return report(state.load({static_cast<const std::byte*>(bytes), size}));
  });
  if (loaded != RILL_OK) return loaded;
  const rill::Session& inner = *session->session;
  session->gave_frames = false;
  session->drive = session->feed->idle() ? Drive::kOpen : Drive::kPushes;
  session->end_frames = -1;
  if (inner.end_announced()) {
    session->end_frames =
        inner.end() * session->plan->input_pulse() / session->plan->plan->stream_pulse;
  }
  return RILL_OK;
}

}  // extern "C"
