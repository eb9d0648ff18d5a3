#include "audit/lengths.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <set>
#include <string>

#include "core/base/sorted.h"
#include "core/dim/pattern.h"
#include "core/exec/extents.h"

namespace rill::audit {
namespace {

/// The maximum period; longer ones are sampled, not enumerated.
constexpr int64_t kMostPeriod = int64_t{1} << 20;

class Finder {
 public:
  Finder(std::string_view symbol, int64_t most) : symbol_(symbol), most_(most) {}

  void note(int64_t point) {
    if (point < 0 || point > most_) return;
    points_.insert(point);
  }

  void look_at(const Dim& dim) {
    if (!dim.valid() || !dim.mentions(symbol_) || !seen_.insert(dim.to_string()).second) return;
    note_sign_change(dim);
    note_sign_change(dim - Dim(1));
    const auto pattern = DimPattern::of(dim, symbol_);
    if (!pattern.ok()) {
      open_ += 1;
      return;
    }
    for (const DimPiece& piece : pattern->pieces()) note(piece.from);
    repeats_with(pattern->period());
  }

  void look_at(const Tensor& value) {
    if (value.volume() > 8 || value.dtype() == DType::kString) return;
    for (int64_t i = 0; i < value.volume(); ++i) {
      if (const auto dim = element_as_dim(value, i); value.dtype() == DType::kDim && dim.ok()) {
        look_at(*dim);
      } else if (const auto number = element_as_double(value, i); number.ok()) {
        const double size = std::abs(*number);
        if (size > 1 && size <= static_cast<double>(most_)) note(static_cast<int64_t>(size));
      }
    }
  }

  /// Record the numbers in the text of attributes.
  void look_at(const std::string& text) {
    for (size_t i = 0; i < text.size();) {
      if (!std::isdigit(static_cast<unsigned char>(text[i]))) {
        ++i;
        continue;
      }
      const size_t begin = i;
      while (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i]))) ++i;
      const bool fraction = begin > 0 && text[begin - 1] == '.';
      if (!fraction && i - begin <= 7) note(std::stoll(text.substr(begin, i - begin)));
    }
  }

  Lengths lengths() const {
    Lengths out;
    std::set<int64_t> edges;
    for (const int64_t point : points_) {
      for (const int64_t each : {point - 1, point, point + 1}) {
        if (each > 0 && each <= most_) edges.insert(each);
      }
    }
    out.edges.assign(edges.begin(), edges.end());
    out.period = period_;
    out.open = open_;
    out.settled = points_.empty() ? 0 : *points_.rbegin();
    return out;
  }

  void repeats_with(int64_t frames) {
    period_ = frames > kMostPeriod ? kMostPeriod : std::min(std::lcm(period_, frames), kMostPeriod);
  }

 private:
  /// Find by bisection the length at which an expression becomes non-negative.
  void note_sign_change(const Dim& dim) {
    const auto negative = [&](int64_t at) {
      return dim.eval({{std::string(symbol_), at}}).value_or(0) < 0;
    };
    if (!negative(0) || negative(most_)) return;
    int64_t low = 0;
    int64_t high = most_;
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      (negative(middle) ? low : high) = middle;
    }
    note(high);
  }

  std::string_view symbol_;
  int64_t most_;
  int64_t period_ = 1;
  int64_t open_ = 0;
  std::set<int64_t> points_;
  std::set<std::string> seen_;
};

void look_at_graph(const Graph& graph, Finder* finder) {
  for (const Node& node : graph.nodes) {
    for (const Fact& fact : node.outputs) {
      for (const Dim& dim : fact.shape) finder->look_at(dim);
      if (fact.konst) finder->look_at(*fact.konst);
    }
    if (const Graph* const body = node.op->nested()) {
      look_at_graph(*body, finder);
      continue;  // the attributes contain a fingerprint, not sizes
    }
    if (node.op->name() != "Const") finder->look_at(node.op->attributes());
  }
  for (const auto& assertion : graph.scope.assertions()) {
    for (const Dim& dim : assertion.non_negative) finder->look_at(dim);
  }
}

}  // namespace

Lengths lengths_of(const Graph& whole, const Plan& streamed, int64_t most) {
  Finder finder(streamed.stream_symbol, most);
  finder.repeats_with(std::max<int64_t>(1, streamed.stream_pulse));
  look_at_graph(whole, &finder);
  for (const Extent& each : streamed.asserted) {
    finder.look_at(dim_of(each, streamed.stream_symbol));
  }
  if (streamed.longest < INT64_MAX) finder.note(streamed.longest);
  for (const PlanIo& io : streamed.outputs) {
    finder.look_at(dim_of(io.stream.length, streamed.stream_symbol));
    const int64_t pulse = std::max<int64_t>(1, io.stream.pulse);
    finder.note(io.stream.delay * streamed.stream_pulse / pulse);
    finder.note(streamed.stream_pulse + io.stream.delay * streamed.stream_pulse / pulse);
  }
  return finder.lengths();
}

std::vector<Window> windows_of(const Plan& plan) {
  const auto steps_of = [](int64_t frames, int64_t pulse) { return (frames + pulse - 1) / pulse; };
  // The first frame reaches every window no later than the last output.
  int64_t late = 0;
  for (const PlanIo& io : plan.outputs) {
    if (io.stream.pulse > 0) late = std::max(late, steps_of(io.stream.delay, io.stream.pulse));
  }
  std::vector<Window> out;
  for (const PlanState& state : plan.states) {
    for (const Ring& ring : plan.rings) {
      if (ring.buffer != state.value.ref.buffer || ring.pulse <= 0 || ring.history <= 0) continue;
      // The ring's history moves back to the start of its memory after the first of these steps.
      const int64_t steps = late + (ring.capacity - ring.history) / ring.pulse + 2;
      out.push_back({std::string(state.name),
                     steps_of(ring.history * plan.stream_pulse, ring.pulse),
                     steps * plan.stream_pulse});
    }
  }
  sort_list(out, [](const Window& a, const Window& b) { return a.crossed > b.crossed; });
  return out;
}

}  // namespace rill::audit
