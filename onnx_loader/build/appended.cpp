#include "onnx_loader/build/appended.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "core/base/search.h"
#include "onnx_loader/build/order.h"
#include "onnx_loader/build/sequences.h"
#include "onnx_loader/build/wire_calls.h"

namespace rill::onnx {
namespace {

/// The inputs before the states of a loop: the number of iterations, and the initial condition.
constexpr size_t kTerms = 2;
/// Bounds the time of the search for readers of the lists.
constexpr size_t kMostAppended = 1024;

bool is_body(const AttributeProto& each) {
  return each.name == "body" && each.type == AttributeProto::Type::kGraph;
}

/// Return whether a node is of that operator, with `inputs` inputs or up to `most` of them.
bool is(const NodeProto* node, std::string_view op, size_t inputs, size_t most = 0) {
  return node && node->domain.empty() && node->op_type == op && node->inputs.size() >= inputs &&
         node->inputs.size() <= std::max(inputs, most);
}

}  // namespace

bool AppendingLoop::is_loop(const NodeProto& node) {
  return node.domain.empty() && node.op_type == "Loop" && node.inputs.size() > kTerms;
}

Status AppendingLoop::look() {
  const AttributeProto* attribute = node_.attribute("body");
  if (!attribute || !is_body(*attribute)) return {};
  RILL_ASSIGN(body_, loader_.read(attribute->message));
  const size_t states = node_.inputs.size() - kTerms;
  if (body_.inputs.size() != kTerms + states || body_.outputs.size() < 1 + states) return {};
  RILL_TRY(count_reads());
  for (size_t i = 0; i < states; ++i) {
    RILL_ASSIGN(const Sequence* sequence,
                loader_.find_sequence(node_.inputs[kTerms + i], &env_));
    has_sequences_ |= sequence != nullptr;
    if (appended_.size() == kMostAppended) {
      return fail(Code::kUnsupported, "the loop has over ", kMostAppended, " lists");
    }
    if (auto found = append_of(i, sequence)) {
      appended_.push_back(std::move(*found));
    } else if (sequence) {
      return fail(Code::kUnsupported, "the loop does more with the sequence \"",
                  node_.inputs[kTerms + i], "\" than to append to it in each iteration")
          .hint(
              "Append the same number of tensors in every iteration, and read them after the loop");
    }
  }
  return {};
}

Status AppendingLoop::count_reads() {
  ProtoBudget left = loader_.budget();
  std::vector<std::string_view> reads;
  for (size_t i = 0; i < body_.nodes.size(); ++i) {
    const NodeProto& node = body_.nodes[i];
    reads.insert(reads.end(), node.inputs.begin(), node.inputs.end());
    RILL_TRY(add_reads_of_graphs(node, &left, kMaxReadDepth, &reads));
    for (const std::string_view output : node.outputs) made_by_.emplace(output, i);
  }
  for (const ValueInfo& output : body_.outputs) reads.push_back(output.name);
  for (const std::string_view each : reads) ++reads_[each];
  return {};
}

const NodeProto* AppendingLoop::maker(std::string_view value) const {
  const auto at = made_by_.find(value);
  return at == made_by_.end() ? nullptr : &body_.nodes[at->second];
}

std::optional<int64_t> AppendingLoop::number(std::string_view value) {
  const auto is_it = [&](const auto& each) { return each.name == value; };
  const auto stored = find_if(body_.initializers, is_it);
  Result<TensorPtr> tensor = TensorPtr();
  if (stored != body_.initializers.end()) {
    tensor = loader_.tensors().read(*stored);
  } else if (const NodeProto* node = maker(value)) {
    const AttributeProto* attribute = node->attribute("value");
    if (!is(node, "Constant", 0) || !attribute) return {};
    const auto proto = read_tensor_message(attribute->message);
    if (proto.ok()) tensor = loader_.tensors().read(*proto);
  } else if (none_of(body_.inputs, is_it)) {
    const auto wire = loader_.find(value, &env_);
    if (wire.ok()) tensor = env_.graph().fact(*wire).konst;
  }
  if (!tensor.ok() || !*tensor || (*tensor)->volume() != 1) return {};
  const auto written = element_as_int(**tensor, 0);
  return written.ok() ? std::optional(*written) : std::nullopt;
}

std::optional<AppendingLoop::Appended> AppendingLoop::append_of(size_t state,
                                                                const Sequence* sequence) {
  const std::string_view before = body_.inputs[kTerms + state].name;
  std::string_view after = body_.outputs[1 + state].name;
  std::vector<std::string_view> made;
  const NodeProto* node = maker(after);
  while (is(node, "Identity", 1) && reads_[after] == 1) {
    made.push_back(after);
    after = node->inputs[0];
    node = maker(after);
  }
  Appended out;
  out.state = state;
  if (sequence) {
    while (is(node, "SequenceInsert", 2, 3) && reads_[after] == 1) {
      const bool at_end = node->inputs.size() == 2 || node->inputs[2].empty();
      if (!at_end && (!out.rows.empty() || number(node->inputs[2]) != 0)) return {};
      out.rows.insert(out.rows.begin(), node->inputs[1]);
      made.push_back(after);
      after = node->inputs[0];
      out.prepends = !at_end;
      node = after == before || out.prepends ? nullptr : maker(after);
    }
    if (!out.prepends) out.lasts = reads_of_last(before, *sequence);
  } else if (is(node, "Concat", 2) && reads_[after] == 1) {
    const AttributeProto* axis = node->attribute("axis");
    if (!axis) return {};
    out.axis = axis->i;
    out.rows = {node->inputs[1]};
    made.push_back(after);
    after = node->inputs[0];
  }
  const auto others = reads_[before] - static_cast<int>(out.lasts.size());
  if (out.rows.empty() || after != before || others != 1) return {};
  made.insert(made.end(), out.lasts.begin(), out.lasts.end());
  for (const std::string_view each : made) dropped_.insert(made_by_.at(each));
  return out;
}

std::vector<std::string_view> AppendingLoop::reads_of_last(std::string_view before,
                                                           const Sequence& sequence) {
  std::vector<std::string_view> out;
  // The element that the first iteration reads must exist.
  if (sequence.items.empty() || sequence.rows.valid()) return out;
  for (const NodeProto& each : body_.nodes) {
    const bool is_it = is(&each, "SequenceAt", 2) && each.inputs[0] == before &&
                       each.outputs.size() == 1 && number(each.inputs[1]) == -1;
    if (is_it) out.push_back(each.outputs[0]);
  }
  return out;
}

void AppendingLoop::keep_last(const Appended& each, size_t at, NodeProto* loop, GraphProto* body) {
  names_[at] = str_cat(name_, "_last_", each.state);
  loop->inputs[kTerms + each.state] = names_[at];
  loop->outputs[each.state] = {};
  body_.inputs[kTerms + each.state].name = each.lasts[0];
  body_.outputs[1 + each.state].name = each.rows.back();
  for (size_t more = 1; more < each.lasts.size(); ++more) {
    NodeProto same;
    same.op_type = "Identity";
    same.inputs = {each.lasts[0]};
    same.outputs = {each.lasts[more]};
    body->nodes.push_back(std::move(same));
  }
}

NodeProto AppendingLoop::plain() {
  NodeProto loop = node_;
  const auto at = find_if(loop.attributes, is_body);
  if (at != loop.attributes.end()) {
    at->graph = std::make_shared<const GraphProto>(std::move(body_));
  }
  return loop;
}

NodeProto AppendingLoop::rewritten() {
  NodeProto whole = node_;
  const size_t outputs = body_.outputs.size() - 1;
  whole.outputs.resize(outputs);
  GraphProto body;
  for (size_t i = 0; i < body_.nodes.size(); ++i) {
    if (!dropped_.contains(i)) body.nodes.push_back(std::move(body_.nodes[i]));
  }
  std::vector<bool> gone(outputs);
  names_.resize(appended_.size());
  for (size_t i = 0; i < appended_.size(); ++i) {
    gone[appended_[i].state] = appended_[i].lasts.empty();
    if (!appended_[i].lasts.empty()) keep_last(appended_[i], i, &whole, &body);
  }
  NodeProto loop = whole;
  loop.inputs.resize(kTerms);
  loop.outputs.clear();
  body.initializers = std::move(body_.initializers);
  body.sparse_initializers = std::move(body_.sparse_initializers);
  body.inputs.assign(body_.inputs.begin(), body_.inputs.begin() + kTerms);
  body.outputs.push_back(body_.outputs[0]);
  for (size_t i = 0; i < outputs; ++i) {
    if (gone[i]) continue;
    if (kTerms + i < whole.inputs.size()) {
      loop.inputs.push_back(whole.inputs[kTerms + i]);
      body.inputs.push_back(body_.inputs[kTerms + i]);
    }
    loop.outputs.push_back(whole.outputs[i]);
    body.outputs.push_back(body_.outputs[1 + i]);
  }
  for (const Appended& each : appended_) {
    for (const std::string_view row : each.rows) {
      body.outputs.emplace_back();
      body.outputs.back().name = row;
    }
  }
  const auto at = find_if(loop.attributes, is_body);
  at->graph = std::make_shared<const GraphProto>(std::move(body));
  return loop;
}

Status AppendingLoop::run(int64_t version) {
  NodeProto loop = rewritten();
  for (size_t i = 0; i < appended_.size(); ++i) {
    if (appended_[i].lasts.empty()) continue;
    RILL_ASSIGN(const Sequence* first,
                loader_.find_sequence(node_.inputs[kTerms + appended_[i].state], &env_));
    env_.values[names_[i]] = first->items.back();
  }
  auto read = loader_.read_node(loop, version, name_, &env_);
  for (const std::string& name : names_) env_.values.erase(name);
  RILL_ASSIGN(std::vector<OutletId> outlets, std::move(read));
  size_t lists = 0;
  for (const Appended& each : appended_) lists += each.rows.size();
  if (outlets.size() != loop.outputs.size() + lists) {
    return fail(Code::kParse, "the body of the loop has ", counted(body_.outputs.size(), "output"));
  }
  auto next = outlets.begin() + static_cast<std::ptrdiff_t>(loop.outputs.size());
  RILL_TRY(loader_.bind_outputs(loop, {outlets.begin(), next}, &env_));
  for (const Appended& each : appended_) {
    const auto end_of_rows = next + static_cast<std::ptrdiff_t>(each.rows.size());
    RILL_TRY(give(each, {next, end_of_rows}, version));
    next = end_of_rows;
  }
  return {};
}

Result<OutletId> AppendingLoop::reversed(OutletId rows, int64_t version) {
  const WireCalls make(name_, &loader_, &env_);
  // From the last entry to the first one, along axis 0, in steps of -1.
  std::vector<OutletId> wires = {rows};
  for (const int64_t each : {int64_t{-1}, std::numeric_limits<int64_t>::min(), int64_t{0},
                             int64_t{-1}}) {
    RILL_ASSIGN(Tensor list, Tensor::of<int64_t>(DType::kI64, {1}, {&each, 1}));
    RILL_ASSIGN(const OutletId wire, make.constant(std::move(list)));
    wires.push_back(wire);
  }
  RILL_ASSIGN(const std::vector<OutletId> out, make.read("Slice", version, wires));
  return out[0];
}

Result<Sequence> AppendingLoop::grown(const Sequence& first, const Appended& by, OutletId rows,
                                      int64_t version) {
  const WireCalls make(name_, &loader_, &env_);
  Sequence all = first;
  if (!by.prepends) {
    all.rows = rows;
    if (!first.rows.valid()) return all;
    RILL_ASSIGN(all.rows, make.along(0, "concat", {first.rows, rows}));
    return all;
  }
  all.items.clear();
  RILL_ASSIGN(rows, reversed(rows, version));
  std::vector<OutletId> parts = {rows};
  if (!first.items.empty()) {
    RILL_ASSIGN(const OutletId items, make.along(0, "stack", first.items));
    parts.push_back(items);
  }
  if (first.rows.valid()) parts.push_back(first.rows);
  all.rows = rows;
  if (parts.size() > 1) {
    RILL_ASSIGN(all.rows, make.along(0, "concat", parts));
  }
  return all;
}

Status AppendingLoop::give(const Appended& each, const std::vector<OutletId>& lists,
                           int64_t version) {
  if (each.state >= node_.outputs.size() || node_.outputs[each.state].empty()) return {};
  const std::string_view output = node_.outputs[each.state];
  const std::string_view input = node_.inputs[kTerms + each.state];
  const WireCalls make(name_, &loader_, &env_);
  OutletId rows = lists[0];
  if (lists.size() > 1) {
    RILL_ASSIGN(rows, make.along(1, "stack", lists));
    RILL_ASSIGN(rows, make.joined(rows, 0));
  }
  if (!each.axis) {
    RILL_ASSIGN(const Sequence* first, loader_.find_sequence(input, &env_));
    RILL_ASSIGN(Sequence all, grown(*first, each, rows, version));
    return loader_.keep_sequence(output, std::move(all), &env_);
  }
  const int64_t rank = make.fact(rows).rank() - 1;
  const int64_t axis = *each.axis < 0 ? *each.axis + rank : *each.axis;
  if (axis < 0 || axis >= rank) return fail(Code::kArg, "axis ", *each.axis, " of ", rank);
  RILL_ASSIGN(OutletId whole, make.joined(rows, axis));
  RILL_ASSIGN(const OutletId first, loader_.find(input, &env_));
  if (make.fact(first).rank() != rank) {
    return fail(Code::kShape, "rows of rank ", rank, " are appended to ", make.fact(first));
  }
  if (make.fact(first).dim(static_cast<int>(axis)) != Dim(0)) {
    RILL_ASSIGN(whole, make.along(axis, "concat", {first, whole}));
  }
  NodeProto named;
  named.outputs = {output};
  return loader_.bind_outputs(named, {whole}, &env_);
}

}  // namespace rill::onnx
