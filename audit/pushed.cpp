#include <algorithm>

#include "audit/drive.h"
#include "audit/values.h"
#include "core/tensor/frames.h"

namespace rill::audit {

void PushedStream::attach(Session* session, Feed* feed) {
  session_ = session;
  feed_ = feed;
  const Plan& plan = session->plan();
  pushed_.resize(plan.inputs.size());
  rows_.resize(plan.outputs.size());
  frames_.resize(plan.outputs.size());
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    if (plan.inputs[i].stream.axis < 0) copy_view(inputs_[i].view(), session->input(i));
  }
}

void PushedStream::restart() {
  std::fill(pushed_.begin(), pushed_.end(), 0);
  std::fill(frames_.begin(), frames_.end(), 0);
  for (auto& rows : rows_) rows.clear();
}

bool PushedStream::past(int64_t percent) const {
  const Plan& plan = session_->plan();
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    const int axis = plan.inputs[i].stream.axis;
    if (axis >= 0) return pushed_[i] * 100 >= inputs_[i].extent(axis) * percent;
  }
  return true;
}

int64_t PushedStream::pull(size_t output, int64_t most) {
  const PlanStream& stream = session_->plan().outputs[output].stream;
  if (stream.axis < 0 || most == 0) return 0;
  const View like = session_->output(output);
  const auto bytes = static_cast<size_t>(frame_bytes(like, stream.axis));
  auto& rows = rows_[output];
  const size_t before = rows.size();
  rows.resize(before + static_cast<size_t>(most) * bytes);
  const int64_t count =
      feed_->pull(output, frame_rows(like, stream.axis, most, rows.data() + before));
  rows.resize(before + static_cast<size_t>(count) * bytes);
  frames_[output] += count;
  return count;
}

bool PushedStream::step() {
  const Plan& plan = session_->plan();
  bool more = false;
  int64_t moved = 0;
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    const PlanStream& stream = plan.inputs[i].stream;
    if (stream.axis < 0) continue;
    const int64_t left = inputs_[i].extent(stream.axis) - pushed_[i];
    const int64_t count = std::min(left, draw_.in(0, 2 * stream.pulse + 3));
    const int64_t taken =
        feed_->push(i, frames_of(inputs_[i].view(), stream.axis, pushed_[i], count));
    pushed_[i] += taken;
    moved += taken;
    more |= pushed_[i] < inputs_[i].extent(stream.axis);
  }
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    moved += pull(i, draw_.in(0, 2 * plan.outputs[i].stream.pulse + 3));
  }
  idle_ = moved > 0 ? 0 : idle_ + 1;
  given_up_ = until_.passed();
  return more && !stuck() && !given_up_;
}

Status PushedStream::finish() {
  if (given_up_) return {};
  if (stuck()) return fail(Code::kState, "frames are not taken any more");
  RILL_TRY(feed_->finish().status());
  for (bool any = true; any && !given_up_; given_up_ = any && until_.passed()) {
    any = false;
    for (size_t i = 0; i < rows_.size(); ++i) {
      any |= pull(i, draw_.in(1, 2 * session_->plan().outputs[i].stream.pulse + 3)) > 0;
    }
  }
  return {};
}

Result<std::vector<Tensor>> PushedStream::outputs() const {
  std::vector<Tensor> out;
  for (size_t i = 0; i < rows_.size(); ++i) {
    const PlanIo& io = session_->plan().outputs[i];
    if (io.stream.axis < 0) {
      RILL_ASSIGN(Tensor value, copy_of(session_->output(i)));
      out.push_back(std::move(value));
      continue;
    }
    std::vector<int64_t> shape(io.shape.begin(), io.shape.end());
    shape[static_cast<size_t>(io.stream.axis)] = frames_[i];
    RILL_ASSIGN(Tensor value, Tensor::zeros(io.dtype, std::move(shape), io.q));
    const View to = value.view();
    auto* rows = const_cast<std::byte*>(rows_[i].data());
    if (frames_[i] > 0) copy_view(frame_rows(to, io.stream.axis, frames_[i], rows), to);
    out.push_back(std::move(value));
  }
  return out;
}

}  // namespace rill::audit
