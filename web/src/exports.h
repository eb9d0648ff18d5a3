#pragma once

// The exports of the WebAssembly modules: rill.h with numbers and texts, the only types that
// WebAssembly passes.
//
// Handles are pointers. After a failure they are null, and `web_error` returns the message.
// Descriptions are JSON texts, valid until the next one is requested.

#include <cstdint>
#include <memory>
#include <string>

#include "rill/rill.h"

#define WEB_API extern "C" __attribute__((used, visibility("default")))

namespace rill::web {

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
  Json& number(int64_t value) { return raw(std::to_string(value)); }
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

/// Store a description until the next call, and return its text.
const char* kept_text(const Json& json);

template <class Info>
Info sized() {
  Info info = {};
  info.size = sizeof info;
  return info;
}

/// A plan, which its last owner releases.
using Plan = std::shared_ptr<rill_plan>;

/// One run or stream, and the plan that it runs.
struct Run {
  Plan plan;
  rill_session* session;
};

/// Make a run or stream of a plan. `max_push`: frames that one push takes. Null after a failure.
Run* open_run(Plan plan, double max_push);

void describe(Json* json, const rill_io_info& io);
/// Return the inputs and outputs of a model or plan.
template <class Handle>
void describe_ios(Json* json, const Handle* handle, size_t (*count)(const Handle*, rill_dir),
                  rill_status (*get)(const Handle*, rill_dir, size_t, rill_io_info*)) {
  for (const rill_dir dir : {RILL_INPUT, RILL_OUTPUT}) {
    json->key(dir == RILL_INPUT ? "inputs" : "outputs").raw("[");
    for (size_t i = 0; i < count(handle, dir); ++i) {
      auto io = sized<rill_io_info>();
      if (get(handle, dir, i, &io) == RILL_OK) describe(json, io);
    }
    json->raw("]");
  }
}
/// Return inputs, outputs, streams, nodes and memory of a plan.
const char* describe_plan(const rill_plan* plan);

}  // namespace rill::web
