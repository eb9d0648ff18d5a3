// The exports of both kinds of modules: runs and streams of plans, and errors.

#include <cstdlib>
#include <string>
#include <utility>

#include "web/src/exports.h"

namespace rill::web {
namespace {

std::string result_text;

void describe_stream(Json* json, const rill_stream_info& stream) {
  const auto put = [&](const char* name, int64_t value) { json->key(name).number(value); };
  json->comma().raw("{");
  put("axis", stream.axis);
  put("pulse", stream.pulse);
  put("delay", stream.delay);
  put("input", stream.input);
  put("inputAxis", stream.input_axis);
  put("inputPulse", stream.input_pulse);
  put("delayInputFrames", stream.delay_input_frames);
  put("rateNumerator", stream.rate_num);
  put("rateDenominator", stream.rate_den);
  put("warmUpSteps", stream.warm_up_steps);
  json->key("symbol").text(stream.symbol).key("length").text(stream.length).raw("}");
}

/// A view of `frames` frames of an input or output of a plan, row-major.
class Frames {
 public:
  Frames(const Run& run, rill_dir dir, uint32_t index, void* data, int64_t frames) {
    auto io = sized<rill_io_info>();
    if (rill_plan_io(run.plan.get(), dir, index, &io) != RILL_OK) return;
    for (uint32_t i = 0; i < io.rank; ++i) shape_[i] = io.shape[i];
    if (io.stream_axis >= 0) shape_[io.stream_axis] = frames;
    view = sized<rill_view>();
    view.dtype = io.dtype;
    view.rank = io.rank;
    view.shape = shape_;
    view.data = data;
  }
  rill_view view = {};

 private:
  int64_t shape_[RILL_MAX_RANK] = {};
};

}  // namespace

const char* kept_text(const Json& json) {
  result_text = json.all();
  return result_text.c_str();
}

void describe(Json* json, const rill_io_info& io) {
  json->comma().raw("{").key("name").text(io.name).key("type").text(rill_dtype_name(io.dtype));
  json->key("text").text(io.text).key("dims").raw("[");
  for (uint32_t i = 0; i < io.rank; ++i) json->comma().text(io.dims[i]);
  json->raw("]").key("shape");
  if (io.shape) {
    json->raw("[");
    for (uint32_t i = 0; i < io.rank; ++i) json->comma().number(io.shape[i]);
    json->raw("]");
  } else {
    json->raw("null");
  }
  json->key("axis").number(io.stream_axis).raw("}");
}

Run* open_run(Plan plan, double max_push) {
  auto opts = sized<rill_session_opts>();
  opts.max_push = static_cast<int64_t>(max_push);
  rill_session* session = nullptr;
  if (rill_session_open(plan.get(), &opts, &session) != RILL_OK) return nullptr;
  return new Run{std::move(plan), session};
}

const char* describe_plan(const rill_plan* plan) {
  Json json;
  json.raw("{");
  describe_ios(&json, plan, rill_plan_count, rill_plan_io);
  json.key("streams").raw("[");
  for (size_t i = 0; i < rill_plan_count(plan, RILL_OUTPUT); ++i) {
    auto stream = sized<rill_stream_info>();
    if (rill_plan_stream(plan, i, &stream) == RILL_OK) describe_stream(&json, stream);
  }
  json.raw("]").key("nodes").raw("[");
  const char* name = nullptr;
  const char* op = nullptr;
  for (size_t i = 0; rill_plan_node(plan, i, &name, &op) == RILL_OK && name; ++i) {
    json.comma().raw("{").key("name").text(name).key("op").text(op).raw("}");
  }
  json.raw("]").key("properties").raw("{");
  for (size_t i = 0; i < rill_plan_properties(plan); ++i) {
    auto property = sized<rill_property>();
    if (rill_plan_property(plan, i, &property) != RILL_OK) continue;
    json.key(property.key).text(property.text);
  }
  auto memory = sized<rill_memory_info>();
  rill_plan_memory(plan, &memory);
  json.raw("}").key("memory").raw("{");
  json.key("weights").number(memory.weight_bytes);
  json.key("state").number(memory.state_bytes);
  json.key("arena").number(memory.arena_bytes);
  json.key("buffers").number(memory.io_bytes);
  return kept_text(json.raw("}}"));
}

}  // namespace rill::web

using rill::web::describe_plan;
using rill::web::Frames;
using rill::web::Json;
using rill::web::Run;
using rill::web::sized;
using rill::web::kept_text;

/// Allocate memory aligned to 64 bytes, which compiled models need.
WEB_API void* web_alloc(size_t bytes) {
  constexpr size_t kUnit = 64;
  return bytes > PTRDIFF_MAX ? nullptr
                             : std::aligned_alloc(kUnit, (bytes + kUnit - 1) / kUnit * kUnit);
}
WEB_API void web_free(void* bytes) { std::free(bytes); }
WEB_API const char* web_version() { return rill_version(); }
WEB_API const char* web_tier() { return rill_cpu(); }

WEB_API const char* web_error() {
  auto info = sized<rill_error_info>();
  rill_last_error_info(&info);
  Json json;
  json.raw("{").key("code").text(rill_status_name(info.code)).key("text").text(rill_last_error());
  json.key("message").text(info.message).key("node").text(info.node).key("op").text(info.op);
  json.key("file").text(info.file).key("line").number(info.line).key("hint").text(info.hint);
  return kept_text(json.raw("}"));
}

WEB_API Run* web_clone(const Run* run) {
  rill_session* copy = nullptr;
  if (rill_session_clone(run->session, &copy) != RILL_OK) return nullptr;
  return new Run{run->plan, copy};
}
WEB_API void web_close(Run* run) {
  rill_session_free(run->session);
  delete run;
}
WEB_API const char* web_plan_info(const Run* run) { return describe_plan(run->plan.get()); }

WEB_API void* web_buffer(Run* run, int output, uint32_t index) {
  auto view = sized<rill_view>();
  const rill_status status = output != 0 ? rill_output_buffer(run->session, index, &view)
                                         : rill_input_buffer(run->session, index, &view);
  return status == RILL_OK ? view.data : nullptr;
}
WEB_API int web_step(Run* run) { return rill_step(run->session); }
WEB_API int web_step_timed(Run* run, int64_t* nanoseconds, size_t nodes) {
  return rill_step_timed(run->session, nanoseconds, nodes);
}

/// Push frames. Return the number taken, or -1 after a failure.
WEB_API double web_push(Run* run, uint32_t input, void* data, double frames) {
  const Frames from(*run, RILL_INPUT, input, data, static_cast<int64_t>(frames));
  int64_t taken = 0;
  const rill_status status = rill_push(run->session, input, &from.view, &taken);
  return status == RILL_OK ? static_cast<double>(taken) : -1;
}
/// Pull at most `frames` frames. Return the number given, or -1 after a failure.
WEB_API double web_pull(Run* run, uint32_t output, void* data, double frames) {
  const Frames to(*run, RILL_OUTPUT, output, data, static_cast<int64_t>(frames));
  int64_t given = 0;
  const rill_status status = rill_pull(run->session, output, &to.view, &given);
  return status == RILL_OK ? static_cast<double>(given) : -1;
}
WEB_API int web_finish(Run* run) { return rill_finish(run->session); }
WEB_API int web_reset(Run* run) { return rill_session_reset(run->session); }

WEB_API double web_state_size(const Run* run) {
  size_t size = 0;
  return rill_state_size(run->session, &size) == RILL_OK ? static_cast<double>(size) : -1;
}
WEB_API double web_state_save(const Run* run, void* bytes, size_t size) {
  size_t written = 0;
  const rill_status status = rill_state_save(run->session, bytes, size, &written);
  return status == RILL_OK ? static_cast<double>(written) : -1;
}
WEB_API int web_state_load(Run* run, const void* bytes, size_t size) {
  return rill_state_load(run->session, bytes, size);
}
