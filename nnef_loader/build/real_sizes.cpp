#include "nnef_loader/build/real_sizes.h"

#include <algorithm>

#include "core/base/search.h"
#include "core/dim/lines.h"
#include "core/dim/pattern.h"
#include "core/graph/course.h"
#include "nnef_loader/build/builder.h"

namespace rill::nnef {
namespace {

/// Return whether two expressions are equal for all values of their one symbol.
bool always_equal(const Dim& a, const Dim& b) {
  const Dim apart = a - b;
  if (const auto number = apart.to_int()) return *number == 0;
  std::vector<std::string> symbols;
  apart.collect_symbols(&symbols);
  if (!apart.valid() || symbols.size() != 1) return false;
  // Most expressions that differ do so at small sizes, which are quick to try.
  constexpr int64_t kSmall = 64;
  for (int64_t size = 0; size < kSmall; ++size) {
    if (apart.eval(symbols[0], size).value_or(0) != 0) return false;
  }
  if (never_negative(apart) && never_negative(-apart)) return true;
  const auto pattern = DimPattern::of(apart, symbols[0]);
  if (!pattern.ok()) return false;
  const auto least = pattern->least(0);
  const auto greatest = pattern->greatest(0);
  return least.ok() && greatest.ok() && *least && *greatest && **least == 0 && **greatest == 0;
}

/// Return the elements of a value of integers; nothing for other values.
std::optional<std::vector<Dim>> numbers_of(const Tensor& value) {
  if (is_float(value.dtype()) || value.dtype() == DType::kString) return std::nullopt;
  std::vector<Dim> out;
  for (int64_t i = 0; i < value.volume(); ++i) {
    auto number = element_as_dim(value, i);
    if (!number.ok()) return std::nullopt;
    out.push_back(std::move(number).value());
  }
  return out;
}

}  // namespace

void add_wires(const Value& value, std::vector<OutletId>* out) {
  if (const auto* wire = value.get<OutletId>()) {
    out->push_back(*wire);
  } else if (const auto* list = value.get<List>()) {
    for (const Value& item : *list) add_wires(item, out);
  }
}

Value moved(const Value& value, const std::map<OutletId, OutletId>& moves) {
  if (const auto* wire = value.get<OutletId>()) {
    const auto at = moves.find(*wire);
    return at == moves.end() ? value : Value(at->second);
  }
  const auto* list = value.get<List>();
  if (!list) return value;
  List out;
  for (const Value& item : *list) out.push_back(moved(item, moves));
  return Value(std::move(out));
}

void add_taken(const SymbolScope& nested, SymbolScope* outer) {
  for (const SymbolScope::Taken& taken : nested.taken()) outer->take_number(taken);
}

Result<std::vector<OutletId>> RealSizes::repeat(Target* target, const SizesCall& call, Sizes sizes,
                                                Target* beside) {
  Graph& graph = beside->graph;
  graph.scope = target->graph.scope.without_extents();
  std::map<OutletId, OutletId> moves;
  for (const OutletId wire : call.wires) {
    if (!wire.valid() || moves.contains(wire)) continue;
    Fact fact = sizes == Sizes::kReal ? target->sizes.fact(&target->graph, wire)
                                      : target->graph.fact(wire);
    moves[wire] =
        fact.konst ? graph.add_const("c", fact.konst) : graph.add_source("x", std::move(fact));
  }
  RILL_ASSIGN(const Value value, call.again(beside, moves));
  std::vector<OutletId> outlets;
  add_wires(value, &outlets);
  return outlets;
}

Result<std::vector<TensorPtr>> RealSizes::real_results(Target* target, const SizesCall& call) {
  Target beside;
  RILL_ASSIGN(const std::vector<OutletId> outlets, repeat(target, call, Sizes::kReal, &beside));
  std::vector<TensorPtr> out;
  for (const OutletId outlet : outlets) {
    out.push_back(outlet.valid() ? beside.graph.fact(outlet).konst : nullptr);
  }
  return out;
}

namespace {

/// Return the course of a node that counts from a number; nothing for other nodes.
std::optional<Course> counting(const Graph& graph, OutletId wire) {
  if (!wire.valid()) return std::nullopt;
  const Course course = graph.node(wire.node).op->course();
  const bool counts = course.is(Course::Form::kCounted) && course.begin && course.begin->is_const();
  return counts ? std::optional(course) : std::nullopt;
}

/// Return the slices, last first, through which a call made a result from one of its wires.
std::vector<Course> cuts_of(const Graph& graph, OutletId result, std::span<const OutletId> wires) {
  constexpr int kMostNodes = 8;
  std::vector<Course> out;
  for (int i = 0; i < kMostNodes && result.valid(); ++i) {
    if (std::find(wires.begin(), wires.end(), result) != wires.end()) return out;
    const Node& node = graph.node(result.node);
    const Course course = node.op->course();
    if (course.is(Course::Form::kCut)) out.push_back(course);
    if (node.inputs.empty()) break;
    result = node.inputs[0];
  }
  return out;
}

/// Return the slices, last first, that alone make a result from one of a call's wires; nothing if
/// other nodes take part.
std::optional<std::vector<Course>> only_cuts_of(const Graph& graph, OutletId result,
                                                std::span<const OutletId> wires) {
  std::vector<Course> out;
  while (result.valid() && std::find(wires.begin(), wires.end(), result) == wires.end()) {
    const Node& node = graph.node(result.node);
    const Course course = node.op->course();
    if (!course.is(Course::Form::kCut) || node.inputs.empty()) return std::nullopt;
    out.push_back(course);
    result = node.inputs[0];
  }
  return result.valid() && !out.empty() ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace

/// Follow a call that counts from a constant up to a length. Its elements are right if its length
/// is, and a negative length means none, so compare the lengths alone.
bool RealSizes::follow_places(Target* target, const SizesCall& call) {
  Graph& graph = target->graph;
  if (!call.again || call.outlets.size() != 1) return false;
  const OutletId own = call.outlets[0];
  const auto course = counting(graph, own);
  if (!course) return false;
  Target beside;
  const auto outlets = repeat(target, call, Sizes::kReal, &beside);
  if (!outlets.ok() || outlets->size() != 1) return false;
  const auto real = counting(beside.graph, outlets->front());
  const bool agree = real && *real->begin == *course->begin && real->step == course->step;
  Fact places = beside.graph.fact(outlets->front());
  if (!agree || places.rank() != 1 || graph.fact(own).rank() != 1) return false;
  const Dim counted = graph.fact(own).dim(0);
  follow_up_to(&graph, own.node);
  places.shape[0] = real_extent(places.dim(0), counted);
  take_number(&graph, max(Dim(0), counted), places.dim(0), {call.node, call.op});
  if (!(places.dim(0) == counted)) {
    made_[static_cast<size_t>(own.node)] = std::make_unique<const Facts>(one_fact(places));
  }
  return true;
}

/// Follow a call that slices by numbers that are counted wrong. A slice is empty wherever it ends
/// before it begins, so only other ends matter.
bool RealSizes::follow_ends(Target* target, const SizesCall& call) {
  Graph& graph = target->graph;
  if (!call.again || call.outlets.size() != 1) return false;
  const auto own = only_cuts_of(graph, call.outlets[0], call.wires);
  if (!own) return false;
  Target beside;
  const auto outlets = repeat(target, call, Sizes::kReal, &beside);
  if (!outlets.ok() || outlets->size() != 1) return false;
  const std::vector<OutletId> wires = beside.graph.inputs;
  const auto real = only_cuts_of(beside.graph, outlets->front(), wires);
  if (!real || own->size() != real->size()) return false;
  refresh(graph.scope);
  for (size_t i = 0; i < own->size(); ++i) {
    const Course& a = (*own)[i];
    const Course& b = (*real)[i];
    if (a.axis() != b.axis() || !(*a.begin == *b.begin) || !is_length(*a.begin)) return false;
  }
  const Reader reader{call.node, call.op};
  for (size_t i = 0; i < own->size(); ++i) {
    const Dim& begin = *(*own)[i].begin;
    const Dim counted = max(begin, *(*own)[i].end);
    const Dim end = max(begin, *(*real)[i].end);
    take_number(&graph, counted, end, reader);
  }
  return true;
}

/// Follow a call that slices. The scope assumes that extents are at least 0, and may simplify the
/// ends of slices accordingly. Sizes at which that changes an end are refused.
void RealSizes::follow_cuts(Target* target, const SizesCall& call) {
  Graph& graph = target->graph;
  if (!call.again || call.outlets.size() != 1 || !presumes(graph.scope)) return;
  const std::vector<Course> own = cuts_of(graph, call.outlets[0], call.wires);
  const bool is_input =
      std::find(call.wires.begin(), call.wires.end(), call.outlets[0]) != call.wires.end();
  if (own.empty() && !is_input) return;
  Target beside;
  const auto outlets = repeat(target, call, Sizes::kCounted, &beside);
  if (!outlets.ok() || outlets->size() != 1) return;
  std::vector<OutletId> wires = beside.graph.inputs;
  const std::vector<Course> other = cuts_of(beside.graph, outlets->front(), wires);
  const Reader reader{call.node, call.op};
  if (own.size() != other.size()) return take_extents(&graph, reader);
  for (size_t i = 0; i < own.size(); ++i) {
    for (const auto& [counted, real] :
         {std::pair(own[i].begin, other[i].begin), std::pair(own[i].end, other[i].end)}) {
      if (counted->is_const() && real->is_const() && !(*counted == *real)) {
        take_extents(&graph, reader);
      } else {
        take_number(&graph, *counted, *real, reader);
      }
    }
  }
}

/// Return whether the scope assumes that some extent is at least 0 although it may be negative.
bool RealSizes::presumes(const SymbolScope& scope) {
  const auto& extents = scope.extents();
  if (extents.empty()) return false;
  refresh(scope);
  if (extents.size() < extents_) {
    presumed_.clear();
    extents_ = 0;
  }
  for (; extents_ < extents.size(); ++extents_) {
    const Dim& extent = extents[extents_].non_negative.front();
    if (!is_length(extent)) presumed_.push_back(extent);
  }
  return !presumed_.empty();
}

/// Record the extents that the scope assumes to be at least 0.
void RealSizes::take_extents(Graph* graph, const Reader& reader) {
  if (!presumes(graph->scope)) return;
  for (const Dim& extent : std::vector(presumed_)) {
    take_number(graph, extent, max(Dim(0), extent), reader);
  }
}

/// Return the value of a known wire in which real numbers replace counted ones, if both are
/// constants; nothing if no number changes.
std::optional<Tensor> RealSizes::corrected(const Graph& graph, OutletId wire) const {
  const TensorPtr other = value(wire);
  const TensorPtr& own = graph.fact(wire).konst;
  if (!other) return std::nullopt;
  auto numbers = numbers_of(*own);
  const auto real = numbers_of(*other);
  if (!numbers || !real || numbers->size() != real->size()) return std::nullopt;
  bool differ = false;
  for (size_t i = 0; i < real->size(); ++i) {
    Dim& number = (*numbers)[i];
    if (!number.is_const() || !(*real)[i].is_const() || number == (*real)[i]) continue;
    number = (*real)[i];
    differ = true;
  }
  auto list = Tensor::dims(*numbers).reshaped(own->shape());
  if (!differ || !list.ok()) return std::nullopt;
  if (own->dtype() != DType::kDim) list = cast(*list, own->dtype());
  return list.ok() ? std::optional(std::move(list).value()) : std::nullopt;
}

std::map<OutletId, OutletId> RealSizes::follow(Target* target, const SizesCall& call) {
  std::map<OutletId, OutletId> out;
  Graph& graph = target->graph;
  const auto is_known = [&](OutletId wire) { return wire.valid() && graph.fact(wire).konst; };
  const bool known = !call.outlets.empty() && all_of(call.outlets, is_known);
  // The scope assumes that extents are at least 0, which may have decided some numbers.
  const bool decides = known && presumes(graph.scope);
  const auto matters = [&](OutletId wire) {
    if (!wire.valid()) return false;
    if (is_known(wire) && graph.fact(wire).dtype == DType::kDim && decides) return true;
    return (known || is_known(wire)) && differs(&graph, wire);
  };
  const bool any = any_of(call.wires, matters);
  if (any && !known && follow_ends(target, call)) return out;
  if (!known) follow_cuts(target, call);
  if (!any) return out;
  if (known && call.again) {
    const auto real = real_results(target, call);
    const auto is_there = [](const TensorPtr& value) { return value != nullptr; };
    if (real.ok() && real->size() == call.outlets.size() && all_of(*real, is_there)) {
      for (size_t i = 0; i < call.outlets.size(); ++i) {
        const OutletId outlet = call.outlets[i];
        set_value(graph, outlet, (*real)[i]);
        auto right = corrected(graph, outlet);
        if (!right) continue;
        const OutletId constant = graph.add_const(
            target->names.claim(call.node), std::make_shared<const Tensor>(std::move(*right)));
        set_value(graph, constant, (*real)[i]);
        out[outlet] = constant;
      }
      return out;
    }
  }
  if (!known && follow_places(target, call)) return out;
  const Reader reader{call.node, call.op};
  for (const OutletId wire : call.wires) {
    if (wire.valid() && (known || is_known(wire))) take(&graph, wire, reader);
  }
  if (decides) take_extents(&graph, reader);
  return out;
}

void RealSizes::refresh(const SymbolScope& scope) {
  if (scope.assertions().size() == assertions_ && scope_.symbols() == scope.symbols()) return;
  scope_ = scope.without_extents();
  assertions_ = scope.assertions().size();
  forget();
  for (const Dim& length : ensured_) scope_.take_as_extent(length);
}

Fact RealSizes::fact(Graph* graph, OutletId wire) {
  if (const auto at = values_.find(wire); at != values_.end()) return Fact::of_tensor(at->second);
  if (graph->fact(wire).konst) return graph->fact(wire);
  follow_up_to(graph, wire.node);
  const FactsPtr& facts = made_[static_cast<size_t>(wire.node)];
  return facts ? (*facts)[static_cast<size_t>(wire.slot)] : graph->fact(wire);
}

bool RealSizes::differs(Graph* graph, OutletId wire) {
  if (graph->fact(wire).konst) return values_.contains(wire);
  follow_up_to(graph, wire.node);
  return made_[static_cast<size_t>(wire.node)] != nullptr;
}

void RealSizes::set_value(const Graph& graph, OutletId wire, const TensorPtr& real) {
  const auto counted = numbers_of(*graph.fact(wire).konst);
  const auto values = numbers_of(*real);
  if (counted && values && *counted == *values) {
    values_.erase(wire);
  } else {
    values_[wire] = real;
  }
}

TensorPtr RealSizes::value(OutletId wire) const {
  const auto at = values_.find(wire);
  return at == values_.end() ? nullptr : at->second;
}

void RealSizes::follow_up_to(Graph* graph, int node) {
  if (static_cast<size_t>(node) < made_.size()) return;
  refresh(graph->scope);
  while (made_.size() <= static_cast<size_t>(node)) {
    made_.push_back(real_facts(graph, graph->nodes[made_.size()]));
  }
}

/// Return whether a node computes no new extent: if the extents of its inputs are right, so are
/// those of its outputs.
bool RealSizes::counts_right(const Graph& graph, const Node& node) {
  if (node.op->course().is(Course::Form::kCut)) return false;
  const auto is_known = [&](const Dim& extent) {
    const auto has_it = [&](OutletId input) { return contains(graph.fact(input).shape, extent); };
    if (any_of(node.inputs, has_it)) return true;
    return !presumes(graph.scope) && is_length(extent);
  };
  return all_of(node.outputs, [&](const Fact& fact) { return all_of(fact.shape, is_known); });
}

namespace {

/// Clamp the ends of a slice to its axis, as NumPy does: the graph may suppose that they lie in it.
void cut(const Node& node, const Facts& in, Facts* out) {
  const Course course = node.op->course();
  const int axis = course.axis();
  if (!course.is(Course::Form::kCut) || axis < 0 || out->front().rank() <= axis) return;
  const Dim begin = max(Dim(0), *course.begin);
  out->front().shape[static_cast<size_t>(axis)] = min(*course.end, in[0].dim(axis)) - begin;
}

/// Return whether attributes of an operator were written for sizes.
bool is_written_for_sizes(const Op& op, const SymbolScope& scope) {
  return any_of(scope.symbols(), [&](const std::string& symbol) {
    return op.with_symbol(symbol, Dim(1)) != nullptr;
  });
}

}  // namespace

RealSizes::FactsPtr RealSizes::real_facts(Graph* graph, const Node& node) {
  if (node.inputs.empty()) return nullptr;
  Facts in;
  bool differ = false;
  bool shifted = false;  // an extent is not the counted one or 0
  for (const OutletId& input : node.inputs) {
    const FactsPtr& facts = made_[static_cast<size_t>(input.node)];
    in.push_back(facts ? (*facts)[static_cast<size_t>(input.slot)] : graph->fact(input));
    differ |= facts != nullptr;
    for (int axis = 0; facts && axis < in.back().rank(); ++axis) {
      const Dim& counted = graph->fact(input).dim(axis);
      const Dim& real = in.back().dim(axis);
      shifted |= !(real == counted) && !(real == at_least_0(counted));
    }
  }
  if (!differ && counts_right(*graph, node)) return nullptr;
  if (!shifted || !is_written_for_sizes(*node.op, graph->scope)) {
    auto inferred = node.op->infer(in);
    if (inferred.ok()) cut(node, in, &*inferred);
    if (inferred.ok() && clamp_to(node, &*inferred)) return as_made(node, *std::move(inferred));
  }
  // The operator suits counted extents only, so they must be right.
  for (const OutletId& input : node.inputs) take(graph, input, {node.name, node.op->name()});
  Facts counted = node.outputs;
  clamp_to(node, &counted);
  return as_made(node, std::move(counted));
}

/// Replace negative extents by 0. Return whether the facts suit the outputs of the node.
bool RealSizes::clamp_to(const Node& node, Facts* facts) {
  if (facts->size() != node.outputs.size()) return false;
  for (size_t slot = 0; slot < facts->size(); ++slot) {
    const Fact& counted = node.outputs[slot];
    Fact& real = (*facts)[slot];
    if (real.rank() != counted.rank()) return false;
    for (int axis = 0; axis < counted.rank(); ++axis) {
      Dim& extent = real.shape[static_cast<size_t>(axis)];
      extent = real_extent(extent, counted.dim(axis));
      if (!extent.valid()) return false;
    }
  }
  return true;
}

/// Return facts to keep; null if they are those of the node.
RealSizes::FactsPtr RealSizes::as_made(const Node& node, Facts facts) {
  for (size_t slot = 0; slot < facts.size(); ++slot) {
    if (facts[slot].shape != node.outputs[slot].shape) {
      return std::make_unique<const Facts>(std::move(facts));
    }
  }
  return nullptr;
}

/// Clear the caches that depend on the scope.
void RealSizes::forget() {
  clamped_.clear();
  lengths_.clear();
  from_0_.clear();
}

/// Return an extent, or 0 where the counted one is negative.
Dim RealSizes::at_least_0(const Dim& counted) {
  if (is_length(counted)) return counted;
  const auto [at, fresh] = from_0_.try_emplace(counted.to_string());
  if (fresh) at->second = scope_.simplify(max(Dim(0), counted));
  return at->second;
}

/// Return whether an expression is at least 0 at all sizes.
bool RealSizes::is_length(const Dim& dim) {
  if (const auto number = dim.to_int()) return *number >= 0;
  if (!dim.valid()) return false;
  const auto [at, fresh] = lengths_.try_emplace(dim.to_string(), false);
  if (fresh) at->second = never_negative(dim) || scope_.proves_non_negative(dim);
  return at->second;
}

Dim RealSizes::real_extent(const Dim& inferred, const Dim& counted) {
  if (inferred == counted && is_length(counted)) return counted;
  if (inferred.is_const() || !inferred.valid()) return clamped_extent(inferred, counted);
  const std::pair key(inferred.to_string(), counted.to_string());
  if (const auto at = clamped_.find(key); at != clamped_.end()) return at->second;
  return clamped_[key] = clamped_extent(inferred, counted);
}

/// Return an extent that is 0 where the inferred one is negative.
Dim RealSizes::clamped_extent(const Dim& inferred, const Dim& counted) {
  Dim real = scope_.simplify(inferred);
  if (real.valid() && !is_length(real)) real = scope_.simplify(max(Dim(0), real));
  return real == counted ? counted : shorter(real, counted);
}

/// Return the counted extent, or 0 where that is negative, if this always equals the real one.
Dim RealSizes::shorter(const Dim& real, const Dim& counted) {
  if (!real.valid() || real.is_const()) return real;
  if (real == max(Dim(0), counted)) return is_length(counted) ? counted : real;
  const auto [at, fresh] = short_.try_emplace({real.to_string(), counted.to_string()}, real);
  if (!fresh) return at->second;
  for (const Dim& each : {counted, at_least_0(counted)}) {
    if (each.valid() && always_equal(real, each)) {
      at->second = each;
      break;
    }
  }
  return at->second;
}

void RealSizes::clamp(Graph* graph, OutletId input) {
  follow_up_to(graph, input.node);
  Fact real = graph->fact(input);
  for (Dim& extent : real.shape) {
    if (!is_length(extent)) extent = max(Dim(0), extent);
  }
  if (real.shape == graph->fact(input).shape) return;
  made_[static_cast<size_t>(input.node)] = std::make_unique<const Facts>(one_fact(std::move(real)));
}

void RealSizes::take_number(Graph* graph, const Dim& counted, const Dim& real,
                            const Reader& reader) {
  if (counted == real) return;
  refresh(graph->scope);
  if (real == max(Dim(0), counted) && is_length(counted)) return;
  const Dim known = scope_.simplify(real);
  if (counted == known) return;
  graph->scope.take_number({counted, real, std::string(reader.node), std::string(reader.op)});
  if (known == max(Dim(0), counted)) {
    ensured_.push_back(counted);
    scope_.take_as_extent(counted);
    forget();
  }
}

void RealSizes::take(Graph* graph, OutletId wire, const Reader& reader,
                     std::optional<int64_t> place) {
  if (const TensorPtr value = graph->fact(wire).konst) {
    const TensorPtr other = this->value(wire);
    if (!other) return;
    const auto counted = numbers_of(*value);
    const auto real = numbers_of(*other);
    if (!counted || !real || counted->size() != real->size()) return;
    for (size_t i = 0; i < counted->size(); ++i) {
      if (place && static_cast<int64_t>(i) != *place) continue;
      take_number(graph, (*counted)[i], (*real)[i], reader);
    }
    return;
  }
  const Fact real = fact(graph, wire);
  for (int axis = 0; axis < std::min(real.rank(), graph->fact(wire).rank()); ++axis) {
    take_number(graph, graph->fact(wire).dim(axis), real.dim(axis), reader);
  }
}

}  // namespace rill::nnef
