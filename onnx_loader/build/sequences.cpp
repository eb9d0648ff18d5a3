#include "onnx_loader/build/sequences.h"

#include <algorithm>
#include <array>

#include "core/base/search.h"
#include "onnx_loader/build/wire_calls.h"
#include "onnx_loader/load.h"

namespace rill::onnx {
namespace {

/// Operator names, and the opset that introduces each.
using NameSince = std::pair<std::string_view, int>;
constexpr std::array kOperators = {
    NameSince{"ConcatFromSequence", 11}, NameSince{"Optional", 15},
    NameSince{"OptionalGetElement", 15}, NameSince{"OptionalHasElement", 15},
    NameSince{"SequenceAt", 11},         NameSince{"SequenceConstruct", 11},
    NameSince{"SequenceEmpty", 11},      NameSince{"SequenceErase", 11},
    NameSince{"SequenceInsert", 11},     NameSince{"SequenceLength", 11},
    NameSince{"SplitToSequence", 11},
};

class Reader {
 public:
  Reader(const NodeProto& node, int64_t version, const std::string& name, Loader* loader, Env* env)
      : node_(node),
        version_(version),
        name_(name),
        loader_(*loader),
        env_(*env),
        make_(name, loader, env) {}

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
  const Fact& fact(OutletId wire) const { return env_.graph().fact(wire); }

  Result<OutletId> tensor(size_t input);
  Result<const Sequence*> list(size_t input);
  /// Return the constant integer value of an input; `what` describes it.
  Result<int64_t> known(size_t input, std::string_view what);
  /// Return a place among `places`, counting negative numbers from the end.
  static Result<int64_t> place_of(int64_t written, int64_t places);
  /// Return a non-negative axis of a tensor of that rank.
  Result<int64_t> axis(int64_t rank) const;
  /// Stack all tensors along a new first axis.
  Result<OutletId> stacked(const Sequence& all);
  /// Return the tensors one by one.
  Result<Wires> listed(const Sequence& all);

  Result<Sequence> split();
  Result<Sequence> frames(OutletId x, int64_t at, bool keeps_axis);
  Result<OutletId> concat(const Sequence& all);
  Result<OutletId> one(const Sequence& all);
  Status optional();
  Status inserted();
  Status erased();

  Status keep(Sequence all);
  Status give(OutletId wire);
  Status give(Tensor value);

  const NodeProto& node_;
  int64_t version_;
  const std::string& name_;
  Loader& loader_;
  Env& env_;
  WireCalls make_;
};

Result<OutletId> Reader::tensor(size_t input) {
  if (!has(input)) return fail(Code::kParse, "input ", input, " is left out, expected a tensor");
  return loader_.find(node_.inputs[input], &env_);
}

Result<const Sequence*> Reader::list(size_t input) {
  if (!has(input)) return fail(Code::kParse, "input ", input, " is left out, expected a sequence");
  const std::string_view name = node_.inputs[input];
  RILL_ASSIGN(const Sequence* found, loader_.find_sequence(name, &env_));
  if (found) return found;
  return fail(Code::kUnsupported, "\"", name, "\" is not a sequence whose tensors the file lists")
      .hint("Sequences that inputs give are not read: stack their tensors");
}

Result<int64_t> Reader::known(size_t input, std::string_view what) {
  RILL_ASSIGN(const OutletId wire, tensor(input));
  const TensorPtr value = fact(wire).konst;
  if (!value) {
    return fail(Code::kUnsupported, what, " depends on data")
        .hint("Give its value: --constantize NAME=VALUE for the input that it depends on");
  }
  if (value->volume() != 1) return fail(Code::kShape, "expected one place, found ", value->shape());
  return element_as_int(*value, 0);
}

Result<int64_t> Reader::place_of(int64_t written, int64_t places) {
  const int64_t at = written < 0 ? written + places : written;
  if (at >= 0 && at < places) return at;
  return fail(Code::kArg, "place ", written, " of ", places);
}

Result<int64_t> Reader::axis(int64_t rank) const {
  const int64_t written = integer("axis", 0);
  if (written >= -rank && written < rank) return written < 0 ? written + rank : written;
  return fail(Code::kArg, "axis ", written, " of ", rank);
}

Result<OutletId> Reader::stacked(const Sequence& all) {
  if (all.items.empty() && all.rows.valid()) return all.rows;
  if (all.items.empty()) {
    return fail(Code::kShape, "the sequence is empty, expected a tensor or more");
  }
  RILL_ASSIGN(const OutletId front, make_.along(0, "stack", all.items));
  return all.rows.valid() ? make_.along(0, "concat", {front, all.rows}) : front;
}

Result<Reader::Wires> Reader::listed(const Sequence& all) {
  Wires out = all.items;
  if (!all.rows.valid()) return out;
  const Dim count = fact(all.rows).dim(0);
  if (!count.is_const()) {
    return fail(Code::kUnsupported, "the length of the sequence depends on the extent ", count)
        .hint("Set its symbols");
  }
  RILL_ASSIGN(const int64_t rows, count.as_int());
  RILL_TRY(loader_.take_tensors(rows));
  for (int64_t row = 0; row < rows; ++row) {
    RILL_ASSIGN(const OutletId place, make_.constant(Tensor::scalar(row)));
    RILL_ASSIGN(const Wires each, make_.read("Gather", version_, {all.rows, place}, 0));
    out.push_back(each[0]);
  }
  return out;
}

Result<Sequence> Reader::frames(OutletId x, int64_t at, bool keeps_axis) {
  Sequence all;
  RILL_ASSIGN(all.rows, make_.moved(x, at, 0));
  if (!keeps_axis) return all;
  RILL_ASSIGN(all.rows, make_.call("unsqueeze", all.rows, "axes", {Dim(at + 1)}));
  return all;
}

/// Split a tensor. The reader of `Split` handles all forms of lists of parts.
Result<Sequence> Reader::split() {
  RILL_ASSIGN(const OutletId x, tensor(0));
  const Fact whole = fact(x);
  RILL_ASSIGN(const int64_t at, axis(whole.rank()));
  const bool keeps_axis = integer("keepdims", 1) != 0;
  if (!has(1)) return frames(x, at, keeps_axis);
  RILL_ASSIGN(OutletId sizes, tensor(1));
  if (fact(sizes).rank() == 0) {
    RILL_ASSIGN(const int64_t part, known(1, "the size of the parts"));
    if (part < 1) return fail(Code::kArg, "parts of ", counted(part, "frame"));
    // The standard ignores `keepdims` if parts are given. PyTorch exports `unbind` in this form for
    // onnxruntime, which drops the axis of parts of one frame.
    if (part == 1) return frames(x, at, keeps_axis);
    const Dim& extent = whole.dim(static_cast<int>(at));
    if (!extent.is_const()) {
      return fail(Code::kUnsupported, "the number of tensors of a split depends on the extent ",
                  extent)
          .hint("Set its symbols");
    }
    RILL_ASSIGN(const int64_t frames, extent.as_int());
    if (frames / part >= kMostInSequences) return fail(Code::kUnsupported, frames / part, " parts");
    if (frames == 0) return Sequence{};
    std::vector<int64_t> parts;
    for (int64_t from = 0; from < frames; from += part) {
      parts.push_back(std::min(part, frames - from));
    }
    RILL_ASSIGN(Tensor list, Tensor::of<int64_t>(DType::kI64,
                                                 {static_cast<int64_t>(parts.size())}, parts));
    RILL_ASSIGN(sizes, make_.constant(std::move(list)));
  }
  RILL_ASSIGN(Wires items, make_.read("Split", version_, {x, sizes}, at));
  return Sequence{std::move(items), {}};
}

Result<OutletId> Reader::concat(const Sequence& all) {
  const bool stacks = integer("new_axis", 0) != 0;
  if (!all.rows.valid()) {
    if (all.items.empty()) return stacked(all);
    RILL_ASSIGN(const int64_t at, axis(fact(all.items[0]).rank() + (stacks ? 1 : 0)));
    return make_.along(at, stacks ? "stack" : "concat", all.items);
  }
  RILL_ASSIGN(const int64_t at, axis(fact(all.rows).rank() - (stacks ? 0 : 1)));
  if (stacks) {
    RILL_ASSIGN(const OutletId rows, stacked(all));
    return make_.moved(rows, 0, at);
  }
  RILL_ASSIGN(const OutletId rows, make_.joined(all.rows, at));
  Wires items = all.items;
  items.push_back(rows);
  return items.size() == 1 ? Result<OutletId>(rows) : make_.along(at, "concat", items);
}

Result<OutletId> Reader::one(const Sequence& all) {
  if (!has(1)) return fail(Code::kParse, "input 1 is left out, expected a place in the sequence");
  RILL_ASSIGN(const OutletId place, tensor(1));
  if (fact(place).konst) {
    RILL_ASSIGN(const int64_t written, known(1, "the place in the sequence"));
    const auto items = static_cast<int64_t>(all.items.size());
    if (!all.rows.valid()) {
      RILL_ASSIGN(const int64_t at, place_of(written, items));
      return all.items[static_cast<size_t>(at)];
    }
    if (written >= 0 && written < items) return all.items[static_cast<size_t>(written)];
  }
  RILL_ASSIGN(const OutletId rows, stacked(all));
  RILL_ASSIGN(const Wires out, make_.read("Gather", version_, {rows, place}, 0));
  return out[0];
}

Status Reader::optional() {
  const bool none = !has(0) || env_.absent.contains(node_.inputs[0]);
  if (node_.op_type == "OptionalHasElement") return give(Tensor::scalar(!none));
  if (none) {
    if (node_.op_type == "OptionalGetElement") {
      return fail(Code::kUnsupported, "the node reads an optional value that is empty");
    }
    env_.absent.insert(output());
    return {};
  }
  RILL_ASSIGN(const Sequence* all, loader_.find_sequence(node_.inputs[0], &env_));
  if (all) return keep(*all);
  RILL_ASSIGN(const OutletId wire, tensor(0));
  return give(wire);
}

Status Reader::inserted() {
  RILL_ASSIGN(const Sequence* before, list(0));
  RILL_ASSIGN(const OutletId wire, tensor(1));
  Sequence all = *before;
  if (!has(2)) {
    if (!all.rows.valid()) {
      all.items.push_back(wire);
      return keep(std::move(all));
    }
    RILL_ASSIGN(const OutletId row, make_.along(0, "stack", {wire}));
    RILL_ASSIGN(all.rows, make_.along(0, "concat", {all.rows, row}));
    return keep(std::move(all));
  }
  RILL_ASSIGN(const int64_t written, known(2, "the place in the sequence"));
  const auto front = static_cast<int64_t>(all.items.size());
  if (all.rows.valid() && (written < 0 || written > front)) {
    RILL_ASSIGN(Wires items, listed(all));
    all = Sequence{std::move(items), {}};
  }
  // Negative places count from the end of the existing tensors.
  const auto count = static_cast<int64_t>(all.items.size());
  const int64_t at = written < 0 ? written + count : written;
  if (at < 0 || at > count) return fail(Code::kArg, "place ", written, " of ", count);
  all.items.insert(all.items.begin() + at, wire);
  return keep(std::move(all));
}

Status Reader::erased() {
  RILL_ASSIGN(const Sequence* before, list(0));
  RILL_ASSIGN(Wires items, listed(*before));
  const auto count = static_cast<int64_t>(items.size());
  int64_t written = -1;
  if (has(1)) {
    RILL_ASSIGN(written, known(1, "the place in the sequence"));
  }
  RILL_ASSIGN(const int64_t at, place_of(written, count));
  items.erase(items.begin() + at);
  return keep({std::move(items), {}});
}

Status Reader::run() {
  const std::string_view op = node_.op_type;
  if (op == "SequenceEmpty") return keep({});
  if (op == "SequenceConstruct") {
    Sequence all;
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      RILL_ASSIGN(const OutletId wire, tensor(i));
      all.items.push_back(wire);
    }
    return keep(std::move(all));
  }
  if (op == "SplitToSequence") {
    RILL_ASSIGN(Sequence all, split());
    return keep(std::move(all));
  }
  if (op == "SequenceInsert") return inserted();
  if (op == "SequenceErase") return erased();
  if (op.starts_with("Optional")) return optional();
  RILL_ASSIGN(const Sequence* all, list(0));
  if (op == "SequenceLength") {
    Dim count(static_cast<int64_t>(all->items.size()));
    if (all->rows.valid()) count = count + fact(all->rows).dim(0);
    const auto number = count.to_int();
    return give(number ? Tensor::scalar(*number) : Tensor::scalar(count));
  }
  if (op == "SequenceAt") {
    RILL_ASSIGN(const OutletId wire, one(*all));
    return give(wire);
  }
  if (op == "ConcatFromSequence") {
    RILL_ASSIGN(const OutletId wire, concat(*all));
    return give(wire);
  }
  return keep(*all);  // Identity
}

Status Reader::keep(Sequence all) {
  return loader_.keep_sequence(output(), std::move(all), &env_);
}

Status Reader::give(OutletId wire) { return loader_.bind_outputs(node_, {wire}, &env_); }

Status Reader::give(Tensor value) {
  RILL_ASSIGN(const OutletId wire, make_.constant(std::move(value)));
  return give(wire);
}

}  // namespace

std::span<const std::pair<std::string_view, int>> sequence_operators() { return kOperators; }

bool is_sequence(std::string_view name, const Env& env) {
  for (const Env* at = &env; at; at = at->outer) {
    if (at->lists.contains(name)) return true;
    if (at->values.contains(name) || at->constants.contains(name)) return false;
  }
  return false;
}

bool is_of_sequences(const NodeProto& node, const Env& env) {
  if (!node.domain.empty()) return false;
  const auto is_it = [&](const auto& each) { return each.first == node.op_type; };
  if (any_of(kOperators, is_it)) return true;
  return node.op_type == "Identity" && !node.inputs.empty() && is_sequence(node.inputs[0], env);
}

Status run_sequences(const NodeProto& node, int64_t version, const std::string& name,
                     Loader* loader, Env* env) {
  return Reader(node, version, name, loader, env).run();
}

}  // namespace rill::onnx
