#include "onnx_loader/build/sequences.h"

#include <algorithm>
#include <array>

#include "onnx_loader/load.h"

namespace rill::onnx {
namespace {

/// Their names, and the opsets from which on they are there.
using NameSince = std::pair<std::string_view, int>;
constexpr std::array kOperators = {
    NameSince{"ConcatFromSequence", 11}, NameSince{"Optional", 15},
    NameSince{"OptionalGetElement", 15}, NameSince{"OptionalHasElement", 15},
    NameSince{"SequenceAt", 11},         NameSince{"SequenceConstruct", 11},
    NameSince{"SequenceEmpty", 11},      NameSince{"SequenceErase", 11},
    NameSince{"SequenceInsert", 11},     NameSince{"SequenceLength", 11},
    NameSince{"SplitToSequence", 11},
};
/// Bounds the memory of sequences that grow by one tensor per node.
constexpr int64_t kMostTensors = int64_t{1} << 20;

class Reader {
 public:
  Reader(const NodeProto& node, int64_t version, const std::string& name, Loader* loader, Env* env)
      : node_(node), version_(version), name_(name), loader_(*loader), env_(*env) {}

  Status run();

 private:
  using Wires = std::vector<OutletId>;

  bool has(size_t input) const {
    return input < node_.inputs.size() && !node_.inputs[input].empty();
  }
  int64_t integer(std::string_view attribute, int64_t otherwise) const {
    const AttributeProto* found = node_.attribute(attribute);
    return found ? found->i : otherwise;
  }
  std::string_view output() const {
    return node_.outputs.empty() ? std::string_view() : node_.outputs[0];
  }

  Result<OutletId> tensor(size_t input);
  Result<const Wires*> list(size_t input);
  /// The value of an input that has to be known, as `what` is.
  Result<TensorPtr> known(size_t input, std::string_view what);
  /// The place that an input names, of `places`; the last one where it is left out.
  Result<int64_t> place(size_t input, int64_t places);
  /// An axis of a tensor of that rank, counted from its first.
  Result<int64_t> axis(int64_t rank) const;
  Result<OutletId> call(std::string_view nnef, std::vector<nnef::CallArgument> arguments);

  Result<Wires> split();
  Result<std::vector<int64_t>> parts_of(const Dim& extent);
  Result<OutletId> concat(const Wires& items);
  Status optional();
  Status changed();

  Status keep(Wires items);
  Status give(OutletId wire);
  Status give(Tensor value);

  const NodeProto& node_;
  int64_t version_;
  const std::string& name_;
  Loader& loader_;
  Env& env_;
};

Result<OutletId> Reader::tensor(size_t input) {
  if (!has(input)) return fail(Code::kParse, "input ", input, " is left out, expected a tensor");
  return loader_.find(node_.inputs[input], &env_);
}

Result<const Reader::Wires*> Reader::list(size_t input) {
  if (!has(input)) return fail(Code::kParse, "input ", input, " is left out, expected a sequence");
  const std::string_view name = node_.inputs[input];
  if (const Wires* found = sequence_of(name, env_)) return found;
  return fail(Code::kUnsupported, "\"", name, "\" is no sequence whose tensors the file tells")
      .hint("Sequences that inputs or loops give are not read: stack their tensors");
}

Result<TensorPtr> Reader::known(size_t input, std::string_view what) {
  RILL_ASSIGN(const OutletId wire, tensor(input));
  if (const TensorPtr value = env_.graph().fact(wire).konst) return value;
  return fail(Code::kUnsupported, what, " depends on data")
      .hint("Give its value: --constantize NAME=VALUE for the input that it depends on");
}

Result<int64_t> Reader::place(size_t input, int64_t places) {
  if (!has(input)) return places - 1;
  RILL_ASSIGN(const TensorPtr value, known(input, "the place in the sequence"));
  if (value->volume() != 1) return fail(Code::kShape, "expected one place, found ", value->shape());
  RILL_ASSIGN(const int64_t written, element_as_int(*value, 0));
  const int64_t at = written < 0 ? written + places : written;
  if (at >= 0 && at < places) return at;
  return fail(Code::kArg, "place ", written, " of ", places);
}

Result<int64_t> Reader::axis(int64_t rank) const {
  const int64_t written = integer("axis", 0);
  if (written >= -rank && written < rank) return written < 0 ? written + rank : written;
  return fail(Code::kArg, "axis ", written, " of ", rank);
}

Result<OutletId> Reader::call(std::string_view nnef, std::vector<nnef::CallArgument> arguments) {
  const nnef::Naming naming{name_, true, false, {}, {}, {}};
  RILL_ASSIGN(const Value value,
              loader_.builder().call({nnef, arguments, {}}, *env_.scope, naming));
  return loader_.builder().to_wire(value, *env_.scope, name_);
}

/// The parts of an extent: frame by frame, or of as many as the input tells, the last one shorter.
Result<std::vector<int64_t>> Reader::parts_of(const Dim& extent) {
  int64_t part = 1;
  if (has(1)) {
    RILL_ASSIGN(const TensorPtr given, known(1, "how a tensor is split"));
    RILL_ASSIGN(part, element_as_int(*given, 0));
    if (part < 1) return fail(Code::kArg, "parts of ", part, " frames");
  }
  if (!extent.is_const()) {
    return fail(Code::kUnsupported, "how many tensors a split makes depends on the extent ", extent)
        .hint("Set its symbols");
  }
  RILL_ASSIGN(const int64_t whole, extent.as_int());
  if (whole / part >= kMostTensors) return fail(Code::kUnsupported, whole / part, " parts");
  std::vector<int64_t> parts;
  for (int64_t at = 0; at < whole; at += part) parts.push_back(std::min(part, whole - at));
  return parts;
}

/// Reads what is split as `Split` is read, which knows the forms of an axis and of lists of parts.
Result<Reader::Wires> Reader::split() {
  RILL_ASSIGN(const OutletId x, tensor(0));
  const Fact fact = env_.graph().fact(x);
  RILL_ASSIGN(const int64_t at, axis(fact.rank()));
  NodeProto plain;
  plain.op_type = "Split";
  plain.inputs = node_.inputs;
  plain.attributes.emplace_back();
  plain.attributes[0].name = "axis";
  plain.attributes[0].type = AttributeProto::Type::kInt;
  plain.attributes[0].i = at;
  bool listed = false;
  if (has(1)) {
    RILL_ASSIGN(const OutletId given, tensor(1));
    listed = env_.graph().fact(given).rank() == 1;
  }
  const std::string sizes = str_cat(name_, "_parts");
  if (!listed) {
    RILL_ASSIGN(const std::vector<int64_t> parts, parts_of(fact.dim(static_cast<int>(at))));
    if (parts.empty()) return Wires{};
    const auto count = static_cast<int64_t>(parts.size());
    RILL_ASSIGN(Tensor list, Tensor::of<int64_t>(DType::kI64, {count}, parts));
    RILL_ASSIGN(env_.values[sizes],
                loader_.add_const(sizes, std::make_shared<const Tensor>(std::move(list)), &env_));
    plain.inputs = {node_.inputs[0], sizes};
  }
  auto read = loader_.read_node(plain, std::max<int64_t>(version_, 13), name_, &env_);
  env_.values.erase(sizes);
  RILL_ASSIGN(Wires out, std::move(read));
  if (has(1) || integer("keepdims", 1) != 0) return out;
  for (OutletId& each : out) {
    RILL_ASSIGN(each, call("squeeze", {{"input", nullptr, Value(each)},
                                       {"axes", nullptr, Value(std::vector<Value>{Dim(at)})}}));
  }
  return out;
}

Result<OutletId> Reader::concat(const Wires& items) {
  if (items.empty()) return fail(Code::kShape, "the sequence is empty, expected a tensor or more");
  const bool stacks = integer("new_axis", 0) != 0;
  RILL_ASSIGN(const int64_t at, axis(env_.graph().fact(items[0]).rank() + (stacks ? 1 : 0)));
  std::vector<Value> values(items.begin(), items.end());
  return call(stacks ? "stack" : "concat", {{"values", nullptr, Value(std::move(values))},
                                            {"axis", nullptr, Value(Dim(at))}});
}

Status Reader::optional() {
  const bool none = !has(0) || env_.absent.contains(node_.inputs[0]);
  if (node_.op_type == "OptionalHasElement") return give(Tensor::scalar(!none));
  if (none) {
    if (node_.op_type == "OptionalGetElement") {
      return fail(Code::kUnsupported, "the optional value that is read is not there");
    }
    env_.absent.insert(output());
    return {};
  }
  if (const Wires* items = sequence_of(node_.inputs[0], env_)) return keep(*items);
  RILL_ASSIGN(const OutletId wire, tensor(0));
  return give(wire);
}

/// A sequence with a tensor more, or less.
Status Reader::changed() {
  RILL_ASSIGN(const Wires* before, list(0));
  Wires items = *before;
  const auto count = static_cast<int64_t>(items.size());
  if (node_.op_type == "SequenceErase") {
    RILL_ASSIGN(const int64_t at, place(1, count));
    items.erase(items.begin() + at);
    return keep(std::move(items));
  }
  RILL_ASSIGN(const OutletId wire, tensor(1));
  int64_t at = count;
  if (has(2)) {
    // Places below 0 count from behind the last tensor that is there already.
    RILL_ASSIGN(const TensorPtr value, known(2, "the place in the sequence"));
    RILL_ASSIGN(const int64_t written, element_as_int(*value, 0));
    at = written < 0 ? written + count : written;
    if (at < 0 || at > count) return fail(Code::kArg, "place ", written, " of ", count);
  }
  items.insert(items.begin() + at, wire);
  return keep(std::move(items));
}

Status Reader::run() {
  const std::string_view op = node_.op_type;
  if (op == "SequenceEmpty") return keep({});
  if (op == "SequenceConstruct") {
    Wires items;
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      RILL_ASSIGN(const OutletId wire, tensor(i));
      items.push_back(wire);
    }
    return keep(std::move(items));
  }
  if (op == "SplitToSequence") {
    RILL_ASSIGN(Wires items, split());
    return keep(std::move(items));
  }
  if (op == "SequenceInsert" || op == "SequenceErase") return changed();
  if (op.starts_with("Optional")) return optional();
  RILL_ASSIGN(const Wires* items, list(0));
  const auto count = static_cast<int64_t>(items->size());
  if (op == "SequenceLength") return give(Tensor::scalar(count));
  if (op == "SequenceAt") {
    RILL_ASSIGN(const int64_t at, place(1, count));
    return give((*items)[static_cast<size_t>(at)]);
  }
  if (op == "ConcatFromSequence") {
    RILL_ASSIGN(const OutletId wire, concat(*items));
    return give(wire);
  }
  return keep(*items);  // Identity
}

Status Reader::keep(Wires items) {
  RILL_TRY(loader_.take_tensors(static_cast<int64_t>(items.size()), kMostTensors));
  if (env_.lists.emplace(output(), std::move(items)).second) return {};
  return fail(Code::kParse, "the value \"", output(), "\" is computed twice");
}

Status Reader::give(OutletId wire) { return loader_.bind_outputs(node_, {wire}, &env_); }

Status Reader::give(Tensor value) {
  RILL_ASSIGN(const OutletId wire,
              loader_.add_const(name_, std::make_shared<const Tensor>(std::move(value)), &env_));
  return give(wire);
}

}  // namespace

std::span<const std::pair<std::string_view, int>> sequence_operators() { return kOperators; }

const std::vector<OutletId>* sequence_of(std::string_view name, const Env& env) {
  for (const Env* at = &env; at; at = at->captured ? nullptr : at->outer) {
    if (const auto it = at->lists.find(name); it != at->lists.end()) return &it->second;
  }
  return nullptr;
}

bool is_of_sequences(const NodeProto& node, const Env& env) {
  if (!node.domain.empty()) return false;
  const auto is_it = [&](const auto& each) { return each.first == node.op_type; };
  if (std::any_of(kOperators.begin(), kOperators.end(), is_it)) return true;
  return node.op_type == "Identity" && !node.inputs.empty() && sequence_of(node.inputs[0], env);
}

Status run_sequences(const NodeProto& node, int64_t version, const std::string& name,
                     Loader* loader, Env* env) {
  return Reader(node, version, name, loader, env).run();
}

}  // namespace rill::onnx
