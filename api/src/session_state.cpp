// The calls of a session that each state allows: the table of docs/sessions.md.

#include "api/src/session_state.h"

#include "api/src/errors.h"
#include "api/src/handles.h"

namespace rill::api {
namespace {

constexpr size_t kStates = static_cast<size_t>(SessionState::kPushedToEnd) + 1;
constexpr size_t kCalls = static_cast<size_t>(Call::kState) + 1;

enum Why : uint8_t {
  kNone,
  kWhole,
  kStreams,
  kPushes,
  kSteps,
  kTail,
  kEnded,
  kNotEnded,
  kOver,
  kFinished,
};

const char* text_of(Why why) {
  switch (why) {
    case kNone:
      break;
    case kWhole:
      return "the plan does not stream";
    case kStreams:
      return "the plan streams: use rill_step";
    case kPushes:
      return "this stream is pushed: use rill_push, rill_pull, rill_finish";
    case kSteps:
      return "this stream is run by rill_step: reset it before";
    case kTail:
      return "the end of the stream is announced: get the tail with rill_flush, or restart with "
             "rill_session_reset";
    case kEnded:
      return "the end of the stream is announced already";
    case kNotEnded:
      return "the end of the stream is not announced: call rill_step_partial";
    case kOver:
      return "the stream is finished: pull its tail, or restart with rill_session_reset";
    case kFinished:
      return "the stream is finished already";
  }
  return "";
}

/// The reason why a call is refused; kNone if it is allowed.
constexpr Why kRefused[kCalls][kStates] = {
    // whole, new,      stepped,  pushed,   ended,     stepped to end, pushed to end
    {kNone, kStreams, kStreams, kStreams, kStreams, kStreams, kStreams},  // rill_run
    {kNone, kNone, kNone, kPushes, kTail, kTail, kPushes},                // rill_step
    {kWhole, kNone, kNone, kPushes, kEnded, kEnded, kPushes},             // rill_step_partial
    {kWhole, kNotEnded, kNotEnded, kPushes, kNone, kNone, kPushes},       // rill_flush
    {kWhole, kNone, kSteps, kNone, kOver, kSteps, kOver},                 // rill_push
    {kWhole, kNone, kSteps, kNone, kNone, kSteps, kNone},                 // rill_pull
    {kWhole, kNone, kSteps, kNone, kFinished, kSteps, kFinished},         // rill_finish
    {kWhole, kNone, kNone, kNone, kNone, kNone, kNone},                   // rill_state_*
};

}  // namespace

SessionState state_of(const rill_session& session) {
  if (!session.feed) return SessionState::kWhole;
  const bool ended = session.session->end_announced();
  switch (session.stage.drive) {
    case Drive::kSteps:
      return ended ? SessionState::kSteppedToEnd : SessionState::kStepped;
    case Drive::kPushes:
      return ended ? SessionState::kPushedToEnd : SessionState::kPushed;
    case Drive::kOpen:
      break;
  }
  return ended ? SessionState::kEnded : SessionState::kNew;
}

rill_status check_state(const char* function, Call call, const rill_session& session) {
  const auto state = static_cast<size_t>(state_of(session));
  const Why refused = kRefused[static_cast<size_t>(call)][state];
  return refused == kNone ? RILL_OK
                          : refuse(RILL_E_STATE, "%s: %s", function, text_of(refused));
}

void pass_state(Call call, rill_session* session) {
  if (!session->feed) return;
  switch (call) {
    case Call::kStep:
    case Call::kPartial:
    case Call::kFlush:
      session->stage.drive = Drive::kSteps;
      return;
    case Call::kPush:
    case Call::kPull:
    case Call::kFinish:
      session->stage.drive = Drive::kPushes;
      return;
    case Call::kRun:
    case Call::kState:
      return;
  }
}

}  // namespace rill::api
