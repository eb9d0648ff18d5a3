#include "core/optim/precision.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/search.h"
#include "core/graph/course.h"
#include "core/graph/some_fields.h"

namespace rill {
namespace {

constexpr double kBeyond = 65520;  // rounds to infinity in f16

/// The constants among the attributes of an op.
class Constants final : public SomeFields {
 public:
  using SomeFields::field;
  void field(const char*, TensorPtr& value) override {
    if (value) found.push_back(value);
  }
  std::vector<TensorPtr> found;
};

/// Return the first element of a constant that a narrow type cannot represent; nothing if it can
/// represent all.
std::optional<double> misfit(const Tensor& constant, DType narrow, Fit fit) {
  const DType type = constant.dtype();
  if (narrow != DType::kF16 || (type != DType::kF32 && type != DType::kF64)) return std::nullopt;
  if (constant.block_format() != BlockFormat::kNone) return std::nullopt;
  constexpr double kLeastNormal = 0x1p-14;  // below, f16 loses precision
  constexpr double kLeast = 0x1p-24;
  double largest = 0;
  std::optional<double> small;
  for (int64_t i = 0; i < constant.volume(); ++i) {
    const auto element = element_as_double(constant, i);
    if (!element.ok() || !std::isfinite(*element)) continue;
    const double size = std::abs(*element);
    if (size >= kBeyond) return *element;
    largest = std::max(largest, size);
    const bool exact = size >= kLeastNormal || std::fmod(size, kLeast) == 0;
    if (!exact && !small) small = *element;
  }
  const bool lost = small && (fit == Fit::kEveryElement || largest < kLeastNormal);
  return lost ? small : std::nullopt;
}

class Finder {
 public:
  Finder(const Graph& graph, DType narrow)
      : graph_(graph), narrow_(narrow), nodes_(graph.nodes.size()) {}

  Chains find() {
    for (size_t id = 0; id < nodes_.size(); ++id) begin_or_follow(id);
    add_terms();
    trim();
    drop_single();
    Chains out;
    for (const State& state : nodes_) out.nodes.push_back(state.member);
    out.notes = std::move(notes_);
    return out;
  }

 private:
  struct State {
    Precision role = Precision::kRounds;
    bool member = false;
    bool leads = false;    ///< the next operator belongs to the chain too
    bool terms = false;  ///< its elements are terms of a sum
    bool misfit = false;   ///< it reads a constant that does not fit the narrow type
    bool read = false;  ///< a member of the chain reads it
    size_t chain = 0;      ///< the first node of its chain
  };

  Precision role_of(const Node& node) const;
  bool reads_misfit(const Node& node, Precision role);
  void note(const Node& node, double constant, std::string_view of);
  void begin_or_follow(size_t id);
  void add_terms();
  void trim();
  void drop_single();
  size_t chain_of(size_t id);
  /// Call `visit` with the state of every node that produces a float input.
  template <class Visit>
  void each_input(size_t id, Visit visit) {
    for (const OutletId& input : graph_.nodes[id].inputs) {
      if (is_float(graph_.fact(input).dtype)) visit(static_cast<size_t>(input.node));
    }
  }

  const Graph& graph_;
  DType narrow_;
  std::vector<State> nodes_;
  std::vector<std::string> notes_;
};

Precision Finder::role_of(const Node& node) const {
  if (node.inputs.empty()) return Precision::kRounds;
  const OpTraits traits = node.op->traits();
  const Course course = node.op->course();
  if (course.is(Course::Function::kMul) && node.inputs[0] == node.inputs[1]) {
    return Precision::kGrows;
  }
  if (course.is(Course::Function::kPow)) {
    const TensorPtr& power = graph_.fact(node.inputs[1]).konst;
    const bool square = power && power->volume() == 1 && *element_as_double(*power, 0) == 2;
    return square ? Precision::kGrows : Precision::kFollows;
  }
  if (traits.precision == Precision::kRoundsAtEnd) return Precision::kMoves;
  const DType from = graph_.fact(node.inputs[0]).dtype;
  // Products with weights are about as large as their input; products of two computed tensors, such
  // as attention scores, are larger.
  const bool weighs = node.inputs.size() > 1 &&
                      any_of(node.inputs, [&](OutletId input) { return graph_.fact(input).konst; });
  if (traits.precision == Precision::kGrows && (weighs || !is_float(from))) {
    return Precision::kRounds;
  }
  const bool converts = traits.precision == Precision::kMoves && is_float(node.outputs[0].dtype);
  if (!converts || is_float(from)) return traits.precision;
  // f16 and bf16 cannot represent all integers of more than 8 bits.
  const bool counts = from == DType::kDim || (is_int(from) && !is_byte(from));
  return counts ? Precision::kGrows : Precision::kRounds;
}

/// Report a constant that would become 0 or infinite, but not one that would only lose precision.
void Finder::note(const Node& node, double constant, std::string_view of) {
  constexpr double kRoundsToZero = 0x1p-25;
  if (std::abs(constant) > kRoundsToZero && std::abs(constant) < kBeyond) return;
  notes_.push_back(str_cat("Node \"", node.name, "\" stays in f32: ", dtype_lower_name(narrow_),
                           " cannot hold ", static_cast<float>(constant), of));
}

bool Finder::reads_misfit(const Node& node, Precision role) {
  if (node.inputs.empty() || node.op->nested()) return false;
  const Fit fit = role == Precision::kRounds ? Fit::kLargestElement : Fit::kEveryElement;
  Constants own;
  node.op->clone()->fields(own);
  for (const TensorPtr& value : own.found) {
    const auto found = misfit(*value, narrow_, fit);
    if (!found) continue;
    note(node, *found, "");
    return true;
  }
  for (const OutletId& input : node.inputs) {
    const TensorPtr& value = graph_.fact(input).konst;
    const auto found = value ? misfit(*value, narrow_, fit) : std::nullopt;
    if (!found) continue;
    note(node, *found, str_cat(" of \"", graph_.node(input.node).name, "\""));
    return true;
  }
  return false;
}

void Finder::begin_or_follow(size_t id) {
  const Node& node = graph_.nodes[id];
  State& state = nodes_[id];
  state.role = role_of(node);
  state.misfit = reads_misfit(node, state.role);
  bool leads = state.misfit || state.role == Precision::kGrows || state.role == Precision::kSums;
  if (state.role != Precision::kRounds) {
    each_input(id, [&](size_t input) { leads |= nodes_[input].leads; });
  }
  state.member = state.leads = leads;
}

/// Add the terms of a sum to its chain, so that they are not rounded before the sum.
void Finder::add_terms() {
  for (size_t id = nodes_.size(); id-- > 0;) {
    State& state = nodes_[id];
    if (state.role != Precision::kSums && !state.terms) continue;
    each_input(id, [&](size_t input) {
      State& before = nodes_[input];
      if (before.role != Precision::kRounds) before.member = before.terms = true;
    });
  }
}

/// Remove operators that only move elements from the ends of chains: rounding before or after them
/// gives the same result, and narrow elements need less memory.
void Finder::trim() {
  for (size_t id = nodes_.size(); id-- > 0;) {
    State& state = nodes_[id];
    if (state.role == Precision::kMoves && !state.read && !state.misfit) state.member = false;
    if (state.member) each_input(id, [&](size_t input) { nodes_[input].read = true; });
  }
  for (size_t id = 0; id < nodes_.size(); ++id) {
    State& state = nodes_[id];
    if (state.role != Precision::kMoves || state.misfit) continue;
    bool any = false;
    each_input(id, [&](size_t input) { any |= nodes_[input].member; });
    state.member &= any;
  }
}

size_t Finder::chain_of(size_t id) {
  while (nodes_[id].chain != id) id = nodes_[id].chain = nodes_[nodes_[id].chain].chain;
  return id;
}

/// Drop chains of one operator, which are useless: the operator itself computes in f32 and rounds
/// its result.
void Finder::drop_single() {
  for (size_t id = 0; id < nodes_.size(); ++id) {
    nodes_[id].chain = id;
    if (!nodes_[id].member) continue;
    each_input(id, [&](size_t input) {
      if (nodes_[input].member) nodes_[chain_of(id)].chain = chain_of(input);
    });
  }
  std::vector<int> weight(nodes_.size(), 0);
  for (size_t id = 0; id < nodes_.size(); ++id) {
    const State& state = nodes_[id];
    if (!state.member) continue;
    const int computes = state.role == Precision::kMoves ? 0 : 1;
    weight[chain_of(id)] += state.misfit ? 2 : computes;
  }
  for (size_t id = 0; id < nodes_.size(); ++id) {
    nodes_[id].member = nodes_[id].member && weight[chain_of(id)] >= 2;
  }
}

/// Replaces the narrow type, and constants of this type, in the attributes of an op by f32.
class Upcaster final : public SomeFields {
 public:
  using SomeFields::field;
  explicit Upcaster(DType narrow) : narrow_(narrow) {}
  void field(const char*, DType& value) override {
    if (value == narrow_) value = DType::kF32;
  }
  void field(const char*, TensorPtr& value) override {
    if (!value || value->dtype() != narrow_) return;
    auto wide = rill::cast(*value, DType::kF32);
    if (wide.ok()) value = std::make_shared<const Tensor>(std::move(wide).value());
  }

 private:
  DType narrow_;
};

/// Sets the type that an op casts to.
class Target final : public SomeFields {
 public:
  using SomeFields::field;
  explicit Target(DType to) : to_(to) {}
  void field(const char*, DType& value) override { value = to_; }

 private:
  DType to_;
};

const OpClass* cast_class(std::span<const OpModule* const> modules) {
  for (const OpModule* module : modules) {
    for (const OpClass& each : module->classes) {
      if (std::string_view(each.name) == "Cast") return &each;
    }
  }
  return nullptr;
}

bool rounds_at_end(const Node& node) {
  return node.op->traits().precision == Precision::kRoundsAtEnd;
}

/// Copies a graph, computing its chains in f32.
class Upcasting {
 public:
  Upcasting(const Graph& graph, DType narrow, const std::vector<bool>& chained, const OpClass& cast)
      : graph_(graph),
        narrow_(narrow),
        chained_(chained),
        cast_(cast),
        out_(empty_like(graph)) {
    for (const Node& node : graph.nodes) wires_.emplace_back(node.outputs.size());
  }

  Result<Graph> run() {
    for (size_t id = 0; id < graph_.nodes.size(); ++id) RILL_TRY(node(static_cast<int>(id)));
    for (const OutletId& input : graph_.inputs) out_.inputs.push_back(wires(input).own);
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      RILL_ASSIGN(const OutletId wire, own(graph_.outputs[i]));
      out_.add_output(graph_.output_names[i], wire);
    }
    return std::move(out_).compacted();
  }

 private:
  /// A wire of the old graph in its own type and in f32; each is invalid until a node needs it.
  struct Wires {
    OutletId own;
    OutletId wide;
  };

  Wires& wires(OutletId old) {
    return wires_[static_cast<size_t>(old.node)][static_cast<size_t>(old.slot)];
  }
  Result<OutletId> own(OutletId old);
  Result<OutletId> wide(OutletId old);
  Status node(int id);
  Status round_at_end(int id);
  OpPtr in_f32(const Node& node) const;
  /// Cast a wire of the new graph.
  Result<OutletId> cast(OutletId wire, DType to, std::string_view name, int line);

  const Graph& graph_;
  DType narrow_;
  const std::vector<bool>& chained_;
  const OpClass& cast_;
  Graph out_;
  std::vector<std::vector<Wires>> wires_;
};

Result<OutletId> Upcasting::cast(OutletId wire, DType to, std::string_view name, int line) {
  std::shared_ptr<Op> op = cast_.make();
  Target target(to);
  op->fields(target);
  RILL_ASSIGN(const auto outlets, out_.add_folded(name, std::move(op), {wire}, line));
  return outlets[0];
}

Result<OutletId> Upcasting::own(OutletId old) {
  Wires& found = wires(old);
  if (found.own.valid()) return found.own;
  const Node& from = graph_.node(old.node);
  RILL_ASSIGN(found.own, cast(found.wide, graph_.fact(old).dtype, str_cat(from.name, "_rounded"),
                              from.line));
  return found.own;
}

Result<OutletId> Upcasting::wide(OutletId old) {
  Wires& found = wires(old);
  if (graph_.fact(old).dtype != narrow_) return own(old);
  if (found.wide.valid()) return found.wide;
  const Node& from = graph_.node(old.node);
  RILL_ASSIGN(found.wide, cast(found.own, DType::kF32, str_cat(from.name, "_wide"), from.line));
  return found.wide;
}

/// Return the op for f32 inputs; null if it does not support them.
OpPtr Upcasting::in_f32(const Node& node) const {
  std::shared_ptr<Op> op = node.op->clone();
  Upcaster widener(narrow_);
  op->fields(widener);
  Facts in;
  for (const OutletId& input : node.inputs) {
    Fact fact = graph_.fact(input);
    if (fact.dtype == narrow_) fact = Fact::of(DType::kF32, fact.shape);
    in.push_back(std::move(fact));
  }
  return op->infer(in).ok() ? op : nullptr;
}

Status Upcasting::round_at_end(int id) {
  const Node& node = graph_.node(id);
  const DType to = node.outputs[0].dtype;
  RILL_ASSIGN(const OutletId x, wide(node.inputs[0]));
  Wires& made = wires({id, 0});
  RILL_ASSIGN(made.own, cast(x, to, node.name, node.line));
  if (to == narrow_ && out_.fact(x).dtype == DType::kF32) made.wide = x;
  return {};
}

Status Upcasting::node(int id) {
  const Node& node = graph_.node(id);
  if (node.inputs.empty()) {
    const std::vector<OutletId> same = out_.add_known(node, {});
    for (size_t slot = 0; slot < same.size(); ++slot) {
      wires({id, static_cast<int>(slot)}).own = same[slot];
    }
    return {};
  }
  if (rounds_at_end(node)) return round_at_end(id);
  OpPtr op = chained_[static_cast<size_t>(id)] ? in_f32(node) : nullptr;
  const bool upcast = op != nullptr;
  if (!op) op = node.op;
  std::vector<OutletId> inputs;
  for (const OutletId& input : node.inputs) {
    RILL_ASSIGN(const OutletId wire, upcast ? wide(input) : own(input));
    inputs.push_back(wire);
  }
  RILL_ASSIGN(const auto outlets, out_.add_folded(node.name, std::move(op), inputs, node.line));
  for (size_t slot = 0; slot < outlets.size(); ++slot) {
    const bool other = out_.fact(outlets[slot]).dtype != node.outputs[slot].dtype;
    Wires& made = wires({id, static_cast<int>(slot)});
    (other ? made.wide : made.own) = outlets[slot];
  }
  return {};
}

}  // namespace

bool fits(const Tensor& constant, DType narrow, Fit fit) { return !misfit(constant, narrow, fit); }

Chains chains_of(const Graph& graph, DType narrow) { return Finder(graph, narrow).find(); }

Result<Graph> upcast_chains(Graph graph, std::span<const OpModule* const> modules,
                            bool as_written) {
  const OpClass* cast = cast_class(modules);
  if (!cast) return graph;
  for (const DType narrow : {DType::kF16, DType::kBF16}) {
    const auto is_narrow = [&](const Fact& fact) { return fact.dtype == narrow; };
    const auto has_narrow = [&](const Node& node) { return any_of(node.outputs, is_narrow); };
    if (!any_of(graph.nodes, has_narrow)) continue;
    const std::vector<bool> chained = as_written ? std::vector<bool>(graph.nodes.size())
                                                 : chains_of(graph, narrow).nodes;
    if (!any_of(graph.nodes, rounds_at_end) && !contains(chained, true)) continue;
    RILL_ASSIGN(graph, Upcasting(graph, narrow, chained, *cast).run());
  }
  return graph;
}

}  // namespace rill
