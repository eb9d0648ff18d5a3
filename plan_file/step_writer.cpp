#include "plan_file/step_writer.h"

#include <cstring>

#include "core/base/mapped_file.h"
#include "core/run/plan_format.h"
#include "plan_file/checksum.h"

namespace rill::plan_file {

int64_t Constants::add(const void* data, int64_t bytes) {
  const auto size = static_cast<size_t>(bytes);
  const std::span content(static_cast<const std::byte*>(data), size);
  const uint64_t sum = checksum(content);
  const auto [first, last] = by_sum_.equal_range(sum);
  for (auto at = first; at != last; ++at) {
    const FileConstant& entry = entries_[at->second];
    const bool same = entry.bytes == bytes && std::memcmp(entry.data, data, size) == 0;
    if (same) return static_cast<int64_t>(at->second);
  }
  if (is_within(content, mapped_)) drop_pages(content);
  by_sum_.emplace(sum, entries_.size());
  entries_.push_back({content.data(), bytes_, bytes});
  bytes_ += (bytes + kReadBeyond + kAlign - 1) / kAlign * kAlign;
  return static_cast<int64_t>(entries_.size()) - 1;
}

int64_t ConstantTable::add(const void* data, int64_t bytes) {
  const int64_t number = all_->add(data, bytes);
  const auto [at, fresh] = numbers_.try_emplace(number, static_cast<int64_t>(own_.size()));
  if (fresh) own_.push_back(number);
  return at->second;
}

void ConstantTable::write(RecordWriter* to) const {
  to->natural(own_.size());
  for (const int64_t number : own_) {
    const FileConstant& entry = all_->entries()[static_cast<size_t>(number)];
    to->natural(static_cast<uint64_t>(entry.begin / kAlign));
    to->natural(static_cast<uint64_t>(entry.bytes));
  }
}

int64_t Names::add(std::string_view name) {
  const auto [at, fresh] = index_.try_emplace(std::string(name), static_cast<int64_t>(all_.size()));
  if (fresh) all_.emplace_back(name);
  return at->second;
}

void Names::write(RecordWriter* to) const {
  to->natural(all_.size());
  for (const std::string& name : all_) to->text(name);
}

void write_type(RecordWriter* to, DType dtype, const QParams& q, std::span<const int64_t> shape) {
  to->number(static_cast<int64_t>(dtype));
  if (is_quantised(dtype)) {
    to->real(static_cast<double>(q.scale));
    to->number(q.zero_point);
  }
  to->natural(shape.size());
  for (const int64_t extent : shape) to->number(extent);
}

void StepWriter::steps(const List<Step>& all) {
  to_.natural(all.size());
  for (const Step& step : all) {
    node_ = step.node;
    to_.number(kinds_.add(step.kind->name));
    to_.number(step.node);
    to_.number(step.parts.units);
    to_.number(step.parts.most);
    ref(step.parts.scratch);
    // `describe` changes nothing when it writes.
    step.kind->describe(const_cast<void*>(step.args), *this);
  }
}

void StepWriter::ref(const Ref& value) {
  used_.insert(value.buffer);
  to_.natural(value.buffer);
  to_.number(value.offset);
}

void StepWriter::operand(const PlacedView& value) {
  if (!is_plain(value.dtype)) {
    refuse(str_cat("values of ", dtype_name(value.dtype), ": a file holds only numbers"));
  }
  const auto rank = static_cast<size_t>(value.rank);
  write_type(&to_, value.dtype, value.q, {value.shape.data(), rank});
  for (size_t axis = 0; axis < rank; ++axis) to_.number(value.stride[axis]);
  ref(value.ref);
}

void StepWriter::tensor(const TensorPtr& value) {
  to_.number(value ? 1 : 0);
  if (!value) return;
  if (!is_plain(value->dtype())) {
    refuse(str_cat("a tensor of ", dtype_name(value->dtype()), ": a file holds only numbers"));
    return;
  }
  write_type(&to_, value->dtype(), value->qparams(), value->shape());
  to_.number(static_cast<int64_t>(value->block_format()));
  to_.number(value->size_bytes() == 0 ? -1 : constants_->add(value->raw(), value->size_bytes()));
}

void StepWriter::field(std::string_view, OpPtr& value) {
  for (const OpModule* module : modules_) {
    for (const OpClass& each : module->classes) {
      if (each.kind != value->kind()) continue;
      to_.number(classes_.add(each.name));
      const std::shared_ptr<Op> own = value->clone();
      return describe(*this, each, *own);
    }
  }
  refuse(str_cat("a step that evaluates \"", value->name(), "\", which no file can hold"));
}

void StepWriter::refuse(std::string_view what) {
  if (!status_.ok()) return;
  status_ = fail(Code::kUnsupported, "the plan has ", what)
                .hint("Load the model itself in the app");
  if (node_ < 0 || node_ >= static_cast<int64_t>(plan_.nodes.size())) return;
  const PlanNode& node = plan_.nodes[static_cast<size_t>(node_)];
  status_ = std::move(status_).in_node(node.name, node.op);
}

void StepWriter::kernel(std::string_view, std::span<const KernelName> names, int64_t& index) {
  to_.number(index < 0 ? -1 : kernels_.add(names[static_cast<size_t>(index)].name));
}

}  // namespace rill::plan_file
