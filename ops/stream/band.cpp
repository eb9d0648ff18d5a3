#include "ops/stream/band.h"

#include <algorithm>
#include <cmath>

#include "ops/stream/limits.h"
#include "ops/stream/position_values.h"

namespace rill::ops {
namespace {

/// How many pairs of a query and a key are looked at, at most.
constexpr double kMostLooks = 2e6;

/// What all limits together let through.
class Seen {
 public:
  Seen(const Positions& positions, const std::vector<Limit>& limits,
       const std::vector<Limit>& behind)
      : positions_(positions), limits_(limits), behind_(behind) {}

  bool operator()(int64_t query, int64_t key) const {
    return all_let(limits_, query, key);
  }
  /// Whether a query of some stream sees no key, and keys that a finite number hides count then:
  /// they have weight, or keep others from giving NaN.
  bool nothing(int64_t query, int64_t far) const {
    bool left = false;
    bool infinite = false;
    bool weighs = false;
    const auto look = [&](int64_t key) {
      const bool counts = leaves(query, key);
      left |= counts;
      infinite |= !counts;
      weighs |= counts && all_let(behind_, query, key);
    };
    const auto differs = [&] { return weighs || (left && infinite); };
    // The stream ends with the query, or later.
    for (int64_t key = query; key >= 0; --key) {
      if ((*this)(query, key)) return false;
      look(key);
    }
    for (int64_t key = query + 1; !differs() && key <= query + far; ++key) {
      if ((*this)(query, key)) return false;
      look(key);
    }
    return differs();
  }

 private:
  bool all_let(const std::vector<Limit>& limits, int64_t query, int64_t key) const {
    return std::all_of(limits.begin(), limits.end(), [&](const Limit& each) {
      const auto value = positions_.value(each.wire, each.at, query, key);
      return !value || each.lets(*value);
    });
  }
  /// Whether a key gets a finite score: of numbers put in its place the outermost counts, and minus
  /// infinity that is added to it.
  bool leaves(int64_t query, int64_t key) const {
    for (const Limit& each : limits_) {
      const auto value = positions_.value(each.wire, each.at, query, key);
      if (!value || each.lets(*value)) continue;
      if (each.replaces()) return each.finite;
      if (std::isinf(*value)) return false;
    }
    return true;
  }

  const Positions& positions_;
  const std::vector<Limit>& limits_;
  const std::vector<Limit>& behind_;
};

/// Drops the limits that a row may break in which every key is hidden. `limits` go from the softmax
/// inwards. A limit that hides with a finite number does not hide where all other keys are at minus
/// infinity, and neither does what lies further in than a finite number that replaces scores.
void keep_infinite(std::vector<Limit>* limits) {
  limits->erase(std::find_if(limits->begin(), limits->end(),
                             [](const Limit& limit) { return limit.finite && limit.replaces(); }),
                limits->end());
  std::erase_if(*limits, [](const Limit& limit) {
    return limit.finite || limit.kind == Limit::Kind::kLow;
  });
  for (Limit& limit : *limits) {
    if (limit.kind == Limit::Kind::kHigh) limit.kind = Limit::Kind::kNotInfinite;
  }
}

}  // namespace

Band band_of(const Graph& graph, std::span<const OutletId> large, OutletId used, Square at,
             std::string_view symbol) {
  const Positions positions(graph, symbol);
  const Limits found = limits_of(graph, large, used, at, symbol);
  std::vector<Limit> limits = found.all;
  Band band;
  band.zeroed = !found.behind.empty();
  if (found.weak) {
    band.unread = str_cat("; a mask of ", *found.weak, " leaves them some weight");
  }
  Positions::Numbers numbers;
  std::vector<Limit> behind = found.behind;
  for (const Limit& limit : limits) positions.collect(limit.wire, limit.at, &numbers);
  for (const Limit& limit : behind) positions.collect(limit.wire, limit.at, &numbers);
  band.period = numbers.period;
  const auto unread = [&](const Limit& limit) {
    return positions.shift(limit.wire, limit.at, band.period) != 0.0;
  };
  const auto misread = std::find_if(limits.begin(), limits.end(), unread);
  if (misread != limits.end() && band.unread.empty()) {
    const Node& node = graph.node(misread->wire.node);
    band.unread = str_cat("; what node \"", node.name, "\" (", node.op->name(),
                          ") hides is not told from positions");
  }
  // What is not read may hide all that the others let through; a bias does not.
  const bool open = found.by_frames || std::any_of(limits.begin(), limits.end(), [&](auto& limit) {
                      return unread(limit) && (limit.replaces() || limit.large);
                    });
  if (open) keep_infinite(&limits);
  if (open && limits.empty() && band.unread.empty()) {
    band.unread =
        "; frames may hide what positions leave, and where finite numbers hide all keys, all "
        "count alike: minus infinity hides for good";
  }
  std::erase_if(limits, unread);
  std::erase_if(behind, unread);
  // Beyond this, differences of positions have passed all that they are compared with.
  const double far = 2 * (numbers.reach + 4) * numbers.stretch * static_cast<double>(band.period);
  const auto all = static_cast<size_t>(band.period);
  band.first.assign(all, INT64_MIN);
  band.last.assign(all, INT64_MAX);
  // Near the beginning, numbers that positions are clamped to may matter: all queries are looked
  // at.
  const bool levels_off = positions.levels_off();
  const double queries = static_cast<double>(band.period) + (levels_off ? 2 * far : 0);
  if (limits.empty() || queries * far > kMostLooks) return band;
  const Seen seen(positions, limits, behind);
  const bool finite = std::any_of(limits.begin(), limits.end(), [](const Limit& each) {
    return each.finite || each.kind == Limit::Kind::kHigh || each.kind == Limit::Kind::kLow;
  });
  const auto limit = static_cast<int64_t>(far);
  // Where values level off, the keys far behind a query are to lie where they have.
  const int64_t base = ((levels_off ? 2 : 1) * limit / band.period + 2) * band.period;
  for (int64_t phase = 0; phase < band.period; ++phase) {
    int64_t first = INT64_MAX;
    int64_t last = INT64_MIN;
    const auto look = [&](int64_t query) {
      for (int64_t d = std::max(-limit, -query); d <= limit; ++d) {
        if (!seen(query, query + d)) continue;
        first = std::min(first, d);
        last = std::max(last, d);
      }
    };
    for (int64_t query = phase; levels_off && query <= base; query += band.period) look(query);
    look(base + phase);
    for (int64_t query = phase; finite && !band.blind && query <= base + phase;
         query += band.period) {
      if (seen.nothing(query, limit)) band.blind = query;
    }
    const auto at_phase = static_cast<size_t>(phase);
    // A query that sees no key at all gives NaN, whatever it has.
    if (first == INT64_MAX) first = last = 0;
    band.first[at_phase] = first <= -limit + band.period ? INT64_MIN : first;
    band.last[at_phase] = last >= limit - band.period ? INT64_MAX : last;
  }
  return band;
}

}  // namespace rill::ops
