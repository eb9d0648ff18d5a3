#include "pulse/short_streams.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/checked.h"
#include "core/base/search.h"
#include "core/dim/pattern.h"
#include "core/graph/graph_copy.h"
#include "core/graph/some_fields.h"
#include "pulse/lengths.h"

namespace rill::pulse {
namespace {

/// Return whether no expression is negative at that length.
bool suit(const std::vector<Dim>& asserted, const std::string& symbol, int64_t length) {
  for (const Dim& each : asserted) {
    if (each.eval(symbol, length).value_or(-1) < 0) return false;
  }
  return true;
}

/// Collect the conditions, as expressions that must not be negative, under which broadcast extents
/// fit.
void add_meetings(const Dim& dim, std::vector<Dim>* out) {
  if (dim.is_const()) return;
  for (const DimTerm& term : dim.sum()->terms) {
    for (const auto& factor : term.factors) {
      Dim so_far;
      for (size_t i = 0; i < factor->args.size(); ++i) {
        const Dim& next = factor->args[i];
        add_meetings(next, out);
        const bool meets = i > 0 && factor->kind == DimAtom::Kind::kBroadcast;
        if (meets) out->push_back(eq(so_far, next) + eq(so_far, 1) + eq(next, 1) - 1);
        so_far = meets ? broadcast(so_far, next) : next;
      }
    }
  }
}

/// Enumerates the lengths at which expressions may change their sign.
class Changes {
 public:
  /// Add an expression. Return false if its changes cannot be computed.
  bool add(const Dim& dim, std::string_view symbol) {
    auto sign = DimPattern::of(ge(dim, Dim(0)), symbol);
    if (!sign.ok()) return false;
    settled = std::max(settled, sign->settled());
    const auto common = checked_mul(period_ / std::gcd(period_, sign->period()), sign->period());
    period_ = common.value_or(0);
    signs_.push_back(std::move(sign).value());
    return common.has_value();
  }

  /// Return the first such length after a given one; nothing if there is none, or if the search
  /// takes too long.
  std::optional<int64_t> next_after(int64_t length) {
    int64_t next = INT64_MAX;
    for (const DimPattern& sign : signs_) {
      work_ += sign.pieces().size();
      bool steady = true;
      for (const DimPiece& piece : sign.pieces()) {
        if (piece.from <= length) {
          steady = piece.period == 1;
        } else {
          next = std::min(next, piece.from);
        }
      }
      if (!steady) next = std::min(next, length + 1);
    }
    complete = length - settled >= period_ - 1;
    if (complete || work_ > kMostWork) return std::nullopt;
    return next;
  }

  int64_t settled = 0;    ///< the pattern repeats from here
  bool complete = false;  ///< every change has been found

 private:
  static constexpr size_t kMostWork = size_t{1} << 22;

  std::vector<DimPattern> signs_;
  int64_t period_ = 1;
  size_t work_ = 0;
};

/// Return the greatest length up to which streams output nothing, as whole runs do, despite further
/// assertions or counts; -1 if there is none or it is unknown. `frames`: the negated lengths of the
/// stream's outputs; `conditions`: expressions that are non-negative if the whole run is defined
/// and outputs nothing.
int64_t last_of_no_output(const Streaming& streaming, const std::string& symbol,
                          const std::vector<Dim>& frames, const std::vector<Dim>& conditions) {
  std::vector<Dim> all = frames;
  all.insert(all.end(), streaming.asserted.begin(), streaming.asserted.end());
  all.insert(all.end(), conditions.begin(), conditions.end());
  Changes changes;
  for (size_t i = 0, most = all.size(); i < all.size(); ++i) {
    if (i < most) add_meetings(Dim(all[i]), &all);
    if (!changes.add(all[i], symbol)) return -1;
  }
  int64_t last = -1;
  for (int64_t length = 0;;) {
    // A session checks an empty stream by the assertions for one frame.
    const int64_t next = length == 0 ? 1 : changes.next_after(length).value_or(0);
    const bool counts = !suit(frames, symbol, length);
    const bool asserted = suit(streaming.asserted, symbol, length == 0 && !counts ? 1 : length);
    if (!asserted || counts) {
      if ((asserted && length > 0) || !suit(conditions, symbol, length)) return last;
      last = std::max(length, next - 1);
    }
    // A condition that keeps failing for arbitrarily long streams has no last failing length.
    if (next == 0) return changes.complete && last < changes.settled ? last : -1;
    length = next;
  }
}

/// Collect the extents among the attributes of an operator.
class Extents final : public SomeFields {
 public:
  using SomeFields::field;
  void field(const char* name, Dim& value) override {
    if (name == std::string_view("begin")) begin = &value;
    if (name == std::string_view("end")) end = &value;
    if (!value.is_const()) open.push_back(&value);
  }
  void field(const char*, std::vector<Dim>& values) override {
    for (Dim& value : values) {
      if (!value.is_const()) open.push_back(&value);
    }
  }
  Dim* begin = nullptr;
  Dim* end = nullptr;
  std::vector<Dim*> open;
};

/// Clamp extents to 0: a window longer than its input gives no frames, and a slice does not end
/// before it begins.
class EmptyExtents final : public GraphCopy {
 public:
  explicit EmptyExtents(const Ready& ready)
      : GraphCopy(ready.whole),
        attention_(ready.attention),
        asserted_(assertions_of(ready.whole.scope)) {
    // The graph's own scope assumes valid extents, which are in question here.
    out_.scope = asserted_;
  }

 private:
  Status copy(int id) override {
    const Node& node = graph_.node(id);
    std::vector<OutletId> inputs = mapped_.inputs_of(node);
    const bool is_inside = attention_.is_inside(id);
    const auto counts = [&](OutletId input) { return graph_.fact(input).dtype == DType::kDim; };
    if (!is_inside && any_of(attention_.inputs_of(graph_, id), counts)) {
      return fail(Code::kUnsupported, "extents are values");
    }
    if (is_inside || attention_.at(id)) {
      // Attention keeps the nodes that it was found in.
      const auto outlets = out_.add_known(node, std::move(inputs));
      for (const OutletId& outlet : outlets) mapped_[{id, outlet.slot}] = outlet;
    } else {
      RILL_TRY(copy_other(id, inputs));
    }
    if (!is_inside) clamp(&out_.nodes.back());
    return {};
  }

  Status copy_other(int id, const std::vector<OutletId>& inputs) {
    const Node& node = graph_.node(id);
    std::shared_ptr<Op> op = node.op->clone();
    Extents extents;
    op->fields(extents);
    const bool is_slice = extents.begin && extents.end;
    if (is_slice) {
      if (!asserted_.proves_ge(*extents.end, *extents.begin)) {
        *extents.end = max(*extents.begin, *extents.end);
      }
    } else {
      RILL_TRY(follow_inputs(node, inputs, extents));
    }
    return append(id, std::move(op), inputs);
  }

  void clamp(Node* node) const {
    for (Fact& fact : node->outputs) {
      for (Dim& dim : fact.shape) {
        if (!asserted_.proves_non_negative(dim)) dim = max(Dim(0), dim);
      }
    }
  }

  /// Update attributes that are extents of inputs.
  Status follow_inputs(const Node& node, const std::vector<OutletId>& inputs, Extents& extents) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Fact& before = graph_.fact(node.inputs[i]);
      const Fact& now = out_.fact(inputs[i]);
      for (int axis = 0; axis < now.rank(); ++axis) {
        if (now.dim(axis) == before.dim(axis)) continue;
        for (Dim* open : extents.open) {
          if (*open == before.dim(axis)) {
            *open = now.dim(axis);
          } else if (!(*open == now.dim(axis))) {
            return fail(Code::kUnsupported, "an attribute is computed from extents");
          }
        }
      }
    }
    return {};
  }

  const AllAttention& attention_;
  const SymbolScope asserted_;
};

/// Return the longest stream that an assertion refuses; INT64_MAX if there is none.
int64_t longest_refused(const Streaming& streaming) {
  int64_t longest = -1;
  for (const Dim& each : streaming.asserted) {
    const auto broken = DimPattern::of(Dim(-1) - each, streaming.symbol());
    const auto last = broken.ok() ? broken->last_non_negative() : broken.status();
    longest = std::max(longest, last.ok() ? last->value_or(INT64_MAX) : INT64_MAX);
  }
  return longest;
}

bool cost_alike(const Graph& a, const Graph& b) {
  const auto& mine = a.streaming->outputs;
  const auto& other = b.streaming->outputs;
  for (size_t i = 0; i < mine.size(); ++i) {
    if (mine[i].axis != other[i].axis || mine[i].delay != other[i].delay) return false;
  }
  // Plans of both graphs can exchange states, also at other pulses.
  const auto& wires = a.streaming->wires;
  const auto& own = b.streaming->wires;
  if (wires.size() != own.size()) return false;
  for (size_t i = 0; i < wires.size(); ++i) {
    if (wires[i].name != own[i].name || wires[i].delay != own[i].delay) return false;
  }
  return a.nodes.size() == b.nodes.size() && a.streaming->late_end == b.streaming->late_end &&
         a.streaming->settled == b.streaming->settled;
}

}  // namespace

void take_streams_of_no_output(const Graph& whole, Graph* pulsed) {
  Streaming& out = *pulsed->streaming;
  const std::string symbol = out.symbol();
  std::vector<Dim> frames;
  std::vector<Dim> conditions;
  for (size_t i = 0; i < whole.outputs.size(); ++i) {
    const StreamingOutput& output = out.outputs[i];
    if (output.axis < 0 || !of_symbol_alone(output.length.value_or(Dim(0)), symbol)) return;
    frames.push_back(-*output.length);
    conditions.push_back(-whole.fact(whole.outputs[i]).dim(output.axis));
  }
  if (suit(frames, symbol, 0) && suit(out.asserted, symbol, 1)) return;
  const int64_t last =
      last_of_no_output(out, symbol, frames, asserted_of(whole, conditions, symbol));
  if (last < 0) return;
  const auto bound = whole.with_symbol(symbol, Dim(last));
  if (!bound.ok()) return;
  const Dim beyond = Dim::symbol(symbol) - Dim(last);
  for (size_t i = 0; i < frames.size(); ++i) {
    const StreamingOutput& output = out.outputs[i];
    const auto step = pulsed->fact(pulsed->outputs[i]).dim(output.axis).to_int();
    // No frame may have been output before such a stream is known to end.
    if (!step || last / out.pulse * *step > output.delay) return;
    if (!(bound->fact(bound->outputs[i]).dim(output.axis) == Dim(0))) return;
    // Use a slope large enough that the bound is inactive past `last`.
    const Dim most = max(Dim(0), beyond) * Dim(output.length->eval(symbol, last + 1).value_or(1));
    const auto spare = DimPattern::of(most + frames[i], symbol);
    const auto least = spare.ok() ? spare->least(last + 1) : spare.status();
    if (!least.ok() || !*least || **least < 0) return;
    frames[i] = min(*output.length, most);
  }
  for (size_t i = 0; i < frames.size(); ++i) out.outputs[i].length = frames[i];
  for (Dim& each : out.asserted) {
    const auto first = each.eval(symbol, 0);
    const auto at_last = each.eval(symbol, last);
    if (std::min(first.value_or(-1), at_last.value_or(-1)) < 0) each = max(each, -beyond);
  }
}

Status clamp_empty_extents(Ready* ready) {
  RILL_ASSIGN(ready->whole, EmptyExtents(*ready).run());
  return {};
}

void take_empty_extents(const Graph& whole, const PulseAgain& pulse_again, Graph* pulsed,
                        Report* report) {
  const int64_t refused = longest_refused(*pulsed->streaming);
  if (refused < 1) return;
  Report own;
  auto again = pulse_again(&own);
  if (!again.ok() || !cost_alike(*pulsed, *again)) return;
  Streaming& streaming = *again->streaming;
  const std::vector<Dim> written = asserted_as_written(whole, streaming.symbol());
  streaming.asserted.insert(streaming.asserted.end(), written.begin(), written.end());
  streaming.longest = longest_stream(streaming.symbol(), streaming.asserted);
  if (longest_refused(*again->streaming) >= refused) return;
  // A state belongs to the model, whatever its pulse.
  again->streaming->model = pulsed->streaming->model;
  *pulsed = std::move(again).value();
  if (report) *report = std::move(own);
}

}  // namespace rill::pulse
