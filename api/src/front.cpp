// The parts of the interface that need a build with ONNX: models in that format, values for their
// inputs, and states as inputs and outputs.

#include <string>
#include <vector>

#include "api/src/change.h"
#include "api/src/errors.h"
#include "api/src/guard.h"
#include "nnef_loader/load.h"
#include "nnef_loader/system/files.h"
#include "ops/op_table.h"
#ifdef RILL_WITH_ONNX
#include "core/tensor/numbers.h"
#include "onnx_loader/load.h"
#include "ops/onnx_table.h"
#include "pulse/feedback.h"
#endif

using rill::api::alive;
using rill::api::guarded;
using rill::api::kNotAModel;
using rill::api::refuse;

namespace rill::api {

#ifdef RILL_WITH_ONNX

namespace {

using Constants = std::vector<std::pair<std::string, TensorPtr>>;

/// Read "NAME=VALUE,VALUE...;NAME=VALUE...".
Result<Constants> parse_constants(const char* text) {
  Constants out;
  std::string_view rest(text ? text : "");
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    const size_t equals = one.rfind('=');
    if (equals == one.npos) {
      return fail(Code::kArg, "constants \"", one, "\": expected NAME=VALUE,VALUE...");
    }
    auto values = numbers_of_text(one.substr(equals + 1));
    if (!values.ok()) {
      return fail(Code::kArg, "constants \"", one, "\": ", values.error().message);
    }
    out.emplace_back(trimmed(one.substr(0, equals)),
                     std::make_shared<const Tensor>(std::move(values).value()));
  }
  return out;
}

/// Return whether a path exists; if not, the loader reports that.
bool is_there(const std::string& path) {
  system::Info info;
  return system::stat_target(path, &info);
}
bool is_there(std::span<const std::byte> /*bytes*/) { return true; }

bool is_onnx(const std::string& path) { return onnx::is_onnx_file(path); }
bool is_onnx(std::span<const std::byte> bytes) { return onnx::is_onnx(bytes); }

template <class From>
Result<Graph> load_from(const From& from, const nnef::LoadOptions& options, const char* text,
                        Result<Graph> (*load)(const From&, const onnx::Operators&,
                                              const onnx::LoadOptions&)) {
  RILL_ASSIGN(const Constants constants, parse_constants(text));
  if (!constants.empty() && is_there(from) && !is_onnx(from)) {
    return fail(Code::kArg, "constants are given for a model that is not ONNX")
        .hint("Leave them out: inputs of NNEF models decide no branches");
  }
  onnx::LoadOptions all;
  static_cast<nnef::LoadOptions&>(all) = options;
  all.constants = constants;
  return load(from, {ops::op_table(), ops::onnx_table()}, all);
}

}  // namespace

Result<Graph> load_any(const char* path, const nnef::LoadOptions& options, const char* constants) {
  return load_from<std::string>(path, options, constants, onnx::load_any);
}

Result<Graph> load_any(std::span<const std::byte> bytes, const nnef::LoadOptions& options,
                       const char* constants) {
  const auto load = [](const std::span<const std::byte>& from, const onnx::Operators& ops,
                       const onnx::LoadOptions& all) {
    return onnx::load_any_memory(from, ops, all);
  };
  return load_from<std::span<const std::byte>>(bytes, options, constants, load);
}

#else

namespace {

Status without_onnx(const char* constants) {
  if (!constants || !*constants) return {};
  return fail(Code::kUnsupported, "constants: this build leaves out ONNX")
      .hint("Build the library with RILL_ONNX=ON");
}

}  // namespace

Result<Graph> load_any(const char* path, const nnef::LoadOptions& options, const char* constants) {
  RILL_TRY(without_onnx(constants));
  return nnef::load(path, ops::op_table(), options);
}

Result<Graph> load_any(std::span<const std::byte> bytes, const nnef::LoadOptions& options,
                       const char* constants) {
  RILL_TRY(without_onnx(constants));
  return nnef::load_memory(bytes, ops::op_table(), options);
}

#endif

}  // namespace rill::api

extern "C" {

rill_status rill_model_feedback(rill_model* model, const char* output, const char* input) {
  if (!alive(model)) return refuse(RILL_E_ARG, "rill_model_feedback: %s", kNotAModel);
  if (!output || !input) return refuse(RILL_E_ARG, "rill_model_feedback: no output, or no input");
#ifdef RILL_WITH_ONNX
  return guarded("rill_model_feedback", [&] {
    return rill::api::change(
        model, rill::api::simplified(rill::pulse::with_feedback(model->graph, output, input)));
  });
#else
  return refuse(RILL_E_UNSUPPORTED, "rill_model_feedback: this build leaves out ONNX");
#endif
}

rill_status rill_model_context(rill_model* model, const char* input, int64_t frames) {
  if (!alive(model)) return refuse(RILL_E_ARG, "rill_model_context: %s", kNotAModel);
  if (!input) return refuse(RILL_E_ARG, "rill_model_context: no input");
#ifdef RILL_WITH_ONNX
  return guarded("rill_model_context", [&] {
    return rill::api::change(
        model, rill::api::simplified(rill::pulse::with_context(model->graph, input, frames)));
  });
#else
  (void)frames;
  return refuse(RILL_E_UNSUPPORTED, "rill_model_context: this build leaves out ONNX");
#endif
}

rill_status rill_model_frames(rill_model* model, const char* const* names, const int64_t* axes,
                              size_t count) {
  if (!alive(model)) return refuse(RILL_E_ARG, "rill_model_frames: %s", kNotAModel);
  bool complete = names && axes && count > 0;
  for (size_t i = 0; complete && i < count; ++i) complete = names[i] != nullptr;
  if (!complete) return refuse(RILL_E_ARG, "rill_model_frames: no name, or no axis");
#ifdef RILL_WITH_ONNX
  return guarded("rill_model_frames", [&] {
    std::vector<rill::pulse::FrameAxis> named;
    for (size_t i = 0; i < count; ++i) named.push_back({names[i], axes[i]});
    return rill::api::change(
        model, rill::api::simplified(rill::pulse::with_frames(model->graph, named)));
  });
#else
  return refuse(RILL_E_UNSUPPORTED, "rill_model_frames: this build leaves out ONNX");
#endif
}

}  // extern "C"
