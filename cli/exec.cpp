#include "cli/exec.h"

#include <algorithm>
#include <limits>
#include <thread>

#include "core/exec/workers.h"
#include "core/optim/optim.h"

namespace rill::cli {

Result<Graph> bind_symbols(const Graph& graph, const Bindings& bindings) {
  const std::string stream_symbol = graph.streaming ? graph.streaming->symbol() : std::string();
  Graph out = graph;
  for (const auto& [symbol, value] : bindings) {
    if (symbol == stream_symbol) continue;
    auto next = out.with_symbol(symbol, Dim(value));
    if (!next.ok()) {
      return next.take_status().hint(str_cat("This is with ", bindings_text(bindings)));
    }
    out = std::move(next).value();
  }
  auto simple = declutter(out);
  if (!simple.ok()) {
    return simple.take_status().hint(str_cat("This is with ", bindings_text(bindings)));
  }
  return simple;
}

Status use_threads(int64_t threads, Session* session) {
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  if (threads == 1) return {};
  RILL_ASSIGN(auto pool, make_pool(static_cast<uint32_t>(std::min<int64_t>(threads, UINT32_MAX))));
  return session->use_threads(std::move(pool));
}

Result<Ready> make_ready(const Graph& graph, const Bindings& bindings, bool optimize,
                         int64_t threads) {
  Ready out;
  RILL_ASSIGN(out.graph, bind_symbols(graph, bindings));
  PrepareOptions options;
  options.optimize = optimize;
  auto plan = prepare(out.graph, options);
  if (!plan.ok()) {
    Status status = plan.take_status();
    if (status.code() == Code::kSymbol) {
      return std::move(status).hint("Bind the symbols with --set SYMBOL=N");
    }
    return status;
  }
  out.plan = std::move(plan).value();
  RILL_ASSIGN(out.session, Session::make(out.plan));
  RILL_TRY(use_threads(threads, out.session.get()));
  return out;
}

namespace {

void copy_all(const Tensor& from, const View& to) { copy_view(from.view(), to); }

Status check_fit(const PlanIo& io, const Tensor& value, int free_axis) {
  bool same = value.dtype() == io.dtype && value.shape().size() == io.shape.size();
  for (size_t axis = 0; same && axis < io.shape.size(); ++axis) {
    same = static_cast<int>(axis) == free_axis || value.shape()[axis] == io.shape[axis];
  }
  if (same) return {};
  return fail(Code::kShape, "input ", io.name, " takes ", io.shape, " of ", dtype_name(io.dtype),
              ", found ", shape_text(value));
}

}  // namespace

Status feed(Session* session, std::span<const Tensor> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    RILL_TRY(check_fit(session->plan().inputs[i], values[i], -1));
    copy_all(values[i], session->input(i));
  }
  return {};
}

Result<std::vector<Tensor>> outputs_of(const Session& session) {
  std::vector<Tensor> out;
  for (size_t i = 0; i < session.plan().outputs.size(); ++i) {
    RILL_ASSIGN(Tensor value, tensor_of(session.output(i)));
    out.push_back(std::move(value));
  }
  return out;
}

namespace {

/// Inputs of so few whole numbers hold sizes rather than data.
constexpr int64_t kMostSizes = 16;

bool has_open_output(const Graph& graph) {
  std::vector<std::string> open;
  for (const OutletId& output : graph.outputs) {
    for (const Dim& extent : graph.fact(output).shape) extent.collect_symbols(&open);
  }
  return !open.empty();
}

/// The graph with some inputs as constants, simplified; the values of the others.
Result<Shaped> with_values(const Graph& bound, std::span<const Tensor> values, bool sizes_only) {
  Shaped out;
  Graph graph = bound;
  graph.inputs.clear();
  for (size_t i = 0; i < values.size(); ++i) {
    const bool size = !is_float(values[i].dtype()) && values[i].volume() <= kMostSizes;
    if (sizes_only && !size) {
      graph.inputs.push_back(bound.inputs[i]);
      out.inputs.push_back(values[i]);
      continue;
    }
    Node& node = graph.nodes[static_cast<size_t>(bound.inputs[i].node)];
    const auto value = std::make_shared<const Tensor>(values[i]);
    node.op = std::make_shared<Const>(value);
    node.outputs[0] = Fact::of_tensor(value);
  }
  RILL_ASSIGN(out.graph, declutter(graph));
  return out;
}

}  // namespace

Result<std::optional<Shaped>> shaped_by_values(const Graph& bound, std::span<const Tensor> inputs) {
  for (const OutletId& input : bound.inputs) {
    for (const Dim& extent : bound.fact(input).shape) {
      if (!extent.is_const()) return std::optional<Shaped>();
    }
  }
  if (!has_open_output(bound) || inputs.size() != bound.inputs.size()) {
    return std::optional<Shaped>();
  }
  for (const bool sizes_only : {true, false}) {
    RILL_ASSIGN(Shaped shaped, with_values(bound, inputs, sizes_only));
    if (!has_open_output(shaped.graph)) return std::optional<Shaped>(std::move(shaped));
  }
  return fail(Code::kUnsupported,
              "extents of outputs depend on values, and are open once these are known");
}

Result<std::vector<Tensor>> run_once(Session* session, std::span<const Tensor> inputs) {
  RILL_TRY(feed(session, inputs));
  session->step();
  return outputs_of(*session);
}

namespace {

int64_t ceil_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Write the filler of frames after the end: NaN where the type has it.
void fill(const View& view, bool nan) {
  const auto count = static_cast<size_t>(view.volume());
  const auto bytes = count * static_cast<size_t>(dtype_size(view.dtype));
  std::fill_n(view.as<std::byte>(), bytes, std::byte{0});
  if (!nan) return;
  if (view.dtype == DType::kF32) {
    std::fill_n(view.as<float>(), count, std::numeric_limits<float>::quiet_NaN());
  } else if (view.dtype == DType::kF64) {
    std::fill_n(view.as<double>(), count, std::numeric_limits<double>::quiet_NaN());
  } else if (view.dtype == DType::kF16) {
    std::fill_n(view.as<uint16_t>(), count, uint16_t{0x7E00});
  } else if (view.dtype == DType::kBF16) {
    std::fill_n(view.as<uint16_t>(), count, uint16_t{0x7FC0});
  }
}

/// Frames [first, first + count) of a view along an axis.
View window(View view, int axis, int64_t first, int64_t count) {
  view.shape[static_cast<size_t>(axis)] = count;
  view.data = view.as<std::byte>() + first * view.step(axis) * dtype_size(view.dtype);
  return view;
}

/// One stream on its way through a session.
class Streamer {
 public:
  Streamer(Session* session, std::span<const Tensor> inputs, int64_t frames,
           const StreamOptions& options)
      : session_(*session), plan_(session->plan()), inputs_(inputs), options_(options) {
    result_.frames = frames;
  }

  Result<StreamResult> run();

 private:
  Status plan_outputs();
  int64_t output_frames(const PlanStream& stream, bool* exact) const;
  void feed_pulse(int64_t tick);
  void take_outputs(int64_t tick);

  Session& session_;
  const Plan& plan_;
  std::span<const Tensor> inputs_;
  const StreamOptions& options_;
  StreamResult result_;
  std::vector<int64_t> frames_;  ///< per output
  int64_t input_steps_ = 0;
  int64_t input_pulse_ = 1;
};

int64_t Streamer::output_frames(const PlanStream& stream, bool* exact) const {
  const Bindings bindings{{plan_.stream_symbol, result_.frames}};
  const auto known = stream.length.eval(bindings);
  *exact = known.has_value();
  if (known) return std::max<int64_t>(0, *known);
  // Older archives do not say: as many as the rates of input and output give.
  return ceil_of(result_.frames * stream.pulse, input_pulse_);
}

Status Streamer::plan_outputs() {
  bool first = true;
  for (size_t i = 0; i < plan_.inputs.size(); ++i) {
    const PlanStream& stream = plan_.inputs[i].stream;
    RILL_TRY(check_fit(plan_.inputs[i], inputs_[i], stream.axis));
    if (stream.axis < 0 || stream.pulse == 0) continue;
    input_steps_ = std::max(input_steps_, ceil_of(inputs_[i].extent(stream.axis), stream.pulse));
    if (first) input_pulse_ = stream.pulse;
    first = false;
  }
  result_.steps = std::max<int64_t>(options_.open_end ? 0 : 1, input_steps_);
  for (size_t i = 0; i < plan_.outputs.size(); ++i) {
    const PlanIo& io = plan_.outputs[i];
    std::vector<int64_t> shape = io.shape;
    bool exact = true;
    int64_t frames = 0;
    if (io.stream.axis >= 0 && options_.open_end) {
      exact = false;
      frames = std::max<int64_t>(0, input_steps_ * io.stream.pulse - io.stream.delay);
      shape[static_cast<size_t>(io.stream.axis)] = frames;
    } else if (io.stream.axis >= 0) {
      frames = output_frames(io.stream, &exact);
      shape[static_cast<size_t>(io.stream.axis)] = frames;
      if (io.stream.pulse > 0 && frames > 0) {
        result_.steps = std::max(result_.steps, ceil_of(io.stream.delay + frames, io.stream.pulse));
      }
    }
    if (io.stream.axis < 0 && plan_.stream_pulse > 0) {
      const auto known = io.stream.length.eval({{plan_.stream_symbol, result_.frames}});
      result_.steps = std::max(result_.steps, ceil_of(known.value_or(0), plan_.stream_pulse));
    }
    frames_.push_back(frames);
    result_.exact_length.push_back(exact);
    RILL_ASSIGN(Tensor whole, Tensor::zeros(io.dtype, std::move(shape), io.q));
    result_.outputs.push_back(std::move(whole));
  }
  return {};
}

void Streamer::feed_pulse(int64_t tick) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const View to = session_.input(i);
    const PlanStream& stream = plan_.inputs[i].stream;
    if (stream.axis < 0) {
      copy_all(inputs_[i], to);
      continue;
    }
    const int64_t begin = tick * stream.pulse;
    const int64_t count =
        std::clamp<int64_t>(inputs_[i].extent(stream.axis) - begin, 0, stream.pulse);
    if (count < stream.pulse) fill(to, options_.nan_filler);
    if (count == 0) continue;
    copy_view(window(inputs_[i].view(), stream.axis, begin, count),
              window(to, stream.axis, 0, count));
  }
}

void Streamer::take_outputs(int64_t tick) {
  for (size_t i = 0; i < plan_.outputs.size(); ++i) {
    const View from = session_.output(i);
    const View to = result_.outputs[i].view();
    const PlanStream& stream = plan_.outputs[i].stream;
    if (stream.axis < 0) {
      copy_view(from, to);
      continue;
    }
    const int64_t begin = tick * stream.pulse - stream.delay;
    const int64_t first = std::max<int64_t>(begin, 0);
    const int64_t last = std::min(begin + stream.pulse, frames_[i]);
    if (first >= last) continue;
    copy_view(window(from, stream.axis, first - begin, last - first),
              window(to, stream.axis, first, last - first));
  }
}

Result<StreamResult> Streamer::run() {
  RILL_TRY(session_.check_length(result_.frames));
  RILL_TRY(plan_outputs());
  session_.reset();
  const int64_t last_real = std::max<int64_t>(0, input_steps_ - 1);
  for (int64_t tick = 0; tick < result_.steps; ++tick) {
    feed_pulse(tick);
    if (tick == last_real && !options_.open_end) session_.announce_end(result_.frames);
    session_.step();
    take_outputs(tick);
    if (options_.keep_turns) {
      RILL_ASSIGN(std::vector<Tensor> turn, outputs_of(session_));
      result_.turns.push_back(std::move(turn));
    }
    if (options_.progress && tick % 64 == 0) {
      Log::progress(str_cat("step ", tick + 1, " of ", result_.steps));
    }
  }
  if (options_.progress) Log::progress("");
  return std::move(result_);
}

}  // namespace

Result<StreamResult> run_stream(Session* session, std::span<const Tensor> inputs, int64_t frames,
                                const StreamOptions& options) {
  return Streamer(session, inputs, frames, options).run();
}

Status check_stream(const Reference& reference, const Graph& graph, const Plan& plan,
                    const StreamResult& result, bool open_end, const Log& log) {
  if (!reference.any()) return {};
  Status failure;
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    const std::string& label = graph.output_names[i];
    const std::string& node = graph.node(graph.outputs[i].node).name;
    RILL_ASSIGN(const Bundle::Item* item, reference.find(label, node));
    if (item == nullptr) continue;
    const int axis = plan.outputs[i].stream.axis;
    Tensor expected = item->turns[0];
    Tensor got = result.outputs[i];
    if (axis >= 0 && !result.exact_length[i] && expected.rank() == got.rank()) {
      const int64_t frames = std::min(expected.extent(axis), got.extent(axis));
      RILL_ASSIGN(got, frames_of(got, axis, 0, frames));
      if (open_end) {
        RILL_ASSIGN(expected, frames_of(expected, axis, 0, frames));
      }
    }
    Status status = reference.check_output(i, expected, got).in_node(label, "");
    if (status.ok()) {
      log.info(str_cat("Checked output #", i, ", ok."));
    } else if (failure.ok()) {
      failure = std::move(status);
    } else {
      log.error(status.error());
    }
  }
  return failure;
}

int64_t stream_frames(const Plan& plan, std::span<const Tensor> inputs) {
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    const int axis = plan.inputs[i].stream.axis;
    if (axis >= 0) return inputs[i].extent(axis);
  }
  return 0;
}

Status drop_partial_pulses(const Plan& plan, std::vector<Tensor>* inputs) {
  for (size_t i = 0; i < inputs->size(); ++i) {
    const PlanStream& stream = plan.inputs[i].stream;
    if (stream.axis < 0 || stream.pulse == 0) continue;
    Tensor& value = (*inputs)[i];
    const int64_t whole = value.extent(stream.axis) / stream.pulse * stream.pulse;
    RILL_ASSIGN(value, frames_of(value, stream.axis, 0, whole));
  }
  return {};
}

}  // namespace rill::cli
