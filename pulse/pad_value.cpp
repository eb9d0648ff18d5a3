#include "pulse/pad_value.h"

#include "core/exec/plan.h"
#include "core/exec/session.h"
#include "core/tensor/uniform.h"

namespace rill::pulse {

bool same_pad_value(const TensorPtr& a, const TensorPtr& b) {
  if (a == b) return true;
  const auto zero = [](const TensorPtr& t) {
    if (!t || t->empty()) return true;
    // Null means zero bytes, which are the number 0 only if the zero point is 0.
    return is_quantised(t->dtype()) ? has_zero_bits_only(*t) : uniform_number(t) == 0.0;
  };
  if (!a || !b) return zero(a) && zero(b);
  return a->same_bits(*b);
}

TensorPtr compact_pad_value(const TensorPtr& pad_value) {
  if (!is_uniform(pad_value) || !is_plain(pad_value->dtype())) return pad_value;
  if (has_zero_bits_only(*pad_value)) return nullptr;
  return std::make_shared<const Tensor>(first_element(*pad_value));
}

Result<TensorPtr> frames_of_pad_value(const Fact& pulsed, int axis, int64_t count,
                                      const TensorPtr& pad_value) {
  std::vector<int64_t> shape;
  for (int a = 0; a < pulsed.rank(); ++a) {
    shape.push_back(a == axis ? count : pulsed.dim(a).to_int().value_or(1));
  }
  RILL_ASSIGN(Tensor frames, Tensor::zeros(pulsed.dtype, shape, pulsed.q));
  if (pad_value) {
    View from = pad_value->view();
    if (from.rank == 0) from.rank = frames.rank();
    for (int a = 0; a < frames.rank(); ++a) {
      const auto at = static_cast<size_t>(a);
      if (pad_value->rank() == 0 || from.shape[at] == 1) from.stride[at] = 0;
      from.shape[at] = frames.extent(a);
    }
    copy_view(from, frames.view());
  }
  return std::make_shared<const Tensor>(std::move(frames));
}

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
    if (!streams[k]) continue;
    // A plan needs numbers for the graph's expressions.
    RILL_ASSIGN(const Tensor number, values[k]->dtype() == DType::kDim
                                         ? cast(*values[k], DType::kI64)
                                         : Result<Tensor>(*values[k]));
    copy_view(number.view(), session->input(source++));
  }
  session->step();
  const PlanIo& io = plan->outputs[0];
  RILL_ASSIGN(Tensor out, Tensor::zeros(io.dtype, {io.shape.begin(), io.shape.end()}, io.q));
  copy_view(session->output(0), out.view());
  return out;
}

}  // namespace rill::pulse
