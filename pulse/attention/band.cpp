#include "pulse/attention/band.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/search.h"
#include "pulse/attention/heads.h"
#include "pulse/attention/limits.h"
#include "core/positions/positions.h"

namespace rill::pulse {
namespace {

/// The maximum number of mask rows, one per query, that the search computes.
constexpr int64_t kMostQueries = int64_t{1} << 20;

/// A run of keys that the masks treat alike for one query; it ends where the next piece begins.
struct Piece {
  int64_t from = 0;
  bool seen = true;
  bool counts = true;  ///< its score is finite, even if it is not seen
  bool weighs = true;  ///< no limit after the softmax removes its weight
};

/// Combines all limits, query by query. `abstracts`: the abstract values of the limits, then of
/// those after the softmax. A limit whose abstract value is unknown lets every key through.
class Seen {
 public:
  Seen(Positions* positions, const std::vector<Limit>& limits,
       const std::vector<Limit>& after_softmax, const std::vector<AbstractValue>& abstracts,
       int64_t keys)
      : positions_(*positions),
        limits_(limits),
        after_softmax_(after_softmax),
        abstract_math_(abstracts),
        keys_(keys) {}

  /// Compute the pieces of keys 0 to `keys`; return false if that takes too much work.
  bool pieces(int64_t query, std::vector<Piece>* out) {
    rows_.clear();
    for (const auto* all : {&limits_, &after_softmax_}) {
      for (const Limit& limit : *all) {
        const KeyRuns* row = positions_.row(limit.wire, limit.at, query, keys_);
        if (!row) return false;
        rows_.push_back(split(limit, *row));
        forget(abstract_math_[rows_.size() - 1], query, &rows_.back());
      }
    }
    out->clear();
    std::vector<size_t> now(rows_.size(), 0);
    for (int64_t from = 0; from < keys_;) {
      int64_t until = keys_;
      for (size_t k = 0; k < rows_.size(); ++k) {
        const KeyRuns& row = rows_[k];
        while (now[k] + 1 < row.size() && row[now[k] + 1].from <= from) ++now[k];
        if (now[k] + 1 < row.size()) until = std::min(until, row[now[k] + 1].from);
      }
      out->push_back(piece(from, now));
      from = until;
    }
    return true;
  }

 private:
  static bool lets(const Limit& limit, double value) {
    return std::isnan(value) || limit.lets(value);
  }

  /// Return the row, split so that its limit either shows or hides each run as a whole.
  static KeyRuns split(const Limit& limit, const KeyRuns& row) {
    KeyRuns out;
    for (size_t i = 0; i < row.size(); ++i) {
      const KeyRun& run = row[i];
      const int64_t until = i + 1 < row.size() ? row[i + 1].from : INT64_MAX;
      out.push_back(run);
      if (run.slope == 0.0) continue;
      // A line passes the threshold once; on either side, all values are alike.
      const double steps = std::floor((limit.threshold() - run.value) / run.slope);
      if (!(steps >= -1 && steps < kMostSteps)) continue;
      for (int64_t key = run.from + static_cast<int64_t>(steps), n = 0; n < 2; ++key, ++n) {
        if (key > run.from && key < until) out.push_back({key, run.at(key), run.slope});
      }
    }
    return out;
  }

  /// Drop the values of a row at distances beyond which they may differ from query to query.
  static void forget(const AbstractValue& abstract, int64_t query, KeyRuns* row) {
    const int64_t begin = abstract.is_known_before() ? 0 : query - abstract.least_distance + 1;
    const int64_t end = abstract.is_known_after() ? INT64_MAX : query + abstract.least_distance;
    if (begin <= 0 && end == INT64_MAX) return;
    KeyRuns out;
    if (begin > 0) out.push_back({0, kUnknown, 0});
    for (size_t i = 0; i < row->size(); ++i) {
      const int64_t from = std::max((*row)[i].from, begin);
      const int64_t until = i + 1 < row->size() ? (*row)[i + 1].from : INT64_MAX;
      if (from < std::min(until, end)) out.push_back({from, (*row)[i].at(from), (*row)[i].slope});
    }
    if (end < INT64_MAX) out.push_back({end, kUnknown, 0});
    *row = std::move(out);
  }

  Piece piece(int64_t from, const std::vector<size_t>& now) const {
    Piece out{from, true, true, true};
    bool replaced = false;
    for (size_t k = 0; k < rows_.size(); ++k) {
      const bool inside = k < limits_.size();
      const Limit& limit = inside ? limits_[k] : after_softmax_[k - limits_.size()];
      const double value = rows_[k][now[k]].at(from);
      if (lets(limit, value)) continue;
      if (!inside) {
        out.weighs = false;
        continue;
      }
      out.seen = false;
      // If several nodes overwrite a score, the outermost wins; an added -inf still hides the key.
      if (replaced || !out.counts) continue;
      replaced = limit.replaces();
      out.counts = replaced ? limit.finite : !std::isinf(value);
    }
    return out;
  }

  static constexpr double kMostSteps = 1e15;

  Positions& positions_;
  const std::vector<Limit>& limits_;
  const std::vector<Limit>& after_softmax_;
  const std::vector<AbstractValue>& abstract_math_;
  int64_t keys_;
  std::vector<KeyRuns> rows_;
};

/// Return whether a query of some stream may see no key while a finite number hides some. Such keys
/// then have weight, or keep the softmax from giving NaN. The last key is `last` or a later one.
bool sees_nothing(const std::vector<Piece>& pieces, int64_t last) {
  bool left = false;
  bool infinite = false;
  bool weighs = false;
  for (const Piece& piece : pieces) {
    if (piece.from > last && (weighs || (left && infinite))) return true;
    if (piece.seen) return false;
    left |= piece.counts;
    infinite |= !piece.counts;
    weighs |= piece.counts && piece.weighs;
  }
  return weighs || (left && infinite);
}

/// Drop the limits that do not hold in a row whose keys are all hidden. `limits` are ordered from
/// the softmax to the scores. A limit that hides with a finite number hides nothing if all other
/// keys are at minus infinity; neither does a limit closer to the scores than a finite number that
/// replaces them.
void keep_infinite(std::vector<Limit>* limits) {
  limits->erase(
      find_if(*limits, [](const Limit& limit) { return limit.finite && limit.replaces(); }),
      limits->end());
  std::erase_if(*limits,
                [](const Limit& limit) { return limit.finite || limit.kind == Limit::Kind::kLow; });
  for (Limit& limit : *limits) {
    if (limit.kind == Limit::Kind::kHigh) limit.kind = Limit::Kind::kNotInfinite;
  }
}

/// Return whether finite numbers hide some keys.
bool hides_by_numbers(const std::vector<Limit>& limits) {
  for (const Limit& each : limits) {
    const bool limits_range = each.kind == Limit::Kind::kHigh || each.kind == Limit::Kind::kLow;
    if (each.finite || limits_range) return true;
  }
  return false;
}

/// Finds the visible keys of each query.
class Search {
 public:
  Search(Positions* positions, const std::vector<Limit>& limits,
         const std::vector<Limit>& after_softmax, int64_t fewer, Band* band)
      : positions_(*positions),
        limits_(limits),
        after_softmax_(after_softmax),
        fewer_(fewer),
        band_(*band) {
    for (const auto* all : {&limits, &after_softmax}) {
      for (const Limit& limit : *all) {
        abstract_math_.push_back(abstract_of(limit).value_or(AbstractValue()));
        least_distance_ = std::max(least_distance_, abstract_math_.back().least_distance);
        settled_ = std::max(settled_, abstract_math_.back().settled);
      }
    }
  }

  void run() {
    const int64_t period = band_.period;
    // From `settled_` on, queries of one phase see the same keys. The rows below cover every pair
    // of query and key up to a shift along the diagonal, or away from it.
    const int64_t base = (least_distance_ / period + 2) * period;
    const int64_t all = settled_ > 0 ? settled_ + base + period : base + period;
    if (all > kMostQueries) return give_up(all);
    const bool finite = hides_by_numbers(limits_);
    Seen seen(&positions_, limits_, after_softmax_, abstract_math_, all + least_distance_ + period);
    const auto phases = static_cast<size_t>(period);
    std::vector<int64_t> first(phases, INT64_MAX);
    std::vector<int64_t> last(phases, INT64_MIN);
    std::vector<Piece> pieces;
    if (!find_sinks(&seen, all)) return give_up(all);
    for (int64_t query = settled_ > 0 || finite ? 0 : base; query < all; ++query) {
      if (!seen.pieces(query, &pieces)) return give_up(all);
      const auto phase = static_cast<size_t>(query % period);
      const int64_t last_key = std::max<int64_t>(query - fewer_, 0);
      if (finite && !band_.blind && sees_nothing(pieces, last_key)) band_.blind = query;
      if (settled_ == 0 && query < base) continue;
      for (size_t i = 0; i < pieces.size(); ++i) {
        if (!pieces[i].seen) continue;
        const bool ends = i + 1 == pieces.size();
        const int64_t end = ends ? INT64_MAX : pieces[i + 1].from;
        if (query < band_.sinks && pieces[i].from < band_.sinks) {
          band_.last_sink[static_cast<size_t>(query)] = std::min(end, band_.sinks) - 1;
        }
        const int64_t from = std::max(pieces[i].from, band_.sinks);
        if (from >= end) continue;
        first[phase] = std::min(first[phase], from - query);
        last[phase] = std::max(last[phase], ends ? least_distance_ : end - 1 - query);
      }
    }
    for (size_t phase = 0; phase < phases; ++phase) {
      // A query that sees no key gives NaN for any range of keys.
      if (first[phase] == INT64_MAX) first[phase] = last[phase] = 0;
      // From `least_distance_` on, masks are constant, so the band is unbounded there.
      band_.first[phase] = first[phase] <= -least_distance_ ? INT64_MIN : first[phase];
      band_.last[phase] = last[phase] >= least_distance_ ? INT64_MAX : last[phase];
    }
  }

  /// Find the first keys of the stream that queries see at any distance. The last queries of the
  /// search stand for all later ones. Return false if that takes too much work.
  bool find_sinks(Seen* seen, int64_t queries) {
    std::vector<Piece> pieces;
    for (int64_t query = queries - band_.period; settled_ > 0 && query < queries; ++query) {
      if (!seen->pieces(query, &pieces)) return false;
      for (size_t i = 0; i < pieces.size(); ++i) {
        const int64_t until = i + 1 < pieces.size() ? pieces[i + 1].from : INT64_MAX;
        const int64_t far = std::min({until, settled_, query - least_distance_ + 1});
        if (pieces[i].seen && pieces[i].from < far) band_.sinks = std::max(band_.sinks, far);
      }
    }
    band_.last_sink.assign(static_cast<size_t>(band_.sinks), -1);
    return true;
  }

  std::optional<AbstractValue> abstract_of(const Limit& limit) const {
    return positions_.compared(limit.wire, limit.at, band_.period, limit.threshold());
  }

 private:
  void give_up(int64_t queries) {
    band_.gave_up = str_cat("the period of its masks is at least ",
                            counted(queries, "query", "queries"), ", more than the search covers");
  }

  Positions& positions_;
  const std::vector<Limit>& limits_;
  const std::vector<Limit>& after_softmax_;
  int64_t fewer_;
  Band& band_;
  std::vector<AbstractValue> abstract_math_;
  int64_t least_distance_ = 0;
  int64_t settled_ = 0;
};

/// Decides which limits the search can use: those that compare known functions of positions.
class Reading {
 public:
  Reading(Positions* positions, int64_t period, const std::vector<Limit>& limits)
      : positions_(*positions), period_(period), numbers_(hides_by_numbers(limits)) {}

  bool is_known(const Limit& limit) const { return is_known(limit, false); }
  /// Return whether the search can use a limit. A factor that is known on one side of the diagonal
  /// masks nothing on the other side: keys may have weight there. But a finite number that hides
  /// keys may make all keys count. So if any limit hides with one, every limit must be known on
  /// both sides.
  bool is_read(const Limit& limit) const {
    return is_known(limit, !numbers_ && limit.kind == Limit::Kind::kNotZero);
  }
  bool fades(const Limit& limit) const { return is_read(limit) && !is_known(limit, false); }
  std::string end_of(const Limit& limit) const {
    const Node& end = positions_.end_of_walk(limit.wire, limit.at);
    return str_cat("node \"", end.name, "\" (", end.op->name(), ")");
  }

 private:
  bool is_known(const Limit& limit, bool half) const {
    const auto abstract = positions_.compared(limit.wire, limit.at, period_, limit.threshold());
    return abstract && (half || (abstract->is_known_before() && abstract->is_known_after()));
  }

  Positions& positions_;
  int64_t period_;
  bool numbers_;
};

/// Report the limits that prevent a band: the first that fades, and the first that is unknown.
void report_unread(const Graph& graph, const Reading& reading,
                         const std::vector<Limit>& limits, Band* band) {
  const auto fading = find_if(limits, [&](const Limit& limit) { return reading.fades(limit); });
  if (fading != limits.end()) band->fading = reading.end_of(*fading);
  const auto misread = find_if(limits, [&](const Limit& limit) { return !reading.is_read(limit); });
  if (misread == limits.end() || !band->unread.empty()) return;
  const Node& node = graph.node(misread->wire.node);
  band->unread =
      str_cat("the mask of node \"", node.name, "\" (", node.op->name(),
              ") is not a known function of positions, because of ", reading.end_of(*misread));
}

/// Drop the limits that are unknown. An unknown limit may hide every key that the others show; a
/// bias does not.
void keep_read(const Reading& reading, bool by_frames, std::vector<Limit>* limits, Band* band) {
  const auto unread = [&](const Limit& limit) { return !reading.is_read(limit); };
  const bool open = by_frames || any_of(*limits, [&](auto& limit) {
                      return unread(limit) && (limit.replaces() || limit.large);
                    });
  const bool limited = !limits->empty();
  if (open) keep_infinite(limits);
  if (open && limited && limits->empty() && band->unread.empty()) {
    band->unread =
        "frames may hide the keys that positions show, and if finite numbers hide all keys, all "
        "count alike: mask with minus infinity";
  }
  std::erase_if(*limits, unread);
}

/// Return the keys that the masks on one path show.
Band band_of(const Graph& graph, const Limits& found, int64_t fewer, std::string_view symbol) {
  Positions positions(graph, symbol);
  std::vector<Limit> limits = found.all;
  std::erase_if(limits, [](const Limit& limit) { return limit.is_bias(); });
  Band band;
  band.zeroed = !found.after_softmax.empty();
  if (found.weak) {
    band.unread = str_cat("a mask of ", *found.weak, " leaves hidden keys some weight");
  }
  std::vector<Limit> after_softmax = found.after_softmax;
  for (const auto* all : {&limits, &after_softmax}) {
    for (const Limit& limit : *all) {
      positions.collect_period(limit.wire, limit.at, &band.period);
    }
  }
  const Reading reading(&positions, band.period, limits);
  report_unread(graph, reading, limits, &band);
  keep_read(reading, found.by_frames, &limits, &band);
  std::erase_if(after_softmax, [&](const Limit& limit) { return !reading.is_known(limit); });
  const auto all = static_cast<size_t>(band.period);
  band.first.assign(all, INT64_MIN);
  band.last.assign(all, INT64_MAX);
  if (!limits.empty()) Search(&positions, limits, after_softmax, fewer, &band).run();
  if (limits.empty() && found.softmax && band.unread.empty()) {
    const Node& node = graph.node(*found.softmax);
    band.unread = str_cat("node \"", node.name, "\" (", node.op->name(),
                          ") normalises over all keys, as no upstream mask hides any");
  }
  return band;
}

/// Return the keys that either of two bands shows.
Band either(const Band& a, const Band& b) {
  Band out = a;
  out.period = std::lcm(a.period, b.period);
  if (out.gave_up.empty()) out.gave_up = b.gave_up;
  if (out.unread.empty()) out.unread = b.unread;
  if (out.fading.empty()) out.fading = b.fading;
  if (!out.blind) out.blind = b.blind;
  out.zeroed |= b.zeroed;
  out.sinks = std::max(out.sinks, b.sinks);
  out.last_sink.resize(static_cast<size_t>(out.sinks), -1);
  for (size_t query = 0; query < b.last_sink.size(); ++query) {
    out.last_sink[query] = std::max(out.last_sink[query], b.last_sink[query]);
  }
  if (out.period > kMostQueries) {
    out.period = 1;
    out.gave_up = "the period of its masks has more queries than the search covers";
  }
  const auto all = static_cast<size_t>(out.period);
  out.first.resize(all);
  out.last.resize(all);
  for (size_t phase = 0; phase < all; ++phase) {
    const size_t of_a = phase % a.first.size();
    const size_t of_b = phase % b.first.size();
    out.first[phase] = std::min(a.first[of_a], b.first[of_b]);
    out.last[phase] = std::max(a.last[of_a], b.last[of_b]);
  }
  return out;
}

}  // namespace

Band band_of(const Graph& graph, std::span<const OutletId> large, OutletId used, Square at,
             int64_t fewer, std::string_view symbol) {
  const std::vector<Limits> paths = limits_of(graph, large, used, at, symbol);
  std::optional<Band> found;
  for (const Limits& path : paths) {
    std::vector<OutletId> wires;
    for (const auto* all : {&path.all, &path.after_softmax}) {
      for (const Limit& limit : *all) wires.push_back(limit.wire);
    }
    for (const Graph& heads : heads_of(graph, wires, symbol)) {
      const Band band = band_of(heads, path, fewer, symbol);
      found = found ? either(*found, band) : band;
    }
  }
  Band& band = *found;
  // One softmax gives no weight to keys that do not exist; a sum with others may.
  band.zeroed |= paths.size() > 1 || !paths[0].softmax;
  return band;
}

std::optional<Unlimited> unlimited(const Band& band, std::optional<int64_t> most,
                                   std::string_view symbol) {
  const auto is = [](const std::vector<int64_t>& all, int64_t which) {
    return contains(all, which);
  };
  const bool follows = is(band.last, INT64_MAX);
  const bool before = is(band.first, INT64_MIN) && !most;
  if (!follows && !before) return std::nullopt;
  const std::string assertion =
      follows ? std::string()
              : str_cat("; or assert how long a stream may be, as in --assert '", symbol,
                        " <= 2000', which is then the number of keys that are kept");
  if (!band.unread.empty()) {
    return Unlimited{str_cat("attention: ", band.unread, "; queries may see all ",
                             follows ? "later keys" : "earlier keys, without limit"),
                     "Compare distances of positions, as in abs(i - j) <= 16, and hide with minus "
                     "infinity; or limit attention to a window of frames" + assertion};
  }
  if (!band.fading.empty()) {
    return Unlimited{str_cat("attention: ", follows ? "later" : "earlier",
                             " keys may keep a weight at any distance, by ", band.fading,
                             ": a small weight is not 0"),
                     str_cat("Cut the weights off at a distance, as in torch.where(",
                             follows ? "d.abs() <= 200" : "(d >= 0) & (d <= 200)",
                             ", w, 0) for d of queries less keys", assertion)};
  }
  if (follows) {
    return Unlimited{"every frame of one input meets every frame of another: queries see all "
                     "later keys",
                     "Limit attention to a window of frames, or to earlier ones"};
  }
  return Unlimited{"queries see all earlier keys, without limit",
                   "Limit attention to a window of frames" + assertion};
}

}  // namespace rill::pulse
