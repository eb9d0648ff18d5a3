#include "pulse/builder.h"

#include <algorithm>

#include "core/exec/session.h"
#include "ops/array/slice.h"
#include "ops/stream/delay.h"
#include "ops/stream/mask.h"

namespace rill::pulse {
namespace {

/// Whether two virtual first frames are the same; null stands for zeros.
bool same_fill(const TensorPtr& a, const TensorPtr& b) {
  if (a == b) return true;
  const auto zero = [](const TensorPtr& t) {
    if (!t) return true;
    for (int64_t i = 0; i < t->volume(); ++i) {
      const auto value = element_as_double(*t, i);
      if (!value.ok() || *value != 0.0) return false;
    }
    return true;
  };
  if (!a || !b) return zero(a) && zero(b);
  return a->same_bits(*b);
}

/// A fill that holds one number only, as a tensor of rank 0; other fills come back as they are.
TensorPtr compact_fill(const TensorPtr& fill) {
  if (!fill || fill->volume() == 0 || !is_plain(fill->dtype())) return fill;
  const auto size = dtype_size(fill->dtype());
  const auto* bytes = fill->data<std::byte>();
  for (int64_t i = 1; i < fill->volume(); ++i) {
    if (!std::equal(bytes, bytes + size, bytes + i * size)) return fill;
  }
  if (std::all_of(bytes, bytes + size, [](std::byte b) { return b == std::byte{0}; })) {
    return nullptr;
  }
  auto scalar = Tensor::zeros(fill->dtype(), {}, fill->qparams());
  if (!scalar.ok()) return fill;
  std::copy(bytes, bytes + size, scalar->mutable_data<std::byte>());
  return std::make_shared<const Tensor>(std::move(scalar).value());
}

/// Output i of an op on these values, by the kernels that a plan chooses: `eval` may round otherwise.
Result<Tensor> run_alone(const OpPtr& op, std::span<const TensorPtr> values,
                         std::span<const char> streams, int i) {
  Graph graph;
  std::vector<OutletId> inputs;
  for (size_t k = 0; k < values.size(); ++k) {
    inputs.push_back(streams[k] ? graph.add_source("x", Fact::of_tensor(values[k]).without_value())
                                : graph.add_const("c", values[k]));
  }
  RILL_ASSIGN(const std::vector<OutletId> outlets, graph.add("y", op, inputs));
  graph.add_output("y", outlets[static_cast<size_t>(i)]);
  RILL_ASSIGN(const std::shared_ptr<const Plan> plan, prepare(graph));
  RILL_ASSIGN(const std::unique_ptr<Session> session, Session::make(plan));
  size_t source = 0;
  for (size_t k = 0; k < values.size(); ++k) {
    if (streams[k]) copy_view(values[k]->view(), session->input(source++));
  }
  session->step();
  const PlanIo& io = plan->outputs[0];
  RILL_ASSIGN(Tensor out, Tensor::zeros(io.dtype, io.shape, io.q));
  copy_view(session->output(0), out.view());
  return out;
}

}  // namespace

void Builder::enter(int node_id) { node_ = node_id; }

Result<int64_t> Builder::pulse_of(OutletId pulsed, int axis) const {
  const auto frames = pulsed_->fact(pulsed).dim(axis).to_int();
  if (!frames) {
    return refusal(str_cat("the pulse on axis ", axis, " is ", pulsed_->fact(pulsed).dim(axis),
                           ", not a number"),
                   "Give the pulse as a number");
  }
  return *frames;
}

Result<std::vector<OutletId>> Builder::add(std::string_view suffix, OpPtr op,
                                           std::vector<OutletId> inputs) {
  std::string key = str_cat(op->name(), "|", op->attributes());
  for (const OutletId& i : inputs) key += str_cat("|", i.node, ".", i.slot);
  const auto known = seen_.find(key);
  if (known != seen_.end()) return known->second;
  const std::string full = suffix.empty() ? node().name : str_cat(node().name, "_", suffix);
  RILL_ASSIGN(std::vector<OutletId> outlets,
              pulsed_->add_folded(full, std::move(op), std::move(inputs), node().line));
  seen_.emplace(std::move(key), outlets);
  return outlets;
}

Result<OutletId> Builder::konst(std::string_view suffix, Tensor value) {
  return pulsed_->add_const(str_cat(node().name, "_", suffix),
                            std::make_shared<const Tensor>(std::move(value)), node().line);
}

Result<OutletId> Builder::delay(OutletId wire, const StreamFact& stream, int64_t frames,
                                int64_t overlap) {
  if (frames == 0 && overlap == 0) return wire;
  auto op = std::make_shared<ops::Delay>();
  op->axis = stream.axis;
  op->delay = frames;
  op->overlap = overlap;
  op->fill = stream.has_prefix() ? stream.fill : nullptr;
  return add1("delay", op, {wire});
}

Result<OutletId> Builder::hold(OutletId wire, StreamFact* stream) {
  RILL_ASSIGN(const int64_t p, pulse_of(wire, stream->axis));
  const auto pulse = options_.pulse.to_int();
  if (!pulse) return wire;
  // N(L) is quasi-affine: what can happen happens within a few pulses.
  const int64_t last = 4 * *pulse + 64;
  int64_t slack = 0;
  for (int64_t length = 1; length <= last; ++length) {
    const auto frames = stream->dim.eval({{options_.symbol, length}});
    if (!frames || *frames <= 0) continue;
    const int64_t announced = ((length + *pulse - 1) / *pulse - 1) * p;
    slack = std::min(slack, stream->delay + *frames - announced);
  }
  if (slack == 0) return wire;
  RILL_ASSIGN(const OutletId held, delay(wire, *stream, -slack, 0));
  stream->delay -= slack;
  return held;
}

Result<OutletId> Builder::mask(OutletId wire, StreamFact* stream, bool begin, bool end,
                               const Tensor& value) {
  // A hold makes room for frames that are not valid: the begin comes after it.
  if (end) {
    RILL_ASSIGN(wire, hold(wire, stream));
  }
  begin = begin && stream->delay > 0;
  if (!begin && !end) return wire;
  auto op = std::make_shared<ops::PulseMask>();
  op->axis = stream->axis;
  op->begin = begin ? stream->delay : 0;
  op->end = end ? stream->dim + Dim(stream->delay) : Dim(INT64_MAX);
  RILL_ASSIGN(Tensor scalar, cast(value, pulsed_->fact(wire).dtype, pulsed_->fact(wire).q));
  op->value = std::make_shared<const Tensor>(std::move(scalar));
  return add1("mask", op, {wire});
}

/// Whether two lengths are equal for streams of some length. Where they are not for others, such as
/// 2*(S/8) and S/4, the whole graph is not defined for those.
bool Builder::can_be_equal(const Dim& a, const Dim& b) const {
  if (whole_.scope.simplify(a - b) == Dim(0)) return true;
  const int64_t pulse = options_.pulse.to_int().value_or(1);
  const auto equal_at = [&](int64_t length) {
    const Bindings at{{options_.symbol, length}};
    const auto x = a.eval(at);
    const auto y = b.eval(at);
    return x && y && *x == *y && *x > 1;
  };
  // Lengths are quasi-affine: short streams and whole pulses show every case.
  for (int64_t length = 1; length <= 1024; ++length) {
    if (equal_at(length)) return true;
  }
  for (int64_t pulses = 1; pulses <= 64; ++pulses) {
    if (equal_at(pulses * pulse)) return true;
  }
  return false;
}

Result<PulseBuilder::Synced> Builder::sync() {
  Synced out;
  int64_t latest = INT64_MIN;
  for (int i = 0; i < inputs(); ++i) {
    if (const auto s = stream(i)) latest = std::max(latest, s->delay);
  }
  // A product that is fused with the sum behind it rounds otherwise than on a first frame alone.
  const bool product = inputs() > 1 && node().op->tolerance() != Tolerance::kExact;
  if (product) latest = std::max<int64_t>(latest, 0);
  int64_t pulse = -1;
  for (int i = 0; i < inputs(); ++i) {
    OutletId at = wire(i);
    if (auto s = stream(i)) {
      RILL_ASSIGN(const int64_t own, pulse_of(at, s->axis));
      if (out.first < 0) {
        out.first = i;
        pulse = own;
      } else if (own != pulse) {
        return refusal(str_cat("its inputs run at different rates: ", pulse, " and ", own,
                               " frames per pulse"),
                       "Bring the inputs to one rate before they meet");
      } else if (!can_be_equal(s->dim, out.stream.dim)) {
        return refusal(str_cat("its inputs have different lengths on the streaming axis: ",
                               out.stream.dim, " and ", s->dim),
                       "Bring the inputs to one length before they meet");
      }
      if (s->delay < latest) {
        RILL_ASSIGN(at, delay(at, *s, latest - s->delay, 0));
        s->delay = latest;
      }
      if (i == out.first) out.stream = *s;
    }
    out.wires.push_back(at);
  }
  return out;
}

Result<TensorPtr> Builder::mapped_fill(const Synced& synced, int i, int out_axis) {
  std::vector<TensorPtr> values;
  std::vector<char> streams;
  for (int k = 0; k < inputs(); ++k) {
    const auto s = stream(k);
    streams.push_back(s ? 1 : 0);
    if (!s) {
      const TensorPtr& constant = pulsed_->fact(wire(k)).konst;
      if (!constant) return refusal("a constant first frame meets an input that is not constant", "Remove the padding before this operator");
      values.push_back(constant);
      continue;
    }
    // One frame, with every other symbolic extent (the batch) as one: fills do not depend on it.
    const Fact& pulsed_fact = pulsed_->fact(synced.wires[static_cast<size_t>(k)]);
    std::vector<int64_t> shape;
    for (int axis = 0; axis < pulsed_fact.rank(); ++axis) {
      shape.push_back(axis == s->axis ? 1 : pulsed_fact.dim(axis).to_int().value_or(1));
    }
    RILL_ASSIGN(Tensor frame, Tensor::zeros(pulsed_fact.dtype, shape, pulsed_fact.q));
    if (s->fill) {
      View from = s->fill->view();
      if (from.rank == 0) from.rank = frame.rank();
      for (int axis = 0; axis < frame.rank(); ++axis) {
        const auto a = static_cast<size_t>(axis);
        if (s->fill->rank() == 0 || from.shape[a] == 1) from.stride[a] = 0;
        from.shape[a] = frame.extent(axis);
      }
      copy_view(from, frame.view());
    }
    values.push_back(std::make_shared<const Tensor>(std::move(frame)));
  }
  OpPtr op = node().op;
  for (const std::string& name : whole_.scope.symbols()) {
    if (OpPtr bound = op->with_symbol(name, Dim(1))) op = bound;
  }
  RILL_ASSIGN(Tensor result, run_alone(op, values, streams, i));
  if (result.extent(out_axis) != 1) return fail(Code::kInternal, "a fill of several frames");
  return compact_fill(std::make_shared<const Tensor>(std::move(result)));
}

Result<OutletId> Builder::materialise(OutletId wire, StreamFact* stream) {
  if (!stream->has_prefix()) return wire;
  RILL_ASSIGN(const OutletId out, delay(wire, *stream, -stream->delay, 0));
  stream->delay = 0;
  stream->fill = nullptr;
  return out;
}

Result<OutletId> Builder::window(OutletId wire, StreamFact* stream, const StreamWindow& window) {
  const auto pad = std::make_shared<const Tensor>(window.pad_value);
  RILL_ASSIGN(const int64_t p, pulse_of(wire, stream->axis));
  if (p % window.stride != 0) {
    const int64_t own = options_.pulse.to_int().value_or(1);
    // This wire has p / own frames per frame of the input.
    int64_t step = 1;
    while (step * p % own != 0 || step * p / own % window.stride != 0) ++step;
    return refusal(str_cat("its input has ", p, " frames per pulse, no multiple of the stride ",
                           window.stride),
                   str_cat("Use a pulse that is a multiple of ", step));
  }
  if (stream->has_prefix() && window.before > 0 && !same_fill(stream->fill, compact_fill(pad))) {
    RILL_ASSIGN(wire, materialise(wire, stream));
  }
  RILL_ASSIGN(wire, mask(wire, stream, window.before > 0, window.after > 0, window.pad_value));
  const int64_t b = window.before;
  int64_t history = std::max(window.kernel - window.stride, b - stream->delay);
  while (((stream->delay + history - b) % window.stride + window.stride) % window.stride != 0) {
    ++history;
  }
  StreamFact source = *stream;
  // What lies before the first frame is padding, or frames that nobody may see.
  if (b > 0) source.fill = compact_fill(pad);
  if (history > 0) {
    auto op = std::make_shared<ops::Delay>();
    op->axis = stream->axis;
    const int64_t overlap = std::max<int64_t>(0, window.kernel - window.stride);
    op->overlap = std::min(history, overlap);
    op->delay = history - op->overlap;
    op->fill = b > 0 || stream->has_prefix() ? source.fill : nullptr;
    RILL_ASSIGN(wire, add1("delay", op, {wire}));
  }
  stream->delay = (stream->delay + history - b) / window.stride;
  stream->fill = nullptr;
  if (history < 0) return skip_frames(wire, *stream, -history);
  return wire;
}

void Builder::set(int i, OutletId pulsed, std::optional<StreamFact> stream) {
  if (stream) {
    stream->fill = stream->has_prefix() ? compact_fill(stream->fill) : nullptr;
    stream->dim = whole_.scope.simplify(stream->dim);
  }
  wires_[{node_, i}] = {pulsed, std::move(stream), false, {}};
}

void Builder::set_refused(int i, Status why) {
  wires_[{node_, i}] = {{}, std::nullopt, false,
                        std::move(why).in_node(node().name, node().op->name())};
}

Result<OutletId> Builder::skip_frames(OutletId wire, const StreamFact& stream, int64_t frames) {
  RILL_ASSIGN(const int64_t p, pulse_of(wire, stream.axis));
  return add1("skip", std::make_shared<ops::Slice>(stream.axis, Dim(frames), Dim(p)), {wire});
}

Status Builder::refusal(std::string cause, std::string_view way_out) const {
  return fail(Code::kPulse, cause).in_node(node().name, node().op->name()).at("", node().line).hint(
      way_out);
}

}  // namespace rill::pulse
