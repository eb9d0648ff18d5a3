// Streams that are pushed, and the saved state of streams.

#include "api/src/errors.h"
#include "api/src/guard.h"
#include "api/src/handles.h"
#include "api/src/views.h"
#include "core/exec/saved.h"
#include "core/run/index_range.h"

using rill::api::alive;
using rill::api::Call;
using rill::api::check_state;
using rill::api::check_view;
using rill::api::Drive;
using rill::api::guarded;
using rill::api::IoText;
using rill::api::kNotASession;
using rill::api::pass_state;
using rill::api::refuse;
using rill::api::report;
using rill::api::view_of;

namespace {

rill_status check_call(const char* function, Call call, const rill_session* session) {
  if (!alive(session)) return refuse(RILL_E_ARG, "%s: %s", function, kNotASession);
  return check_state(function, call, *session);
}

/// Check a call of rill_push or rill_pull.
rill_status check_move(const char* function, Call call, rill_session* session, size_t index,
                       const rill_view* frames, int64_t* moved) {
  const rill_status now = check_call(function, call, session);
  if (now != RILL_OK) return now;
  const rill_dir dir = call == Call::kPush ? RILL_INPUT : RILL_OUTPUT;
  const auto& io = session->plan->io[dir];
  if (index >= io.size()) {
    return refuse(RILL_E_ARG, "%s: no %s %zu: there are %zu", function,
                  dir == RILL_INPUT ? "input" : "output", index, io.size());
  }
  if (!moved) return refuse(RILL_E_ARG, "%s: null pointer for the count of frames", function);
  const IoText& text = *io[index];
  // An input without frames in a step accepts none.
  const bool idle = dir == RILL_INPUT && session->plan->plan->inputs[index].stream.pulse <= 0;
  if (text.stream_axis < 0 || idle) {
    return refuse(RILL_E_ARG, "%s: \"%s\" does not stream", function, text.name.c_str());
  }
  return check_view(function, text, frames, text.stream_axis);
}

/// Check pushed frames that hold indices, and the inputs that do not stream.
rill_status check_pushed(const rill_session& session, size_t input, const rill::View& frames) {
  const auto& inputs = session.plan->plan->inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].indices || (i != input && inputs[i].stream.axis >= 0)) continue;
    const rill::View values = i == input ? frames : session.session->input(i);
    const rill_status known = report(rill::check_index_range(inputs[i], values));
    if (known != RILL_OK) return known;
  }
  return RILL_OK;
}

}  // namespace

extern "C" {

rill_status rill_push(rill_session* session, size_t input, const rill_view* frames,
                      int64_t* taken) RILL_REAL_TIME {
  const rill_status fits = check_move("rill_push", Call::kPush, session, input, frames, taken);
  if (fits != RILL_OK) return fits;
  const rill::api::IoText& io = *session->plan->io[RILL_INPUT][input];
  const int64_t allowed = session->feed->room(input);
  if (frames->shape[io.stream_axis] > allowed) {
    const rill::Plan& plan = *session->plan->plan;
    return refuse(
        RILL_E_SHAPE,
        "rill_push: the model's tables or assertions allow streams of at most %lld %s: there is "
        "room for %lld more frame%s",
        static_cast<long long>(plan.longest), plan.stream_symbol.c_str(),
        static_cast<long long>(allowed), rill::plural(allowed));
  }
  const rill::View values = view_of(io, *frames);
  const rill_status known = check_pushed(*session, input, values);
  if (known != RILL_OK) return known;
  pass_state(Call::kPush, session);
  *taken = session->feed->push(input, values);
  return RILL_OK;
}

rill_status rill_pull(rill_session* session, size_t output, const rill_view* frames,
                      int64_t* given) RILL_REAL_TIME {
  const rill_status fits = check_move("rill_pull", Call::kPull, session, output, frames, given);
  if (fits != RILL_OK) return fits;
  if (const int input = session->feed->lacking(); input >= 0) {
    return refuse(RILL_E_STATE,
                  "rill_pull: \"%s\" lacks frames, but the end of the stream was announced: "
                  "continue with rill_flush",
                  session->plan->io[RILL_INPUT][static_cast<size_t>(input)]->name.c_str());
  }
  const rill::api::IoText& io = *session->plan->io[RILL_OUTPUT][output];
  pass_state(Call::kPull, session);
  *given = session->feed->pull(output, view_of(io, *frames));
  return RILL_OK;
}

rill_status rill_finish(rill_session* session) RILL_REAL_TIME {
  const rill_status now = check_call("rill_finish", Call::kFinish, session);
  if (now != RILL_OK) return now;
  const rill_status finished = report(session->feed->finish());
  if (finished == RILL_OK) pass_state(Call::kFinish, session);
  return finished;
}

rill_status rill_state_size(const rill_session* session, size_t* size) RILL_REAL_TIME {
  const rill_status now = check_call("rill_state_size", Call::kState, session);
  if (now != RILL_OK) return now;
  if (!size) return refuse(RILL_E_ARG, "rill_state_size: null pointer for the size");
  rill::SavedState state(session->session, session->feed);
  *size = static_cast<size_t>(state.most_bytes());
  return RILL_OK;
}

rill_status rill_state_save(const rill_session* session, void* bytes, size_t size,
                            size_t* written) RILL_REAL_TIME {
  const rill_status now = check_call("rill_state_save", Call::kState, session);
  if (now != RILL_OK) return now;
  if (!bytes || !written) return refuse(RILL_E_ARG, "rill_state_save: null pointer for the state");
  if (reinterpret_cast<uintptr_t>(bytes) % 8 != 0) {
    return refuse(RILL_E_ARG, "rill_state_save: the memory is not aligned to 8 bytes");
  }
  rill::SavedState state(session->session, session->feed);
  const int64_t used = state.save({static_cast<std::byte*>(bytes), size});
  if (used < 0) {
    return refuse(RILL_E_ARG, "rill_state_save: %zu bytes: expected %lld, see rill_state_size",
                  size, static_cast<long long>(state.most_bytes()));
  }
  *written = static_cast<size_t>(used);
  return RILL_OK;
}

rill_status rill_state_load(rill_session* session, const void* bytes, size_t size) {
  const rill_status now = check_call("rill_state_load", Call::kState, session);
  if (now != RILL_OK) return now;
  if (!bytes) return refuse(RILL_E_ARG, "rill_state_load: no bytes");
  if (reinterpret_cast<uintptr_t>(bytes) % 8 != 0) {
    return refuse(RILL_E_ARG, "rill_state_load: the bytes are not aligned to 8");
  }
  const rill_status loaded = guarded("rill_state_load", [&] {
    rill::SavedState state(session->session, session->feed);
    return report(state.load({static_cast<const std::byte*>(bytes), size}));
  });
  if (loaded != RILL_OK) return loaded;
  session->stage = {};
  if (!session->feed->idle()) session->stage.drive = Drive::kPushes;
  return RILL_OK;
}

}  // extern "C"
