#include "audit/windows.h"

#include <algorithm>

#include "core/optim/optim.h"

namespace rill::audit {
namespace {

/// The destination of an output's frames.
struct Gathered {
  Tensor frames;
  int axis = -1;     ///< in the stream; -1: the value of the last window
  bool row = false;  ///< each window gives one row, of an axis that the whole graph does not have
  int64_t first = 0;  ///< frame of a window
  int64_t count = 0;  ///< of a window
  int64_t delay = 0;

  /// Copy the result of window `step`.
  void take(int64_t step, const View& from) const {
    if (axis < 0) return copy_view(from, frames.view());
    const int64_t total = frames.extent(axis);
    const int64_t begin = step * count - delay;
    const int64_t low = std::clamp<int64_t>(-begin, 0, count);
    const int64_t high = std::clamp<int64_t>(total - begin, 0, count);
    if (low >= high) return;
    View to = frames_of(frames.view(), axis, begin + low, high - low);
    if (!row) return copy_view(frames_of(from, axis, first + low, high - low), to);
    for (int i = 1; i < to.rank; ++i) {
      to.shape[static_cast<size_t>(i - 1)] = to.shape[static_cast<size_t>(i)];
      to.stride[static_cast<size_t>(i - 1)] = to.stride[static_cast<size_t>(i)];
    }
    --to.rank;
    copy_view(from, to);
  }
  bool done(int64_t step) const {
    return axis < 0 || step * count - delay >= frames.extent(axis);
  }
};

Result<Gathered> gathered(const Fact& fact, const PlanIo& made, const StreamingOutput& stream,
                          const pulse::Window& window, const std::string& symbol, int64_t length) {
  Gathered out;
  out.axis = stream.axis;
  out.delay = stream.delay;
  std::vector<int64_t> shape(made.shape.begin(), made.shape.end());
  if (stream.axis >= 0) {
    out.row = !fact.mentions(symbol);
    out.count = 1;
    int64_t frames = (length + window.step - 1) / window.step;
    if (out.row) {
      shape.insert(shape.begin(), frames);
    } else {
      const Dim& dim = fact.dim(stream.axis);
      RILL_ASSIGN(const pulse::WindowRate rate, pulse::window_rate(dim, symbol));
      out.first = rate.of(window.left);
      out.count = rate.of(window.step);
      const auto known = dim.eval({{symbol, length}});
      if (!known) return fail(Code::kShape, "a length of ", dim, " is not defined at ", length);
      frames = std::max<int64_t>(0, *known);
      shape[static_cast<size_t>(stream.axis)] = frames;
    }
  }
  RILL_ASSIGN(out.frames, Tensor::zeros(made.dtype, std::move(shape), made.q));
  return out;
}

}  // namespace

Outputs run_windows(const Graph& whole, const Graph& slid, int64_t length,
                    std::span<const Tensor> inputs, Deadline until) {
  const Streaming& streaming = *slid.streaming;
  const pulse::Window window = *pulse::window_of(slid);
  const std::string symbol = streaming.symbol();
  RILL_ASSIGN(const Graph bound, whole.with_symbol(symbol, Dim(window.frames())));
  RILL_ASSIGN(const Graph simple, declutter(bound));
  RILL_ASSIGN(std::shared_ptr<const Plan> plan, prepare(simple));
  RILL_ASSIGN(const auto session, Session::make(plan));
  std::vector<Gathered> out;
  for (size_t i = 0; i < whole.outputs.size(); ++i) {
    RILL_ASSIGN(Gathered each, gathered(whole.fact(whole.outputs[i]), plan->outputs[i],
                                        streaming.output(i), window, symbol, length));
    out.push_back(std::move(each));
  }
  bool done = false;
  for (int64_t step = 0; !done; ++step) {
    if (until.passed()) return Outputs(std::nullopt);
    session->reset();
    for (size_t i = 0; i < inputs.size(); ++i) {
      const View to = session->input(i);
      const int axis = streaming.input_axis(i);
      if (axis < 0) {
        copy_view(inputs[i].view(), to);
        continue;
      }
      const int64_t each = to.extent(axis) / window.frames();
      const int64_t begin = ((step + 1) * window.step - window.frames()) * each;
      const int64_t low = std::clamp<int64_t>(-begin, 0, to.extent(axis));
      const int64_t high =
          std::clamp<int64_t>(inputs[i].extent(axis) - begin, low, to.extent(axis));
      RILL_ASSIGN(const Tensor zero, cast(Tensor::scalar(0.0F), to.dtype, to.q));
      View zeros = to;
      zeros.stride.fill(0);
      zeros.data = zero.view().data;
      copy_view(zeros, to);
      copy_view(frames_of(inputs[i].view(), axis, begin + low, high - low),
                frames_of(to, axis, low, high - low));
    }
    session->step();
    done = (step + 1) * window.step >= length;
    for (size_t i = 0; i < out.size(); ++i) {
      out[i].take(step, session->output(i));
      done = done && out[i].done(step + 1);
    }
  }
  std::vector<Tensor> frames;
  for (Gathered& each : out) frames.push_back(std::move(each.frames));
  return Outputs(std::move(frames));
}

}  // namespace rill::audit
