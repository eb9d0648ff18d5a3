#include <algorithm>
#include <memory>
#include <new>

#include "api/src/errors.h"
#include "api/src/guard.h"
#include "api/src/handles.h"
#include "api/src/step_together.h"
#include "api/src/views.h"
#include "core/run/index_range.h"
#include "core/run/index_step.h"
#include "core/tensor/view.h"

using rill::api::alive;
using rill::api::Call;
using rill::api::check_state;
using rill::api::check_view;
using rill::api::Drive;
using rill::api::guarded;
using rill::api::kNotASession;
using rill::api::refuse;
using rill::api::report;
using rill::api::view_of;

namespace {

rill_status refuse_output(const char* function, const rill_session& session, size_t output) {
  return refuse(RILL_E_ARG, "%s: no output %zu: there are %zu", function, output,
                session.plan->plan->outputs.size());
}

rill_status refuse_index(const char* function, const rill_session& session, rill_dir dir,
                         size_t index) {
  return refuse(RILL_E_ARG, "%s: no %s %zu: there are %zu", function,
                dir == RILL_INPUT ? "input" : "output", index, session.plan->io[dir].size());
}

rill_status check_row_major(const char* function, const rill::api::IoText& io,
                            const rill_view* view) {
  if (!view->strides) return RILL_OK;
  for (size_t axis = 0; axis < io.shape.size(); ++axis) {
    if (io.shape[axis] == 1 || view->strides[axis] == io.strides[axis]) continue;
    return refuse(RILL_E_ARG, "%s: \"%s\": stride %lld on axis %zu, expected %lld: row-major",
                  function, io.name.c_str(), static_cast<long long>(view->strides[axis]), axis,
                  static_cast<long long>(io.strides[axis]));
  }
  return RILL_OK;
}

rill_status bind(const char* function, rill_session* session, rill_dir dir, size_t index,
                 const rill_view* view) {
  if (!alive(session)) return refuse(RILL_E_ARG, "%s: %s", function, kNotASession);
  if (index >= session->plan->io[dir].size()) return refuse_index(function, *session, dir, index);
  void* data = nullptr;
  if (view) {
    const rill::api::IoText& io = *session->plan->io[dir][index];
    rill_status fits = check_view(function, io, view);
    if (fits == RILL_OK) fits = check_row_major(function, io, view);
    if (fits != RILL_OK) return fits;
    data = view->data;
  }
  // A stepped stream has no queued frames; its buffer may contain the caller's next pulse.
  if (session->feed && session->stage.drive != Drive::kSteps) {
    dir == RILL_INPUT ? session->feed->bind_input(index, data)
                      : session->feed->bind_output(index, data);
    return RILL_OK;
  }
  dir == RILL_INPUT ? session->session->bind_input(index, data)
                    : session->session->bind_output(index, data);
  return RILL_OK;
}

rill_status buffer(const char* function, rill_session* session, rill_dir dir, size_t index,
                   rill_view* view) {
  if (!alive(session)) return refuse(RILL_E_ARG, "%s: %s", function, kNotASession);
  const rill_status known = rill::api::check_size(view, "rill_view");
  if (known != RILL_OK) return known;
  if (index >= session->plan->io[dir].size()) return refuse_index(function, *session, dir, index);
  const rill::api::IoText& io = *session->plan->io[dir][index];
  view->dtype = static_cast<rill_dtype>(io.dtype);
  view->rank = static_cast<uint32_t>(io.shape.size());
  view->shape = io.shape.data();
  view->strides = io.strides.data();
  view->data = dir == RILL_INPUT ? session->session->input(index).data
                                 : session->session->output(index).data;
  return RILL_OK;
}

rill_status make_session(rill_plan* plan, int64_t max_push, rill_session** session) {
  auto inner = rill::Session::make(plan->plan);
  if (!inner.ok()) return report(inner.status());
  std::unique_ptr<rill::Feed> feed;
  if (plan->streams()) {
    auto fed = rill::Feed::make(inner->get(), max_push);
    if (!fed.ok()) return report(fed.status());
    feed = std::move(fed).value();
  }
  auto* made = new rill_session;
  made->plan = rill_plan_retain(plan);
  made->own_session = std::move(inner).value();
  made->own_feed = std::move(feed);
  made->session = made->own_session.get();
  made->feed = made->own_feed.get();
  made->max_push = max_push;
  *session = made;
  return RILL_OK;
}

/// Check the arguments of a new session.
rill_status check_options(const char* function, const rill_plan* plan,
                          const rill_session_opts* opts, int64_t* max_push) {
  if (!alive(plan)) {
    return refuse(RILL_E_ARG, "%s: not a plan: null, freed, or another kind of object", function);
  }
  *max_push = 0;
  if (opts) {
    const rill_status known = rill::api::check_size(opts, "rill_session_opts");
    if (known != RILL_OK) return known;
    *max_push = opts->max_push;
  }
  if (*max_push >= 0) return RILL_OK;
  return refuse(RILL_E_ARG, "%s: max_push is %lld: expected 0 or more", function,
                static_cast<long long>(*max_push));
}

rill_status open_session(const char* function, rill_plan* plan, const rill_session_opts* opts,
                         rill_session** session) {
  if (!session) return refuse(RILL_E_ARG, "%s: null pointer for the session", function);
  *session = nullptr;
  int64_t max_push = 0;
  const rill_status known = check_options(function, plan, opts, &max_push);
  if (known != RILL_OK) return known;
  return guarded(function, [&] { return make_session(plan, max_push, session); });
}

constexpr int64_t kAlign = rill::kSessionAlignment;

int64_t aligned(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

/// The offsets of the session and of its feed in the memory after the handle, and the size of all.
struct SessionOffsets {
  int64_t session = 0;
  int64_t feed = 0;
  int64_t all = 0;
};

rill_status offsets_of(const char* function, const rill_plan& plan, int64_t max_push,
                       SessionOffsets* offsets) {
  offsets->session = aligned(sizeof(rill_session));
  offsets->feed = offsets->session + rill::PlacedSession::bytes_for(*plan.plan);
  offsets->all = offsets->feed;
  if (!plan.streams()) return RILL_OK;
  const auto bytes = rill::PlacedFeed::bytes_for(*plan.plan, max_push);
  if (!bytes) {
    return refuse(RILL_E_NOMEM, "%s: no memory to hold the outputs of %lld frames", function,
                  static_cast<long long>(max_push));
  }
  offsets->all += *bytes;
  return RILL_OK;
}

rill_status place_session(rill_plan* plan, int64_t max_push, void* memory, size_t size,
                          rill_session** session) {
  constexpr char kName[] = "rill_session_place";
  SessionOffsets offsets;
  const rill_status known = offsets_of(kName, *plan, max_push, &offsets);
  if (known != RILL_OK) return known;
  if (!memory || static_cast<uint64_t>(offsets.all) > size) {
    return refuse(RILL_E_NOMEM, "%s: memory of %zu bytes for a session that takes %lld", kName,
                  memory ? size : size_t{0}, static_cast<long long>(offsets.all));
  }
  if (reinterpret_cast<uintptr_t>(memory) % static_cast<uintptr_t>(kAlign) != 0) {
    return refuse(RILL_E_ARG,
                  "%s: memory that is not aligned to %d bytes; a session takes %lld bytes", kName,
                  static_cast<int>(kAlign), static_cast<long long>(offsets.all));
  }
  auto* const begin = static_cast<std::byte*>(memory);
  auto* const made = new (memory) rill_session;
  made->plan = rill_plan_retain(plan);
  made->session = rill::PlacedSession::place(*plan->plan, begin + offsets.session);
  if (plan->streams()) {
    made->feed = rill::PlacedFeed::place(made->session, max_push, begin + offsets.feed);
  }
  made->max_push = max_push;
  made->placed_bytes = offsets.all;
  *session = made;
  return RILL_OK;
}

rill_status run_step(const char* function, const rill_session_step& step) {
  rill_status ready = rill::api::check_session_step(function, step);
  if (ready == RILL_OK) ready = rill::api::announce_end(step);
  if (ready != RILL_OK) return ready;
  if (!rill::api::begin_step(step)) return RILL_OK;
  step.session->session->step();
  return rill::api::refuse_bad_index(*step.session->session);
}

/// Return the remaining frames of the output with the most; a value that is known at the end counts
/// as one.
int64_t frames_left(const rill_session& session) {
  int64_t most = 0;
  const auto& outputs = session.plan->plan->outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const rill::PlanStream& stream = outputs[i].stream;
    const int64_t frames = session.session->output_frames(i);
    if (stream.axis < 0 || frames <= 0) continue;
    const int64_t out = session.session->position(stream.pulse);
    most = std::max(most, stream.delay + frames - std::max(out, stream.delay));
  }
  return most == 0 && session.session->steps_left() > 0 ? 1 : most;
}

}  // namespace

extern "C" {

rill_status rill_session_new(rill_plan* plan, rill_session** session) {
  return open_session("rill_session_new", plan, nullptr, session);
}

rill_status rill_session_open(rill_plan* plan, const rill_session_opts* opts,
                              rill_session** session) {
  return open_session("rill_session_open", plan, opts, session);
}

rill_status rill_session_need(const rill_plan* plan, const rill_session_opts* opts,
                              size_t* bytes) {
  constexpr char kName[] = "rill_session_need";
  if (!bytes) return refuse(RILL_E_ARG, "%s: null pointer for the count of bytes", kName);
  int64_t max_push = 0;
  SessionOffsets offsets;
  rill_status known = check_options(kName, plan, opts, &max_push);
  if (known == RILL_OK) known = offsets_of(kName, *plan, max_push, &offsets);
  if (known != RILL_OK) return known;
  *bytes = static_cast<size_t>(offsets.all);
  if (static_cast<int64_t>(*bytes) == offsets.all) return RILL_OK;
  *bytes = 0;
  return refuse(RILL_E_NOMEM, "%s: an address has too few bits for the %lld bytes that it takes",
                kName, static_cast<long long>(offsets.all));
}

rill_status rill_session_place(rill_plan* plan, const rill_session_opts* opts, void* memory,
                               size_t size, rill_session** session) {
  constexpr char kName[] = "rill_session_place";
  if (!session) return refuse(RILL_E_ARG, "%s: null pointer for the session", kName);
  *session = nullptr;
  int64_t max_push = 0;
  const rill_status known = check_options(kName, plan, opts, &max_push);
  if (known != RILL_OK) return known;
  return place_session(plan, max_push, memory, size, session);
}

rill_status rill_session_clone(const rill_session* session, rill_session** copy) {
  if (!copy) return refuse(RILL_E_ARG, "rill_session_clone: null pointer for the copy");
  *copy = nullptr;
  if (!alive(session)) return refuse(RILL_E_ARG, "rill_session_clone: %s", kNotASession);
  const rill_status made = guarded("rill_session_clone", [&] {
    const rill_status status = make_session(session->plan, session->max_push, copy);
    if (status != RILL_OK) return status;
    (*copy)->session->copy_state(*session->session);
    if (session->feed) (*copy)->feed->copy(*session->feed);
    (*copy)->stage = session->stage;
    return RILL_OK;
  });
  if (made == RILL_OK) return RILL_OK;
  rill_session_free(*copy);
  *copy = nullptr;
  return made;
}

void rill_session_free(rill_session* session) {
  if (!alive(session)) return;
  session->magic = rill::api::kDeadMagic;
  rill_plan* plan = session->plan;
  if (session->placed_bytes > 0) {
    if (session->feed) session->feed->end();
    session->~rill_session();
  } else {
    delete session;
  }
  rill_plan_release(plan);
}

rill_status rill_session_reset(rill_session* session) RILL_REAL_TIME {
  if (!alive(session)) return refuse(RILL_E_ARG, "rill_session_reset: %s", kNotASession);
  session->session->reset();
  if (session->feed) session->feed->reset();
  session->stage = {};
  return RILL_OK;
}

int64_t rill_session_bytes(const rill_session* session) RILL_REAL_TIME {
  if (!alive(session)) return 0;
  if (session->placed_bytes > 0) return session->placed_bytes;
  return static_cast<int64_t>(sizeof(rill_session)) + session->own_session->memory_bytes() +
         (session->own_feed ? session->own_feed->memory_bytes() : 0);
}

rill_status rill_bind_input(rill_session* session, size_t index,
                            const rill_view* view) RILL_REAL_TIME {
  return bind("rill_bind_input", session, RILL_INPUT, index, view);
}

rill_status rill_bind_output(rill_session* session, size_t index,
                             const rill_view* view) RILL_REAL_TIME {
  return bind("rill_bind_output", session, RILL_OUTPUT, index, view);
}

rill_status rill_input_buffer(rill_session* session, size_t index, rill_view* view) RILL_REAL_TIME {
  return buffer("rill_input_buffer", session, RILL_INPUT, index, view);
}

rill_status rill_output_buffer(rill_session* session, size_t index,
                               rill_view* view) RILL_REAL_TIME {
  return buffer("rill_output_buffer", session, RILL_OUTPUT, index, view);
}

rill_status rill_step(rill_session* session) RILL_REAL_TIME {
  return run_step("rill_step", {sizeof(rill_session_step), RILL_STEP_FULL, session, 0});
}

rill_status rill_step_timed(rill_session* session, int64_t* nanoseconds, size_t count) {
  constexpr char kName[] = "rill_step_timed";
  const rill_session_step step = {sizeof(rill_session_step), RILL_STEP_FULL, session, 0};
  const rill_status ready = rill::api::check_session_step(kName, step);
  if (ready != RILL_OK) return ready;
  const size_t nodes = session->plan->plan->nodes.size();
  if (count != nodes || (!nanoseconds && nodes > 0)) {
    return refuse(RILL_E_ARG, "%s: places for %zu nodes, expected %zu", kName,
                  nanoseconds ? count : 0, nodes);
  }
  if (!session->own_session) {
    return refuse(RILL_E_UNSUPPORTED, "%s: a session in the caller's memory is not timed", kName);
  }
  return guarded(kName, [&] {
    if (!rill::api::begin_step(step)) return RILL_OK;
    session->own_session->step_timed([nanoseconds](int node, int64_t ns) {
      if (node >= 0) nanoseconds[node] += ns;
    });
    return rill::api::refuse_bad_index(*session->session);
  });
}

rill_status rill_step_partial(rill_session* session, int64_t valid_frames) RILL_REAL_TIME {
  return run_step("rill_step_partial",
                  {sizeof(rill_session_step), RILL_STEP_PARTIAL, session, valid_frames});
}

rill_status rill_flush(rill_session* session, int64_t* left) RILL_REAL_TIME {
  const rill_status ran =
      run_step("rill_flush", {sizeof(rill_session_step), RILL_STEP_FLUSH, session, 0});
  if (ran == RILL_OK && left) *left = frames_left(*session);
  return ran;
}

rill_status rill_valid_frames(const rill_session* session, size_t output, int64_t* first,
                              int64_t* count) RILL_REAL_TIME {
  if (!alive(session)) return refuse(RILL_E_ARG, "rill_valid_frames: %s", kNotASession);
  const auto& outputs = session->plan->plan->outputs;
  if (output >= outputs.size()) return refuse_output("rill_valid_frames", *session, output);
  if (!first || !count) return refuse(RILL_E_ARG, "rill_valid_frames: null pointer for the result");
  if (outputs[output].stream.axis < 0) {
    return refuse(RILL_E_STATE, "rill_valid_frames: output \"%s\" does not stream",
                  outputs[output].name.c_str());
  }
  rill::Session::Valid valid;
  if (session->stage.gave_frames) valid = session->session->valid_frames(output);
  *first = valid.count > 0 ? valid.first : 0;
  *count = valid.count;
  return RILL_OK;
}

rill_status rill_position(const rill_session* session, size_t output, int64_t* frames_in,
                          int64_t* frames_out) RILL_REAL_TIME {
  if (!alive(session)) return refuse(RILL_E_ARG, "rill_position: %s", kNotASession);
  const auto& outputs = session->plan->plan->outputs;
  if (output >= outputs.size()) return refuse_output("rill_position", *session, output);
  if (!session->plan->streams() || outputs[output].stream.axis < 0) {
    return refuse(RILL_E_STATE, "rill_position: output \"%s\" does not stream",
                  outputs[output].name.c_str());
  }
  const auto first = static_cast<size_t>(session->plan->stream_input);
  if (frames_in) *frames_in = session->feed->pushed(first);
  if (frames_out) *frames_out = session->feed->pulled(output);
  return RILL_OK;
}

rill_status rill_run(rill_session* session, const rill_view* inputs, size_t input_count,
                     const rill_view* outputs, size_t output_count) RILL_REAL_TIME {
  if (!alive(session)) return refuse(RILL_E_ARG, "rill_run: %s", kNotASession);
  const rill_status now = check_state("rill_run", Call::kRun, *session);
  if (now != RILL_OK) return now;
  const auto& io = session->plan->io;
  if (input_count != io[RILL_INPUT].size() || output_count != io[RILL_OUTPUT].size()) {
    return refuse(RILL_E_ARG, "rill_run: %zu inputs and %zu outputs: expected %zu and %zu",
                  input_count, output_count, io[RILL_INPUT].size(), io[RILL_OUTPUT].size());
  }
  if ((!inputs && input_count > 0) || (!outputs && output_count > 0)) {
    return refuse(RILL_E_ARG, "rill_run: no views");
  }
  for (size_t i = 0; i < input_count; ++i) {
    const rill_status fits = check_view("rill_run", *io[RILL_INPUT][i], &inputs[i]);
    if (fits != RILL_OK) return fits;
    const rill::View values = view_of(*io[RILL_INPUT][i], inputs[i]);
    const rill_status known =
        report(rill::check_index_range(session->plan->plan->inputs[i], values));
    if (known != RILL_OK) return known;
  }
  for (size_t i = 0; i < output_count; ++i) {
    const rill_status fits = check_view("rill_run", *io[RILL_OUTPUT][i], &outputs[i]);
    if (fits != RILL_OK) return fits;
  }
  rill::PlacedSession& inner = *session->session;
  for (size_t i = 0; i < input_count; ++i) {
    rill::copy_plain(view_of(*io[RILL_INPUT][i], inputs[i]), inner.input(i));
  }
  inner.step();
  const rill_status known = rill::api::refuse_bad_index(inner);
  if (known != RILL_OK) return known;
  for (size_t i = 0; i < output_count; ++i) {
    rill::copy_plain(inner.output(i), view_of(*io[RILL_OUTPUT][i], outputs[i]));
  }
  return RILL_OK;
}

}  // extern "C"
