// Which call of a session is allowed when: the table of docs/sessions.md.

#include "api/src/moments.h"

#include "api/src/errors.h"
#include "api/src/handles.h"

namespace rill::api {
namespace {

constexpr size_t kMoments = static_cast<size_t>(Moment::kPushedToEnd) + 1;
constexpr size_t kCalls = static_cast<size_t>(Call::kState) + 1;

constexpr char kWhole[] = "the plan does not stream";
constexpr char kStreams[] = "the plan streams: use rill_step";
constexpr char kPushes[] = "this stream is pushed: use rill_push, rill_pull, rill_finish";
constexpr char kSteps[] = "this stream is run by rill_step: reset it before";
constexpr char kTail[] =
    "the end of the stream is announced: bring out the tail with rill_flush, or begin anew with "
    "rill_session_reset";
constexpr char kTold[] = "the end of the stream is announced already";
constexpr char kNotTold[] = "the end of the stream is not announced: call rill_step_partial";
constexpr char kOver[] =
    "the stream is finished: pull its tail, or begin anew with rill_session_reset";
constexpr char kFinished[] = "the stream is finished already";

/// Why a call is refused; null where it is not.
constexpr const char* kRefused[kCalls][kMoments] = {
    // whole,   new,      stepped,  pushed,   ended,     stepped to end, pushed to end
    {nullptr, kStreams, kStreams, kStreams, kStreams, kStreams, kStreams},  // rill_run
    {nullptr, nullptr, nullptr, kPushes, kTail, kTail, kPushes},            // rill_step
    {kWhole, nullptr, nullptr, kPushes, kTold, kTold, kPushes},             // rill_step_partial
    {kWhole, kNotTold, kNotTold, kPushes, nullptr, nullptr, kPushes},       // rill_flush
    {kWhole, nullptr, kSteps, nullptr, kOver, kSteps, kOver},               // rill_push
    {kWhole, nullptr, kSteps, nullptr, nullptr, kSteps, nullptr},           // rill_pull
    {kWhole, nullptr, kSteps, nullptr, kFinished, kSteps, kFinished},       // rill_finish
    {kWhole, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr},         // rill_state_*
};

}  // namespace

Moment moment_of(const rill_session& session) {
  if (!session.feed) return Moment::kWhole;
  const bool ended = session.session->end_announced();
  switch (session.stage.drive) {
    case Drive::kSteps:
      return ended ? Moment::kSteppedToEnd : Moment::kStepped;
    case Drive::kPushes:
      return ended ? Moment::kPushedToEnd : Moment::kPushed;
    case Drive::kOpen:
      break;
  }
  return ended ? Moment::kEnded : Moment::kNew;
}

rill_status check_moment(const char* function, Call call, const rill_session& session) {
  const auto moment = static_cast<size_t>(moment_of(session));
  const char* const refused = kRefused[static_cast<size_t>(call)][moment];
  return refused ? refuse(RILL_E_STATE, "%s: %s", function, refused) : RILL_OK;
}

void pass_moment(Call call, rill_session* session) {
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
