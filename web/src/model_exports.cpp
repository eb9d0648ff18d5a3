// Additional exports for reading models: rill.wasm and rill_onnx.wasm.

#include <utility>

#include "web/src/exports.h"

using rill::web::describe;
using rill::web::Json;
using rill::web::Plan;
using rill::web::Run;
using rill::web::sized;
using rill::web::kept_text;

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
  describe_ios(&json, model, rill_model_count, rill_model_io);
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
  return kept_text(json.raw("}}"));
}

WEB_API int web_set_symbol(rill_model* model, const char* symbol, const char* value) {
  return rill_model_set_symbol(model, symbol, value);
}
WEB_API int web_pulse(rill_model* model, const char* symbol, const char* pulse) {
  return rill_model_pulse(model, symbol, pulse);
}
WEB_API int web_window(rill_model* model, const char* symbol, double left, double step,
                       double right) {
  return rill_model_window(model, symbol, static_cast<int64_t>(left), static_cast<int64_t>(step),
                           static_cast<int64_t>(right));
}
WEB_API int web_feedback(rill_model* model, const char* output, const char* input) {
  return rill_model_feedback(model, output, input);
}
WEB_API int web_context(rill_model* model, const char* input, double frames) {
  return rill_model_context(model, input, static_cast<int64_t>(frames));
}

WEB_API Run* web_open(const rill_model* model, double max_push) {
  rill_plan* plan = nullptr;
  if (rill_prepare(model, nullptr, &plan) != RILL_OK) return nullptr;
  return rill::web::open_run(Plan(plan, rill_plan_release), max_push);
}
