#include "pulse/lengths.h"

#include <algorithm>
#include <span>
#include <utility>

#include "core/base/search.h"
#include "core/dim/pattern.h"
#include "core/graph/course.h"
#include "core/graph/written.h"
#include "ops/array/reshape.h"
#include "ops/built.h"

namespace rill::pulse {
namespace {

using Nodes = std::vector<const Node*>;

/// Return the nodes of a graph outside its attention.
Nodes nodes_outside(const Graph& graph, const AllAttention& attention) {
  Nodes out;
  for (int id = 0; id < static_cast<int>(graph.nodes.size()); ++id) {
    if (!attention.has(id)) out.push_back(&graph.node(id));
  }
  return out;
}

/// Return the last length at which one expression is not negative. Nothing if there is no last one,
/// or if it is unknown; invalid lengths are then refused only at the end of the stream.
std::optional<int64_t> last_length(const Dim& dim, std::string_view symbol) {
  const auto pattern = DimPattern::of(dim, symbol);
  if (!pattern.ok()) return std::nullopt;
  const auto last = pattern->last_non_negative();
  return last.ok() && *last ? std::optional(std::max<int64_t>(0, **last)) : std::nullopt;
}

/// Require that inputs have no negative length: an input of S - 3 frames requires S >= 3.
void add_inputs(const Graph& graph, std::string_view symbol, std::vector<Dim>* out) {
  for (const OutletId& input : graph.inputs) {
    for (const Dim& dim : graph.fact(input).shape) {
      if (!dim.mentions(symbol)) continue;
      const auto first = dim.substitute(symbol, Dim(1)).to_int();
      if (!first || *first < 0) out->push_back(dim);
    }
  }
}

/// Refuse lengths at which a number computed from the length leaves the range of int64. There the
/// expression has no value, nor does its maximum with 0; everywhere else, that maximum is valid.
void add_values(const Nodes& nodes, std::string_view symbol, std::vector<Dim>* out) {
  for (const Node* node : nodes) {
    const TensorPtr value = node->outputs.empty() ? nullptr : node->outputs[0].konst;
    if (!value_mentions(value, symbol)) continue;
    for (const Dim& number : value->values<Dim>()) {
      if (!of_symbol_alone(number, symbol) || number.eval(symbol, kMostPulse)) continue;
      out->push_back(max(number, Dim(0)));
    }
  }
}

/// Visit the slices of a graph, each with the extent that it cuts.
template <class Visit>
void visit_slices(const Graph& graph, const Nodes& nodes, const Visit& visit) {
  for (const Node* node : nodes) {
    const Course slice = node->op->course();
    if (slice.is(Course::Form::kCut)) visit(slice, graph.fact(node->inputs[0]).dim(slice.axis()));
  }
}

/// Return whether an expression is provably 0 or more at every length.
bool is_never_negative(const Dim& dim, std::string_view symbol) {
  const auto pattern = DimPattern::of(dim, symbol);
  if (!pattern.ok()) return false;
  const auto least = pattern->least(0);
  return least.ok() && *least && **least >= 0;
}

/// Require that a slice which grows with the stream ends within its frames. `in`: its inputs, whose
/// extents are not negative.
void add_end(const Node& node, const Facts& in, std::string_view symbol, std::vector<Dim>* out) {
  const Course slice = node.op->course();
  if (!slice.is(Course::Form::kCut)) return;
  const Dim& rows = in[0].dim(slice.axis());
  const bool fixed = (*slice.end - *slice.begin).to_int().has_value();
  if (fixed || !rows.mentions(symbol) || !slice.end->mentions(symbol)) return;
  const Dim inside = max(*slice.begin, rows) - *slice.end;
  if (!is_never_negative(inside, symbol)) out->push_back(inside);
}

/// Require that the range of a slice exists: rows of tables, kept frames, and the last frames. A
/// slice `x[5:]` of a shorter stream is empty, so it needs no frames.
void add_slices(const Graph& graph, const AllAttention& attention, std::string_view symbol,
                std::vector<Dim>* out) {
  for (int id = 0; id < static_cast<int>(graph.nodes.size()); ++id) {
    if (attention.is_inside(id)) continue;
    const Attention* own = attention.at(id);
    const Graph* nested = own ? own->body.get() : graph.node(id).op->nested();
    if (nested) add_slices(*nested, {}, symbol, out);
  }
  visit_slices(graph, nodes_outside(graph, attention), [&](const Course& slice, const Dim& rows) {
    out->push_back(*slice.begin);
    const bool fixed = (*slice.end - *slice.begin).to_int().has_value();
    if (fixed || !rows.mentions(symbol) || !slice.end->mentions(symbol)) {
      out->push_back(rows - *slice.end);
    }
  });
}

/// Collect expressions that must be 0 for a defined whole run: where frames of two inputs are
/// combined, or where frames are split, no frame may be left over. A stream cannot know in advance
/// that a single frame is broadcast instead.
void add_equal_lengths(const Graph& graph, const Nodes& nodes, std::string_view symbol,
                       std::vector<Dim>* out) {
  const auto add = [&](const Dim& a, const Dim& b) {
    if (!a.mentions(symbol) || !b.mentions(symbol)) return;
    const Dim difference = graph.scope.simplify(a - b);
    if (difference == Dim(0) || !difference.valid()) return;
    for (const Dim& sign : {difference, -difference}) {
      if (!contains(*out, sign)) out->push_back(sign);
    }
  };
  for (const Node* node : nodes) {
    const Facts in = graph.facts_of(node->inputs);
    if (const auto* reshape = node->op->as<ops::Reshape>()) {
      const std::span<const Dim> all(in[0].shape);
      add(volume(
              all.subspan(static_cast<size_t>(reshape->axis), static_cast<size_t>(reshape->count))),
          volume(reshape->to));
    }
    if (in.size() < 2) continue;
    for (const AxisTrack& track : node->op->axes(in, node->outputs)) {
      const Dim* first = nullptr;
      for (size_t i = 0; i < in.size(); ++i) {
        if (i >= track.in.size() || track.in[i] < 0) continue;
        const Dim& own = in[i].dim(track.in[i]);
        if (first) add(*first, own);
        if (!first && own.mentions(symbol)) first = &own;
      }
    }
  }
}

/// Return facts with all extents clamped to 0, as in whole runs: a window longer than the stream
/// gives 0 frames, not a negative number.
Facts with_extents(Facts facts, const SymbolScope& scope, std::string_view symbol) {
  for (Fact& fact : facts) {
    for (Dim& dim : fact.shape) {
      if (dim.mentions(symbol) && !scope.proves_non_negative(dim)) dim = max(Dim(0), dim);
    }
  }
  return facts;
}

/// Return whether a whole run of that length refuses a node with these inputs.
bool is_refused(const Node& node, const Facts& in, std::string_view symbol, int64_t length) {
  Facts bound;
  for (const Fact& fact : in) bound.push_back(substitute(fact, symbol, Dim(length)));
  const OpPtr op = node.op->with_symbol(symbol, Dim(length));
  const auto made = (op ? op : node.op)->infer(bound);
  if (!made.ok()) return true;
  return any_of(*made, [](const Fact& fact) {
    return any_of(fact.shape, [](const Dim& dim) { return dim.to_int().value_or(0) < 0; });
  });
}

/// Return the first and the last length >= `from` at which an expression is negative.
std::vector<int64_t> negative_lengths(const Dim& dim, std::string_view symbol, int64_t from) {
  constexpr int64_t kMost = 4096;
  const auto pattern = DimPattern::of(Dim(-1) - dim, symbol);
  if (!pattern.ok()) return {};
  std::vector<int64_t> out;
  const int64_t seen = pattern->settled() + pattern->period();
  for (int64_t n = from; n < std::min(seen, from + kMost) && out.empty(); ++n) {
    if (dim.eval(symbol, n).value_or(0) < 0) out.push_back(n);
  }
  const auto last = pattern->last_non_negative();
  if (last.ok() && *last && **last >= from) out.push_back(**last);
  return out;
}

/// Add extents of a node's outputs for which some whole runs are refused. A window longer than its
/// input gives no frames; a transposed convolution of too few frames has no output.
void add_refused(const Node& node, const Facts& in, const Facts& out, const SymbolScope& scope,
                 std::string_view symbol, int64_t from, std::vector<Dim>* asserted) {
  for (const Fact& fact : out) {
    for (const Dim& dim : fact.shape) {
      if (!of_symbol_alone(dim, symbol) || scope.proves_non_negative(dim)) continue;
      if (contains(*asserted, dim)) continue;
      const auto refused = [&](int64_t length) { return is_refused(node, in, symbol, length); };
      if (any_of(negative_lengths(dim, symbol, from), refused)) asserted->push_back(dim);
    }
  }
}

/// Compare the frames of a whole run with those that a stream counts. If frames are added after a
/// stream shorter than a window, the stream continues from a negative count. A wire must not have a
/// negative count if its length may become data downstream, or if a whole run then refuses its
/// node.
void add_short_streams(const Graph& graph, const AllAttention& attention, std::string_view symbol,
                       std::vector<Dim>* out) {
  // The graph's own scope assumes valid extents of wires, which are in question here.
  const SymbolScope scope = assertions_of(graph.scope);
  std::vector<Facts> extents;
  // Consecutive wires usually have equal lengths.
  std::pair<Dim, Dim> last;
  std::vector<Dim> lengths;  // of earlier wires
  const auto add = [&](OutletId outlet) {
    const Fact& declared = graph.fact(outlet);
    const Fact& real = extents[static_cast<size_t>(outlet.node)][static_cast<size_t>(outlet.slot)];
    for (int axis = 0; axis < declared.rank() && axis < real.rank(); ++axis) {
      if (!declared.dim(axis).mentions(symbol)) continue;
      if (last == std::pair(real.dim(axis), declared.dim(axis))) continue;
      last = {real.dim(axis), declared.dim(axis)};
      const Dim difference = scope.simplify(real.dim(axis) - max(Dim(0), declared.dim(axis)));
      if (difference == Dim(0) || !difference.valid()) continue;
      for (const Dim& sign : {difference, -difference}) {
        if (!contains(*out, sign)) out->push_back(sign);
      }
    }
  };
  // An empty stream has no output that a whole run could lack, unless an output is static.
  const bool gives_values = any_of(graph.outputs, [&](const OutletId& output) {
    return !graph.fact(output).mentions(symbol);
  });
  for (int id = 0; id < static_cast<int>(graph.nodes.size()); ++id) {
    const Node& node = graph.node(id);
    if (attention.has(id)) {
      extents.push_back(with_extents(node.outputs, scope, symbol));
    } else {
      Facts in;
      for (const OutletId& input : node.inputs) {
        in.push_back(extents[static_cast<size_t>(input.node)][static_cast<size_t>(input.slot)]);
      }
      auto inferred = in.empty() ? Result<Facts>(node.outputs) : node.op->infer(in);
      if (inferred.ok() && !in.empty()) {
        add_refused(node, in, *inferred, scope, symbol, gives_values ? 0 : 1, out);
        add_end(node, in, symbol, out);
      }
      extents.push_back(with_extents(inferred.ok() ? std::move(inferred).value() : node.outputs,
                                     scope, symbol));
    }
    if (attention.is_inside(id)) continue;
    for (const OutletId& input : attention.inputs_of(graph, id)) add(input);
    for (const Fact& fact : node.outputs) {
      for (const Dim& dim : fact.shape) {
        if (dim.mentions(symbol) && (lengths.empty() || !(lengths.back() == dim)))
          lengths.push_back(dim);
      }
    }
    if (attention.has(id) || !reads_lengths(graph, node, symbol)) continue;
    for (const Dim& length : std::exchange(lengths, {})) {
      if (!scope.proves_non_negative(length)) out->push_back(length);
    }
  }
  for (const OutletId& output : graph.outputs) add(output);
}

/// Require that the numbers that nodes read equal the real ones. Other symbols, such as a batch,
/// are factors, so two values of each suffice.
void add_numbers(const SymbolScope& scope, std::string_view symbol, std::vector<Dim>* out) {
  for (const SymbolScope::Taken& each : scope.taken()) {
    const Dim apart = each.counted - each.real;
    std::vector<std::string> symbols;
    apart.collect_symbols(&symbols);
    std::erase(symbols, symbol);
    for (const int64_t factor : {1, 2}) {
      Dim alone = apart;
      for (const std::string& other : symbols) alone = alone.substitute(other, Dim(factor));
      out->insert(out->end(), {alone, -alone});
      if (symbols.empty()) break;
    }
  }
}

/// Return the facts of all wires of a whole run of no frames; nothing if it is undefined.
std::optional<std::vector<Facts>> facts_of_nothing(const Graph& graph, std::string_view symbol,
                                                   const AllAttention& attention) {
  std::vector<Facts> out;
  for (int id = 0; id < static_cast<int>(graph.nodes.size()); ++id) {
    const Node& node = graph.node(id);
    Facts in;
    for (const OutletId& input : node.inputs) {
      in.push_back(out[static_cast<size_t>(input.node)][static_cast<size_t>(input.slot)]);
    }
    const OpPtr bound = node.op->with_symbol(symbol, Dim(0));
    const bool known = (in.empty() && !bound) || attention.has(id);
    auto made = known ? Result<Facts>(node.outputs) : (bound ? bound : node.op)->infer(in);
    if (!made.ok()) return std::nullopt;
    for (Fact& fact : *made) {
      for (Dim& dim : fact.shape) dim = max(Dim(0), dim.substitute(symbol, Dim(0)));
    }
    out.push_back(std::move(made).value());
  }
  return out;
}

/// Return whether an expression is unbounded and never falls from one length to the next.
Result<bool> grows(const Dim& dim, std::string_view symbol) {
  const Dim next = Dim::symbol(std::string(symbol)) + Dim(1);
  RILL_ASSIGN(const DimPattern all, DimPattern::of(dim, symbol));
  RILL_ASSIGN(const DimPattern steps, DimPattern::of(dim.substitute(symbol, next) - dim, symbol));
  RILL_ASSIGN(const std::optional<int64_t> least, steps.least(0));
  return all.growth() > 0 && least && *least >= 0;
}

/// Return the index after the last node that has the symbol in an attribute or turns a length into
/// data.
size_t last_written(const Graph& graph, std::string_view symbol) {
  for (size_t i = graph.nodes.size(); i > 0; --i) {
    const Node& node = graph.nodes[i - 1];
    if (node.op->with_symbol(symbol, Dim(1)) || reads_lengths(graph, node, symbol)) return i;
  }
  return 0;
}

}  // namespace

SymbolScope assertions_of(const SymbolScope& scope) {
  SymbolScope out;
  for (const SymbolScope::Assertion& assertion : scope.assertions()) {
    // An expression that cannot be parsed proves nothing.
    if (!out.assert_text(assertion.text).ok()) continue;
  }
  for (const SymbolScope::Taken& taken : scope.taken()) out.take_number(taken);
  return out;
}

bool of_symbol_alone(const Dim& dim, std::string_view symbol) {
  std::vector<std::string> symbols;
  dim.collect_symbols(&symbols);
  return dim.valid() && symbols.size() == 1 && symbols[0] == symbol;
}

bool counts_symbol(const Dim& length, std::string_view symbol) {
  const auto each = length.substitute(symbol, Dim(1)).to_int();
  return each && length == Dim(*each) * Dim::symbol(std::string(symbol));
}

Status check_length_of_input(const Graph& whole, const Fact& input, int axis,
                             std::string_view symbol) {
  const Dim& dim = input.dim(axis);
  if (counts_symbol(dim, symbol) || !of_symbol_alone(dim, symbol)) return {};
  bool is_counted = false;  // an input that counts the symbol
  for (const OutletId& each : whole.inputs) {
    for (const Dim& extent : whole.fact(each).shape) {
      is_counted |= extent.mentions(symbol) && counts_symbol(extent, symbol);
    }
  }
  const char* wrong = nullptr;
  if (!is_counted && !(dim.substitute(symbol, Dim(0)) == Dim(0)))
    wrong = " is not proportional to ";
  RILL_ASSIGN(const bool suits, grows(dim, symbol));
  if (!suits) wrong = " does not grow with ";
  if (!wrong) return {};
  return fail(Code::kPulse, "axis ", axis, " of input ", input, wrong, symbol)
      .hint(str_cat("Declare the axis as ", symbol, " and add an assertion"));
}

std::vector<Dim> asserted_of(const Graph& graph, const std::vector<Dim>& needed,
                             std::string_view symbol, const AllAttention& attention) {
  const Nodes nodes = nodes_outside(graph, attention);
  std::vector<Dim> out = needed;
  for (const SymbolScope::Assertion& assertion : graph.scope.assertions()) {
    out.insert(out.end(), assertion.non_negative.begin(), assertion.non_negative.end());
  }
  const auto reads = [&](const Node* node) { return reads_lengths(graph, *node, symbol); };
  if (any_of(nodes, reads)) {
    for (const SymbolScope::Assertion& extent : graph.scope.extents()) {
      out.push_back(extent.non_negative.front());
    }
    out.insert(out.end(), graph.scope.lengths().begin(), graph.scope.lengths().end());
  }
  add_numbers(graph.scope, symbol, &out);
  add_inputs(graph, symbol, &out);
  for (const Node* node : nodes) node->op->demands(graph.facts_of(node->inputs), &out);
  add_values(nodes, symbol, &out);
  if constexpr (ops::built("attention")) add_keys(attention, &out);
  add_slices(graph, attention, symbol, &out);
  add_equal_lengths(graph, nodes, symbol, &out);
  add_short_streams(graph, attention, symbol, &out);
  std::erase_if(out, [&](const Dim& dim) { return !of_symbol_alone(dim, symbol); });
  return out;
}

std::vector<Dim> asserted_as_written(const Graph& graph, std::string_view symbol) {
  const SymbolScope scope = assertions_of(graph.scope);
  const size_t last = last_written(graph, symbol);
  std::vector<Facts> extents;
  std::vector<Dim> out;
  std::vector<Dim> lengths;
  const auto add = [&](const Dim& dim) {
    if (of_symbol_alone(dim, symbol) && !contains(out, dim)) out.push_back(dim);
  };
  for (size_t i = 0; i < last; ++i) {
    const Node& node = graph.nodes[i];
    Facts in;
    for (const OutletId& input : node.inputs) {
      in.push_back(extents[static_cast<size_t>(input.node)][static_cast<size_t>(input.slot)]);
    }
    auto inferred = in.empty() ? Result<Facts>(node.outputs) : node.op->infer(in);
    extents.push_back(with_extents(inferred.ok() ? std::move(inferred).value() : node.outputs,
                                   scope, symbol));
    if (reads_lengths(graph, node, symbol)) {
      for (const Dim& length : lengths) add(length);
    }
    for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
      const Fact& counted = node.outputs[slot];
      const Fact& real = extents.back()[slot];
      for (int axis = 0; axis < counted.rank() && axis < real.rank(); ++axis) {
        const Dim& dim = counted.dim(axis);
        if (!dim.mentions(symbol)) continue;
        if (!scope.proves_non_negative(dim) && !contains(lengths, dim)) lengths.push_back(dim);
        const Dim difference = scope.simplify(real.dim(axis) - max(Dim(0), dim));
        if (i + 1 == last || difference == Dim(0)) continue;
        add(difference);
        add(-difference);
      }
    }
  }
  return out;
}

std::vector<Dim> lengths_from_nothing(const Graph& graph, std::vector<Dim> lengths,
                                      std::string_view symbol, const AllAttention& attention) {
  const Bindings nothing = {{std::string(symbol), 0}};
  const auto is_short = [&](const Node& node) {
    return any_of(node.outputs, [&](const Fact& fact) {
      return any_of(fact.shape, [&](const Dim& dim) { return dim.eval(nothing).value_or(0) < 0; });
    });
  };
  // A least length, as of max(S, 1) frames, is lost in streams of a frame or more.
  bool longer = false;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const int64_t counted = lengths[i].eval(nothing).value_or(0);
    longer |= any_of(graph.fact(graph.outputs[i]).shape, [&](const Dim& dim) {
      return dim.mentions(symbol) && dim.eval(nothing).value_or(0) > counted;
    });
  }
  if (!longer && none_of(graph.nodes, is_short)) return lengths;
  const auto whole = facts_of_nothing(graph, symbol, attention);
  if (!whole) return lengths;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const OutletId output = graph.outputs[i];
    const Fact& streams = graph.fact(output);
    const Fact& given =
        (*whole)[static_cast<size_t>(output.node)][static_cast<size_t>(output.slot)];
    const auto counted = lengths[i].eval(nothing);
    if (!counted || streams.rank() != given.rank()) continue;
    for (int axis = 0; axis < streams.rank(); ++axis) {
      const auto frames = given.dim(axis).to_int();
      if (!streams.dim(axis).mentions(symbol) || !frames) continue;
      if (*frames <= std::max<int64_t>(0, *counted)) continue;
      lengths[i] +=
          Dim(*frames - *counted) * max(Dim(0), Dim(1) - Dim::symbol(std::string(symbol)));
    }
  }
  return lengths;
}

SymbolScope scope_of_taken_lengths(const Graph& graph, const AllAttention& attention) {
  SymbolScope scope = graph.scope;
  visit_slices(graph, nodes_outside(graph, attention), [&](const Course& slice, const Dim& rows) {
    if (slice.end->to_int()) scope.take_as_extent(rows - *slice.end);
  });
  return scope;
}

std::optional<int64_t> longest_stream(std::string_view symbol,
                                      const std::vector<Dim>& non_negative) {
  std::optional<int64_t> longest;
  for (const Dim& dim : non_negative) {
    const auto last = last_length(dim, symbol);
    if (last) longest = std::min(longest.value_or(*last), *last);
  }
  return longest;
}

}  // namespace rill::pulse
