#include "tests/support/runs.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace rill::test {
namespace {

template <class Info>
Info sized() {
  Info info = {};
  info.size = sizeof(info);
  return info;
}

/// Write one pulse of every input into the session's buffers.
bool feed(const Opened& stream, const Arrays& inputs, int64_t tick, int axis, int64_t pulse) {
  for (size_t i = 0; i < rill_plan_count(stream.plan.get(), RILL_INPUT); ++i) {
    auto io = sized<rill_io_info>();
    auto view = sized<rill_view>();
    if (rill_plan_io(stream.plan.get(), RILL_INPUT, i, &io) != RILL_OK) return false;
    if (rill_input_buffer(stream.session.get(), i, &view) != RILL_OK) return false;
    const Array part = inputs.at(io.name).part(axis, tick * pulse, pulse);
    std::memcpy(view.data, part.bytes.data(), part.bytes.size());
  }
  return true;
}

/// Append the valid frames of the last step.
bool collect(const Opened& stream, Arrays* outputs) {
  for (size_t i = 0; i < rill_plan_count(stream.plan.get(), RILL_OUTPUT); ++i) {
    auto io = sized<rill_io_info>();
    auto info = sized<rill_stream_info>();
    auto view = sized<rill_view>();
    int64_t first = 0;
    int64_t count = 0;
    if (rill_plan_io(stream.plan.get(), RILL_OUTPUT, i, &io) != RILL_OK ||
        rill_plan_stream(stream.plan.get(), i, &info) != RILL_OK ||
        rill_output_buffer(stream.session.get(), i, &view) != RILL_OK ||
        rill_valid_frames(stream.session.get(), i, &first, &count) != RILL_OK) {
      return false;
    }
    Array all = Array::zeros(io.dtype, std::vector<int64_t>(io.shape, io.shape + io.rank));
    if (!all.bytes.empty()) std::memcpy(all.bytes.data(), view.data, all.bytes.size());
    const Array part = all.part(info.axis, first, count);
    const auto [it, fresh] = outputs->try_emplace(io.name, part);
    if (!fresh) it->second.append(part, info.axis);
  }
  return true;
}

}  // namespace

ModelPtr load_bound(const std::string& archive, const Arrays& inputs,
                    const std::string& streaming) {
  rill_model* raw = nullptr;
  if (rill_load(archive.c_str(), nullptr, &raw) != RILL_OK) return nullptr;
  ModelPtr model(raw);
  std::vector<std::pair<std::string, int64_t>> symbols;
  const char* symbol = nullptr;
  std::vector<std::string> free;
  for (size_t i = 0; rill_model_symbol(raw, i, &symbol) == RILL_OK && symbol; ++i) {
    free.emplace_back(symbol);
  }
  auto io = sized<rill_io_info>();
  for (size_t i = 0; i < rill_model_count(raw, RILL_INPUT); ++i) {
    if (rill_model_io(raw, RILL_INPUT, i, &io) != RILL_OK) return nullptr;
    const Array& array = inputs.at(io.name);
    for (size_t axis = 0; axis < io.rank; ++axis) {
      const auto it = std::find(free.begin(), free.end(), io.dims[axis]);
      if (it == free.end() || *it == streaming) continue;
      symbols.emplace_back(*it, array.shape.at(axis));
      free.erase(it);
    }
  }
  for (const auto& [name, value] : symbols) {
    const std::string text = std::to_string(value);
    if (rill_model_set_symbol(raw, name.c_str(), text.c_str()) != RILL_OK) return nullptr;
  }
  return model;
}

Opened open_session(rill_model* model) {
  rill_plan* plan = nullptr;
  rill_session* session = nullptr;
  if (rill_prepare(model, nullptr, &plan) != RILL_OK) return {};
  Opened out{PlanPtr(plan), nullptr};
  if (rill_session_new(plan, &session) != RILL_OK) return {};
  out.session.reset(session);
  return out;
}

Opened open_stream(const std::string& archive, const Arrays& inputs, const std::string& symbol,
                   int64_t pulse) {
  const ModelPtr model = load_bound(archive, inputs, symbol);
  if (!model) return {};
  const std::string frames = std::to_string(pulse);
  if (rill_model_pulse(model.get(), symbol.c_str(), frames.c_str()) != RILL_OK) return {};
  return open_session(model.get());
}

Arrays run_whole(const std::string& archive, const Arrays& inputs) {
  const ModelPtr model = load_bound(archive, inputs, "");
  if (!model) return {};
  const Opened opened = open_session(model.get());
  return opened.session ? run_once(opened, inputs) : Arrays{};
}

Arrays run_once(const Opened& opened, const Arrays& inputs) {
  auto io = sized<rill_io_info>();
  std::vector<rill_view> in;
  std::vector<rill_view> out;
  Arrays outputs;
  for (size_t i = 0; rill_plan_io(opened.plan.get(), RILL_INPUT, i, &io) == RILL_OK; ++i) {
    in.push_back(inputs.at(io.name).view());
  }
  for (size_t i = 0; rill_plan_io(opened.plan.get(), RILL_OUTPUT, i, &io) == RILL_OK; ++i) {
    const std::vector<int64_t> shape(io.shape, io.shape + io.rank);
    const auto [it, fresh] = outputs.emplace(io.name, Array::zeros(io.dtype, shape));
    if (fresh) out.push_back(it->second.view());
  }
  const rill_status ran =
      rill_run(opened.session.get(), in.data(), in.size(), out.data(), out.size());
  return ran == RILL_OK ? outputs : Arrays{};
}

Arrays run_stream(const Opened& stream, const Arrays& inputs, EndAnnounced announced) {
  auto info = sized<rill_stream_info>();
  auto io = sized<rill_io_info>();
  if (rill_plan_stream(stream.plan.get(), 0, &info) != RILL_OK) return {};
  const auto index = static_cast<size_t>(info.input);
  if (rill_plan_io(stream.plan.get(), RILL_INPUT, index, &io) != RILL_OK) return {};
  const int64_t pulse = info.input_pulse;
  const int64_t length = inputs.at(io.name).shape.at(static_cast<size_t>(info.input_axis));
  rill_session* session = stream.session.get();
  Arrays outputs;
  int64_t tick = 0;
  const int64_t whole_pulses =
      announced == EndAnnounced::kAStepLater ? length / pulse : (length - 1) / pulse;
  for (; tick < whole_pulses; ++tick) {
    if (!feed(stream, inputs, tick, info.input_axis, pulse)) return {};
    if (rill_step(session) != RILL_OK || !collect(stream, &outputs)) return {};
  }
  if (!feed(stream, inputs, tick, info.input_axis, pulse)) return {};
  if (rill_step_partial(session, length - tick * pulse) != RILL_OK) return {};
  if (!collect(stream, &outputs)) return {};
  for (int64_t left = 1; left > 0;) {
    ++tick;
    if (!feed(stream, inputs, tick, info.input_axis, pulse)) return {};
    if (rill_flush(session, &left) != RILL_OK || !collect(stream, &outputs)) return {};
  }
  return outputs;
}

}  // namespace rill::test
