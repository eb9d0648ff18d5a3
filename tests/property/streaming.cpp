#include "tests/property/streaming.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "core/base/splitmix.h"
#include "core/optim/optim.h"
#include "core/tensor/frames.h"
#include "nnef_loader/build/load_entries.h"
#include "nnef_loader/load.h"
#include "ops/op_table.h"

namespace rill::test {

std::string document(const std::string& shape, const std::string& statements,
                     const std::string& results, const std::string& fragments) {
  return str_cat("version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n",
                 fragments, "graph network(x) -> (", results,
                 ")\n{\n  x = tract_core_external(shape = [", shape, "], datum_type = 'f32');\n",
                 statements, "}\n");
}

Result<Graph> load_text(const std::string& text) {
  nnef::Entry entry;
  entry.name = "graph.nnef";
  entry.bytes.resize(text.size());
  std::memcpy(entry.bytes.data(), text.data(), text.size());
  return nnef::load_entries({entry}, ops::op_table());
}

namespace {

void fill_with_nan(const View& view) {
  std::memset(view.data, 0, static_cast<size_t>(view.volume() * dtype_size(view.dtype)));
  if (view.dtype != DType::kF32) return;
  std::fill_n(view.as<float>(), view.volume(), std::numeric_limits<float>::quiet_NaN());
}

Tensor copy_of(const View& view) {
  const std::vector<int64_t> shape(view.shape.begin(), view.shape.begin() + view.rank);
  Tensor out = std::move(Tensor::zeros(view.dtype, shape, view.q)).value();
  copy_view(view, out.view());
  return out;
}

}  // namespace

Result<WholeRun> WholeRun::make(const Graph& graph, int64_t length) {
  RILL_ASSIGN(const Graph loaded, declutter(graph));
  RILL_ASSIGN(const Graph bound, loaded.with_symbol("S", Dim(length)));
  RILL_ASSIGN(const Graph simple, declutter(bound));
  RILL_ASSIGN(const std::shared_ptr<const Plan> plan, prepare(simple));
  WholeRun out;
  RILL_ASSIGN(out.session_, Session::make(plan));
  return out;
}

std::vector<Tensor> WholeRun::run(const std::vector<Tensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) copy_view(inputs[i].view(), session_->input(i));
  session_->step();
  std::vector<Tensor> out;
  for (size_t i = 0; i < plan().outputs.size(); ++i) out.push_back(copy_of(session_->output(i)));
  return out;
}

Result<StreamedRun> StreamedRun::make(const Graph& graph, int64_t pulse) {
  pulse::Options options;
  options.pulse = Dim(pulse);
  return make(graph, options);
}

Result<StreamedRun> StreamedRun::make(const Graph& graph, const pulse::Options& options) {
  StreamedRun out;
  RILL_ASSIGN(out.graph_, pulse::pulsify(graph, options, &out.report_));
  RILL_ASSIGN(const std::shared_ptr<const Plan> plan, prepare(out.graph_));
  RILL_ASSIGN(out.session_, Session::make(plan));
  return out;
}

Result<StreamedRun> StreamedRun::through(Graph pulsed) const {
  StreamedRun out;
  out.report_ = report_;
  out.graph_ = std::move(pulsed);
  RILL_ASSIGN(const std::shared_ptr<const Plan> plan, prepare(out.graph_));
  RILL_ASSIGN(out.session_, Session::make(plan));
  return out;
}

Result<StreamedRun> StreamedRun::reloaded() const {
  const auto path = std::filesystem::temp_directory_path() /
                    str_cat("rill_reloaded_", static_cast<int64_t>(getpid()), ".nnef.tar");
  RILL_TRY(nnef::save(graph_, path.string(), nnef::Container::kTar));
  auto loaded = nnef::load(path.string(), ops::op_table());
  std::filesystem::remove(path);
  if (!loaded.ok()) return loaded.error();
  RILL_ASSIGN(Graph simple, declutter(*loaded));
  return through(std::move(simple));
}

void StreamedRun::feed(const std::vector<Tensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const PlanStream& stream = session_->plan().inputs[i].stream;
    const View to = session_->input(i);
    if (stream.axis < 0) {
      copy_view(inputs[i].view(), to);
      continue;
    }
    fill_with_nan(to);
    const int64_t begin = session_->ticks() * stream.pulse;
    const int64_t count = std::min(inputs[i].extent(stream.axis) - begin, stream.pulse);
    if (count <= 0) continue;
    copy_view(frames_of(inputs[i].view(), stream.axis, begin, count),
              frames_of(to, stream.axis, 0, count));
  }
}

Result<std::vector<Tensor>> StreamedRun::run(const std::vector<Tensor>& inputs, int64_t length) {
  const Plan& plan = session_->plan();
  session_->reset();
  int64_t steps = 1;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const PlanStream& stream = plan.inputs[i].stream;
    if (stream.axis < 0) continue;
    steps = std::max(steps, (inputs[i].extent(stream.axis) + stream.pulse - 1) / stream.pulse);
  }
  std::vector<Tensor> out;
  std::vector<int64_t> frames;
  for (const PlanIo& io : plan.outputs) {
    std::vector<int64_t> shape = io.shape;
    if (io.stream.axis >= 0) {
      const auto known = io.stream.length.eval({{"S", length}});
      if (!known) return fail(Code::kSymbol, "length of ", io.name, " unknown");
      frames.push_back(std::max<int64_t>(0, *known));
      shape[static_cast<size_t>(io.stream.axis)] = frames.back();
    } else {
      frames.push_back(0);
    }
    RILL_ASSIGN(Tensor whole, Tensor::zeros(io.dtype, shape, io.q));
    out.push_back(std::move(whole));
  }
  for (int64_t tick = 0; tick < steps || session_->steps_left() > 0; ++tick) {
    feed(inputs);
    if (tick == steps - 1) session_->announce_end(length);
    session_->step();
    for (size_t i = 0; i < out.size(); ++i) {
      const PlanStream& stream = plan.outputs[i].stream;
      if (stream.axis < 0) {
        copy_view(session_->output(i), out[i].view());
        continue;
      }
      const Session::Valid valid = session_->valid_frames(i);
      const int64_t at = tick * stream.pulse + valid.first - stream.delay;
      const int64_t count = std::min(valid.count, frames[i] - at);
      if (count <= 0) continue;
      copy_view(frames_of(session_->output(i), stream.axis, valid.first, count),
                frames_of(out[i].view(), stream.axis, at, count));
    }
  }
  return out;
}

std::vector<Tensor> noise_inputs(const Graph& graph, int64_t length, uint64_t seed) {
  Splitmix64 random(seed);
  std::vector<Tensor> out;
  for (const OutletId& input : graph.inputs) {
    const Fact fact = substitute(graph.fact(input), "S", Dim(length));
    Tensor tensor = std::move(Tensor::zeros(fact.dtype, fact.concrete_shape().value())).value();
    for (int64_t i = 0; i < tensor.volume(); ++i) {
      if (fact.dtype == DType::kI64) {
        tensor.mutable_data<int64_t>()[i] = static_cast<int64_t>(random.next() % 4);
      } else {
        double sum = -6;
        for (int k = 0; k < 12; ++k) sum += random.unit();
        tensor.mutable_data<float>()[i] = static_cast<float>(sum);
      }
    }
    out.push_back(std::move(tensor));
  }
  return out;
}

std::string difference(const Tensor& found, const Tensor& expected, double tolerance) {
  if (found.shape() != expected.shape()) {
    return str_cat("shape ", found.shape(), ", the whole run has ", expected.shape());
  }
  if (found.dtype() != DType::kF32) {
    return found.same_bits(expected) ? std::string() : std::string("other values");
  }
  for (int64_t i = 0; i < found.volume(); ++i) {
    const float a = found.data<float>()[i];
    const float b = expected.data<float>()[i];
    if ((std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0) continue;
    // Graphs that attend: a whole run spreads a NaN from behind its masks, 0 times NaN.
    if (tolerance > 0 && std::isnan(b)) continue;
    if (tolerance > 0 && std::abs(a - b) <= tolerance * (1 + std::abs(b))) continue;
    std::vector<int64_t> index(found.shape().size());
    int64_t rest = i;
    for (size_t axis = index.size(); axis-- > 0;) {
      index[axis] = rest % found.shape()[axis];
      rest /= found.shape()[axis];
    }
    return str_cat("at ", index, " of ", found.shape(), ": ", a, ", the whole run has ", b);
  }
  return {};
}

std::string stream_problem(const Graph& graph, StreamedRun* streamed, int64_t length,
                           double tolerance) {
  const std::vector<Tensor> inputs = noise_inputs(graph, length, static_cast<uint64_t>(length));
  auto whole = WholeRun::make(graph, length);
  auto frames = streamed->run(inputs, length);
  // Not defined for that length, such as a U-Net for odd ones: nothing to compare with.
  if (!whole.ok()) return {};
  if (!frames.ok()) return frames.error().to_string();
  const std::vector<Tensor> expected = whole->run(inputs);
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::string found = difference((*frames)[i], expected[i], tolerance);
    if (!found.empty()) return str_cat("output ", i, ": ", found);
  }
  return {};
}

bool is_too_short(const Graph& graph, int64_t length) {
  const auto least_extent = [&](const Fact& fact) {
    int64_t least = 1;
    for (const Dim& dim : fact.shape) {
      least = std::min(least, dim.eval({{"S", length}}).value_or(-1));
    }
    return least;
  };
  int64_t least = 1;
  for (const Node& node : graph.nodes) {
    for (const Fact& fact : node.outputs) least = std::min(least, least_extent(fact));
  }
  const bool gives_frames =
      std::any_of(graph.outputs.begin(), graph.outputs.end(),
                  [&](OutletId output) { return least_extent(graph.fact(output)) > 0; });
  return least < 0 || (least == 0 && gives_frames);
}

}  // namespace rill::test
