// What rill.js calls: rill.h with numbers and texts alone, as WebAssembly passes nothing else.
//
// Handles are pointers, and null after a failure, of which `web_error` tells. Descriptions are
// texts in JSON, which stay until the next one is asked for.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "rill/rill.h"

#define WEB_API extern "C" __attribute__((used, visibility("default")))

namespace {

/// A text in JSON that grows.
class Json {
 public:
  Json& raw(const std::string& text) {
    text_ += text;
    return *this;
  }
  Json& key(const char* name) {
    comma();
    text(name);
    text_ += ':';
    return *this;
  }
  Json& number(double value) { return raw(value == static_cast<double>(static_cast<int64_t>(value))
                                              ? std::to_string(static_cast<int64_t>(value))
                                              : std::to_string(value)); }
  Json& text(const char* value) {
    text_ += '"';
    for (const char* c = value ? value : ""; *c != 0; ++c) {
      const auto code = static_cast<unsigned char>(*c);
      if (*c == '"' || *c == '\\') {
        (text_ += '\\') += *c;
      } else if (code < 0x20) {
        constexpr char kHex[] = "0123456789abcdef";
        ((text_ += "\\u00") += kHex[code >> 4]) += kHex[code & 15];
      } else {
        text_ += *c;
      }
    }
    text_ += '"';
    return *this;
  }
  /// Put a comma unless something has just been opened.
  Json& comma() {
    if (!text_.empty() && text_.back() != '{' && text_.back() != '[') text_ += ',';
    return *this;
  }
  const std::string& all() const { return text_; }

 private:
  std::string text_;
};

std::string told;

const char* tell(const Json& json) {
  told = json.all();
  return told.c_str();
}

template <class Info>
Info sized() {
  Info info = {};
  info.size = sizeof info;
  return info;
}

/// One run or stream, and the plan that it runs.
struct Run {
  rill_plan* plan;
  rill_session* session;
};

void describe(Json* json, const rill_io_info& io) {
  json->comma().raw("{").key("name").text(io.name).key("type").text(rill_dtype_name(io.dtype));
  json->key("text").text(io.text).key("dims").raw("[");
  for (uint32_t i = 0; i < io.rank; ++i) json->comma().text(io.dims[i]);
  json->raw("]").key("shape");
  if (io.shape) {
    json->raw("[");
    for (uint32_t i = 0; i < io.rank; ++i) json->comma().number(static_cast<double>(io.shape[i]));
    json->raw("]");
  } else {
    json->raw("null");
  }
  json->key("axis").number(io.stream_axis).raw("}");
}

void describe_stream(Json* json, const rill_stream_info& stream) {
  const auto put = [&](const char* name, int64_t value) {
    json->key(name).number(static_cast<double>(value));
  };
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

/// A view of `frames` frames of an input or output of a plan, rows behind one another.
class Frames {
 public:
  Frames(const Run& run, rill_dir dir, uint32_t index, void* data, int64_t frames) {
    auto io = sized<rill_io_info>();
    if (rill_plan_io(run.plan, dir, index, &io) != RILL_OK) return;
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

WEB_API void* web_alloc(size_t bytes) { return std::malloc(bytes); }
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
  return tell(json.raw("}"));
}

WEB_API rill_model* web_load(const void* bytes, size_t size, const char* constants) {
  auto opts = sized<rill_load_opts>();
  opts.constants = *constants != 0 ? constants : nullptr;
  rill_model* model = nullptr;
  return rill_load_memory(bytes, size, &opts, &model) == RILL_OK ? model : nullptr;
}
WEB_API rill_model* web_model_clone(const rill_model* model) {
  rill_model* copy = nullptr;
  return rill_model_clone(model, &copy) == RILL_OK ? copy : nullptr;
}
WEB_API void web_model_free(rill_model* model) { rill_model_free(model); }

WEB_API const char* web_model_info(const rill_model* model) {
  Json json;
  json.raw("{");
  for (const rill_dir dir : {RILL_INPUT, RILL_OUTPUT}) {
    json.key(dir == RILL_INPUT ? "inputs" : "outputs").raw("[");
    for (size_t i = 0; i < rill_model_count(model, dir); ++i) {
      auto io = sized<rill_io_info>();
      if (rill_model_io(model, dir, i, &io) == RILL_OK) describe(&json, io);
    }
    json.raw("]");
  }
  json.key("symbols").raw("[");
  const char* symbol = nullptr;
  for (size_t i = 0; rill_model_symbol(model, i, &symbol) == RILL_OK && symbol; ++i) {
    json.comma().text(symbol);
  }
  json.raw("]").key("properties").raw("{");
  for (size_t i = 0; i < rill_model_properties(model); ++i) {
    auto property = sized<rill_property>();
    if (rill_model_property(model, i, &property) != RILL_OK) continue;
    json.key(property.key).text(property.text);
  }
  return tell(json.raw("}}"));
}

WEB_API int web_set_symbol(rill_model* model, const char* symbol, const char* value) {
  return rill_model_set_symbol(model, symbol, value);
}
WEB_API int web_pulse(rill_model* model, const char* symbol, const char* pulse) {
  return rill_model_pulse(model, symbol, pulse);
}
WEB_API int web_feedback(rill_model* model, const char* output, const char* input) {
  return rill_model_feedback(model, output, input);
}
WEB_API int web_context(rill_model* model, const char* input, double frames) {
  return rill_model_context(model, input, static_cast<int64_t>(frames));
}

WEB_API Run* web_open(const rill_model* model, double max_push) {
  auto opts = sized<rill_session_opts>();
  opts.max_push = static_cast<int64_t>(max_push);
  Run run = {};
  if (rill_prepare(model, nullptr, &run.plan) != RILL_OK) return nullptr;
  if (rill_session_open(run.plan, &opts, &run.session) != RILL_OK) {
    rill_plan_release(run.plan);
    return nullptr;
  }
  return new Run(run);
}
WEB_API Run* web_clone(const Run* run) {
  rill_session* copy = nullptr;
  if (rill_session_clone(run->session, &copy) != RILL_OK) return nullptr;
  return new Run{rill_plan_retain(run->plan), copy};
}
WEB_API void web_close(Run* run) {
  rill_session_free(run->session);
  rill_plan_release(run->plan);
  delete run;
}

WEB_API const char* web_plan_info(const Run* run) {
  Json json;
  json.raw("{");
  for (const rill_dir dir : {RILL_INPUT, RILL_OUTPUT}) {
    json.key(dir == RILL_INPUT ? "inputs" : "outputs").raw("[");
    for (size_t i = 0; i < rill_plan_count(run->plan, dir); ++i) {
      auto io = sized<rill_io_info>();
      if (rill_plan_io(run->plan, dir, i, &io) == RILL_OK) describe(&json, io);
    }
    json.raw("]");
  }
  json.key("streams").raw("[");
  for (size_t i = 0; i < rill_plan_count(run->plan, RILL_OUTPUT); ++i) {
    auto stream = sized<rill_stream_info>();
    if (rill_plan_stream(run->plan, i, &stream) == RILL_OK) describe_stream(&json, stream);
  }
  json.raw("]").key("nodes").raw("[");
  const char* name = nullptr;
  const char* op = nullptr;
  for (size_t i = 0; rill_plan_node(run->plan, i, &name, &op) == RILL_OK && name; ++i) {
    json.comma().raw("{").key("name").text(name).key("op").text(op).raw("}");
  }
  auto memory = sized<rill_memory_info>();
  rill_plan_memory(run->plan, &memory);
  json.raw("]").key("memory").raw("{");
  json.key("weights").number(static_cast<double>(memory.weight_bytes));
  json.key("state").number(static_cast<double>(memory.state_bytes));
  json.key("arena").number(static_cast<double>(memory.arena_bytes));
  json.key("buffers").number(static_cast<double>(memory.io_bytes));
  return tell(json.raw("}}"));
}

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

/// Take frames; gives how many were taken, or -1.
WEB_API double web_push(Run* run, uint32_t input, void* data, double frames) {
  const Frames from(*run, RILL_INPUT, input, data, static_cast<int64_t>(frames));
  int64_t taken = 0;
  const rill_status status = rill_push(run->session, input, &from.view, &taken);
  return status == RILL_OK ? static_cast<double>(taken) : -1;
}
/// Hand out at most so many frames; gives how many there were, or -1.
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
