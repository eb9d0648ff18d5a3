#include "pulse/builder.h"

#include <algorithm>
#include <numeric>

#include "core/base/checked.h"
#include "core/base/limits.h"
#include "core/dim/pattern.h"
#include "ops/array/slice.h"
#include "ops/built.h"
#include "ops/stream/positions.h"
#include "pulse/pad_value.h"

namespace rill::pulse {
int64_t Builder::unread() {
  asked_.insert(node_);
  return unread_[static_cast<size_t>(node_)];
}

void Builder::enter(int node_id) {
  node_ = node_id;
  waited_ = false;
  knows_ends_ = false;
  early_.reset();
  meeting_.reset();
}

namespace {

std::string bind_first(const std::string& symbol) {
  return str_cat("Bind ", symbol, " before the pulse, as in --set ", symbol, "=1");
}

}  // namespace

Result<int64_t> Builder::pulse_of(OutletId pulsed, int axis) const {
  const Dim& dim = pulsed_->fact(pulsed).dim(axis);
  if (const auto frames = dim.to_int()) return *frames;
  std::vector<std::string> symbols;
  dim.collect_symbols(&symbols);
  return refusal(str_cat("the pulse on axis ", axis, " is ", dim, ", not a number"),
                 symbols.empty() ? "Give the pulse as a number" : bind_first(symbols[0]));
}

namespace {

/// Return the length with every min, max and broadcast replaced by its first operand that mentions
/// the stream symbol.
Dim growing(const Dim& dim, std::string_view symbol) {
  return rebuild(dim, [&](const DimAtom& atom) -> std::optional<Dim> {
    if (atom.kind != DimAtom::Kind::kMin && atom.kind != DimAtom::Kind::kMax &&
        atom.kind != DimAtom::Kind::kBroadcast) {
      return std::nullopt;
    }
    for (const Dim& arg : atom.args) {
      if (arg.mentions(symbol)) return growing(arg, symbol);
    }
    return std::nullopt;
  });
}

}  // namespace

Result<int64_t> Builder::frames_per_pulse(const Dim& length) {
  std::vector<std::string> symbols;
  length.collect_symbols(&symbols);
  std::erase(symbols, symbol());
  if (!symbols.empty()) {
    return refusal(
        str_cat("its length, ", length, ", depends on ", symbols[0], " as well as on the stream"),
        bind_first(symbols[0]));
  }
  const int64_t pulse = pulse_.to_int().value_or(1);
  const auto growth_of = [&](const Dim& dim) -> Result<std::optional<int64_t>> {
    const Dim pulses = dim.substitute(symbol(), Dim(pulse) * Dim::symbol(symbol()));
    RILL_ASSIGN(const DimPattern pattern, DimPattern::of(pulses, symbol()));
    return pattern.even_growth();
  };
  const auto own = growth_of(length);
  if (own.ok() && *own && **own > 0) return **own;
  // A wire that ends before its input has the same frames per pulse until it ends.
  const Dim endless = growing(length, symbol());
  const auto growth = growth_of(endless);
  if (growth.ok() && *growth && **growth > 0) return **growth;
  const auto unit = least_even_step(endless, symbol(), kMostPulse);
  for (const Status& unknown : {growth.status(), unit.status()}) {
    if (!unknown.ok()) {
      return refusal(unknown.error().message,
                     "Write the lengths of slices and pads as sums and quotients of the stream's");
    }
  }
  const std::string cause =
      str_cat("its length, ", length,
              ", does not grow by the same number of frames with every pulse of ", pulse);
  if (*unit) return misfit_of_symbol(cause, **unit);
  return refusal(cause,
                 "No pulse has such a multiple: write a length that grows with that of the stream, "
                 "or add these frames in the app");
}

/// Return the smallest pulse, in the stream symbol, that gives this wire a multiple of `unit`
/// frames; nothing if no pulse is that large.
std::optional<int64_t> Builder::symbol_multiple(int64_t unit, int64_t frames) const {
  const int64_t pulse = pulse_.to_int().value_or(1);
  const int64_t common = std::gcd(pulse, frames);
  const auto needed = checked_mul(unit, pulse / common);
  if (!needed) return std::nullopt;
  const int64_t out = *needed / std::gcd(*needed, frames / common);
  return out <= kMostPulse ? std::optional(out) : std::nullopt;
}

Status Builder::misfit(std::string cause, int64_t frames, int64_t unit) {
  const auto multiple = symbol_multiple(unit, frames);
  if (multiple) return misfit_of_symbol(std::move(cause), *multiple);
  return refusal(std::move(cause), "No pulse is large enough: use smaller strides");
}

Result<OutletId> Builder::count(int axis, const Dim& start, int64_t step) {
  if constexpr (!ops::built("range")) return fail(Code::kUnsupported, "no ranges in this build");
  const auto first = start.to_int();
  if (!first) {
    return refuse("Count from a fixed number upwards", "it counts from ", start,
                  ", which is known only at the end of the stream");
  }
  auto counter = draft_op<ops::PulseRange>();
  counter->start = *first;
  counter->step = step;
  RILL_ASSIGN(counter->frames, frames_per_pulse(out(0).dim(axis)));
  return add1(std::move(counter), {});
}

Result<OutletId> Builder::rows(int axis, const Dim& begin) {
  for (int i = 0; i < out(0).rank(); ++i) {
    if (i == axis || !out(0).dim(i).mentions(symbol())) continue;
    return refuse("Give the frames one axis", "two axes of ", out(0), " mention the stream symbol");
  }
  auto rows = draft_op<ops::PulseRows>();
  rows->axis = axis;
  RILL_ASSIGN(rows->begin, begin.as_int());
  RILL_ASSIGN(rows->frames, frames_per_pulse(out(0).dim(axis)));
  return add1(std::move(rows), {wire(0)});
}

int64_t Builder::await_wire(OutletId whole_outlet) {
  waited_ = true;
  const int64_t pulses = wires_.at(whole_outlet).ready;
  if (pulses > 0) settles_at(pulses + 1, 1);
  return pulses;
}

int64_t Builder::await_frame(int i, int64_t frame) {
  const int64_t pulses = await(i);
  const KnownWire& wire = input(i);
  return wire.pulse > 0 ? std::min(pulses, (wire.position + frame) / wire.pulse) : pulses;
}

void Builder::begins_at_multiples_of(int64_t unit, int64_t frames) {
  const int64_t pulse = pulse_.to_int().value_or(1);
  begin_unit_ = std::lcm(begin_unit_, symbol_multiple(unit, frames).value_or(pulse));
}

void Builder::settles_at(int64_t position, int64_t frames) {
  const int64_t pulses = (position + frames - 1) / frames;
  const auto settled = checked_mul(pulses, pulse_.to_int().value_or(1));
  settled_ = std::max(settled_, settled.value_or(INT64_MAX));
}

Status Builder::misfit_of_symbol(std::string cause, int64_t unit) {
  // Both are pulses, so their product cannot overflow.
  unit_ = std::min(std::lcm(unit_, unit), kMostPulse);
  return refusal(std::move(cause), str_cat("Use a pulse that is a multiple of ", unit));
}

Result<std::vector<OutletId>> Builder::add(std::string_view suffix, OpPtr op, WireList inputs) {
  std::string key = str_cat(op->name(), "|", op->attributes());
  for (const OutletId& i : inputs) key += str_cat("|", i.node, ".", i.slot);
  const auto known = seen_.find(key);
  if (known != seen_.end()) return known->second.second;
  if (!knows_ends_ && op->with_symbol(symbol(), Dim(1))) late_end_ = false;
  const std::string full = suffix.empty() ? node().name : str_cat(node().name, "_", suffix);
  RILL_ASSIGN(std::vector<OutletId> outlets,
              pulsed_->add_folded(full, op, inputs, node().line));
  if (!op->draws()) seen_.emplace(std::move(key), std::pair(std::move(op), outlets));
  return outlets;
}

Result<std::vector<OutletId>> Builder::add_still(WireList inputs) {
  OpPtr op = node().op->stateless();
  if (!op) op = node().op;
  Facts facts;
  for (const OutletId& i : inputs) facts.push_back(pulsed_->fact(i));
  if (op->state_bytes(facts) > 0) {
    return refusal("it keeps state between runs, and a stream is one run in many steps",
                   "Compute it in the app, and make its output an input");
  }
  return add("", std::move(op), inputs);
}

Result<OutletId> Builder::konst(std::string_view suffix, Tensor value) {
  return pulsed_->add_const(str_cat(node().name, "_", suffix),
                            std::make_shared<const Tensor>(std::move(value)), node().line);
}

/// Return whether two lengths are equal for streams of some length. If they differ for other
/// lengths, such as 2*(S/8) and S/4, the whole graph is undefined there.
bool Builder::can_be_equal(const Dim& a, const Dim& b) const {
  if (whole_.scope.simplify(a - b) == Dim(0)) return true;
  // A single frame equals any other, so streams of length 1 do not decide.
  const auto both = DimPattern::of(eq(a, b) * ge(a, Dim(2)), symbol());
  if (!both.ok()) return false;
  const auto ever = both->greatest(1);
  return ever.ok() && (!*ever || **ever > 0);
}

/// Return the delay at which all inputs can be aligned.
Result<int64_t> Builder::meeting_delay() {
  int64_t latest = INT64_MIN;
  int64_t from_pulse = 0;
  int64_t pulse = 0;
  bool all_known = true;
  for (int i = 0; i < inputs(); ++i) {
    const auto s = stream(i);
    from_pulse = std::max(from_pulse, await(i));
    if (!s) {
      all_known &= pulsed_->fact(wire(i)).konst != nullptr;
      continue;
    }
    RILL_ASSIGN(pulse, pulse_of(wire(i), s->axis));
    const KnownWire& own = input(i);
    if (own.steady) {
      all_known &= own.frame != nullptr;
    } else {
      latest = std::max(latest, earliest_delay(wire(i), *s));
    }
  }
  // A product fused with a downstream sum rounds differently from one on a single first frame.
  const bool product = inputs() > 1 && node().op->tolerance() != Tolerance::kExact;
  if (latest == INT64_MIN) latest = 0;
  if (latest < 0 && (product || !all_known)) latest = std::max(latest, -unread_of_inputs());
  if (from_pulse > 0 && latest < from_pulse * pulse) {
    latest = std::max(latest, from_pulse * pulse - unread_of_inputs());
  }
  return latest;
}

Result<PulseBuilder::Synced> Builder::sync() {
  Synced out;
  RILL_ASSIGN(int64_t latest, meeting_delay());
  const std::optional<int64_t> early = prefix_delay();
  if (early && *early < latest && *early < -unread_of_inputs()) {
    RILL_ASSIGN(const bool begun, begin_early(*early));
    if (begun) latest = *early;
  }
  if (!early_ && latest >= 0 && is_by_frame()) {
    meeting_ = meeting_parts(latest);
  }
  int64_t pulse = -1;
  out.steady = out.steady_known = true;
  for (int i = 0; i < inputs(); ++i) {
    OutletId at = wire(i);
    const KnownWire& found = input(i);
    if (auto s = stream(i)) {
      RILL_ASSIGN(const int64_t own, pulse_of(at, s->axis));
      if (out.first < 0) {
        out.first = i;
        pulse = own;
      } else if (own != pulse) {
        return refusal(str_cat("its inputs run at different rates: ", pulse, " and ",
                               counted(own, "frame"), " per pulse"),
                       "Bring the inputs to one rate before they meet");
      } else if (!can_be_equal(s->dim, out.stream.dim)) {
        return refusal(str_cat("its inputs have different lengths on the streaming axis: ",
                               out.stream.dim, " and ", s->dim),
                       "Bring the inputs to one length before they meet");
      }
      if (!found.steady) {
        RILL_ASSIGN(at, with_delay(at, *s, latest));
      }
      s->delay = latest;
      out.steady &= found.steady;
      out.steady_known &= found.frame != nullptr;
      if (i == out.first) out.stream = *s;
    } else {
      out.steady_known &= pulsed_->fact(at).konst != nullptr;
    }
    out.wires.push_back(at);
  }
  out.steady &= out.first >= 0;
  out.steady_known &= out.steady;
  if (meeting_) meeting_->wires = out.wires;
  return out;
}

/// Return the node's op with every symbol set to 1; single frames do not depend on symbols.
OpPtr Builder::bound_op() const {
  OpPtr op = node().op;
  for (const std::string& name : whole_.scope.symbols()) {
    if (OpPtr bound = op->with_symbol(name, Dim(1))) op = bound;
  }
  return op;
}

Result<TensorPtr> Builder::mapped_pad_value(const Synced& synced, int i, int out_axis) {
  if (early_) return TensorPtr();
  std::vector<TensorPtr> values;
  std::vector<char> streams;
  for (int k = 0; k < inputs(); ++k) {
    const auto s = stream(k);
    streams.push_back(s ? 1 : 0);
    if (!s) {
      const TensorPtr& constant = pulsed_->fact(wire(k)).konst;
      if (!constant) {
        return refusal("a constant first frame meets an input that is not constant",
                       "Remove the padding before this operator");
      }
      values.push_back(constant);
      continue;
    }
    const KnownWire& own = input(k);
    RILL_ASSIGN(values.emplace_back(),
                frames_of_pad_value(pulsed_->fact(synced.wires[static_cast<size_t>(k)]), s->axis, 1,
                                    own.steady ? own.frame : s->pad_value));
  }
  RILL_ASSIGN(Tensor result, run_alone(bound_op(), values, streams, i));
  if (result.extent(out_axis) != 1) return fail(Code::kInternal, "a pad value of several frames");
  return compact_pad_value(std::make_shared<const Tensor>(std::move(result)));
}

Status Builder::give(int i, OutletId pulsed, PulsedOutput output) {
  KnownWire wire;
  wire.outlet = pulsed;
  wire.cut = cut_by_node(pulsed);
  const auto streams = [&](StreamFact stream) {
    stream.pad_value = stream.has_prefix() ? compact_pad_value(stream.pad_value) : nullptr;
    stream.dim = whole_.scope.simplify(stream.dim);
    wire.stream = std::move(stream);
  };
  if (auto* plain = std::get_if<PulsedOutput::Streams>(&output.what)) {
    streams(std::move(plain->stream));
    if (!plain->first) note_waiting(pulsed, *wire.stream);
    skip_prefix(&wire);
    if (plain->first) {
      const Dim& count = pulsed_->fact(*plain->first).dim(wire.stream->axis);
      RILL_TRY(give_prefixed(&wire, *plain->first, *count.to_int()));
    } else if (early_ && wire.stream->has_prefix()) {
      RILL_ASSIGN(OutletId frames, first_frames(pulsed));
      const int64_t count = early_->count;
      if (const int64_t cut = early_->cut; cut > 0) {
        const Dim end(cut + count);
        RILL_ASSIGN(frames, add1("part", make_op<ops::Slice>(wire.stream->axis, Dim(cut), end),
                                 {frames}));
      }
      early_.reset();
      RILL_TRY(give_prefixed(&wire, frames, count));
    }
  } else if (auto* steady = std::get_if<PulsedOutput::Steady>(&output.what)) {
    streams(std::move(steady->stream));
    wire.steady = true;
    wire.frame = std::move(steady->frame);
  } else if (const auto* still = std::get_if<PulsedOutput::Still>(&output.what)) {
    wire.ready = still->ready;
    wire.position = still->position;
    wire.pulse = still->pulse;
  } else if (const auto* end = std::get_if<PulsedOutput::AtEnd>(&output.what)) {
    RILL_ASSIGN(const int64_t frames, pulse_of(end->of, end->stream.axis));
    wire.known_after = ceil_div(end->stream.dim + Dim(end->stream.delay), frames) * pulse_;
    wire.known_from = str_cat("\"", node().name, "\" (", node().op->name(), ")");
    wire.taken_delay = end->stream.delay;
  } else if (auto* refused = std::get_if<PulsedOutput::Refused>(&output.what)) {
    wire.refused = std::move(refused->why).in_node(node().name, node().op->name());
  }
  wires_[{node_, i}] = std::move(wire);
  return {};
}

std::optional<Dim> Builder::known_after(OutletId whole_outlet) const {
  const KnownWire& wire = wires_.at(whole_outlet);
  if (wire.ready == 0) return wire.known_after;
  return max(wire.known_after.value_or(Dim(0)), Dim(wire.ready + 1) * pulse_);
}

}  // namespace rill::pulse
