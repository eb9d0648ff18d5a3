#include "pulse/attention/layout.h"

#include <algorithm>
#include <numeric>

#include "core/base/search.h"

namespace rill::pulse {
namespace {

/// Return the number of queries after which the visible keys repeat; the period of a band may be a
/// multiple of it.
int64_t least_period(const Band& band) {
  const auto recurs = [&](size_t after) {
    for (size_t i = 0; i < band.first.size(); ++i) {
      const size_t other = (i + after) % band.first.size();
      if (band.first[i] != band.first[other] || band.last[i] != band.last[other]) return false;
    }
    return true;
  };
  int64_t out = 1;
  while (out < band.period && (band.period % out != 0 || !recurs(static_cast<size_t>(out)))) ++out;
  return out;
}

/// Return the asserted maximum number of queries of a stream: the last one may look back at key 0.
std::optional<int64_t> most_of(const SymbolScope& scope, const Dim& queries) {
  int64_t high = 1;
  while (high <= (1 << 20) && !scope.proves_ge(Dim(high), queries)) high *= 2;
  if (high > (1 << 20)) return std::nullopt;
  int64_t low = high / 2;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (scope.proves_ge(Dim(middle), queries) ? high : low) = middle;
  }
  return high;
}

Status check(const PulseBuilder& b, const Band& band, bool past_only) {
  if (!band.gave_up.empty()) {
    return b.refuse("Compare positions with smaller numbers", "attention: ", band.gave_up);
  }
  if (band.blind) {
    return b.refuse("Hide keys with minus infinity, or let every query see its own frame", "query ",
                    *band.blind,
                    " may see no key: the mask hides keys with a finite "
                    "number, so that all keys then count alike");
  }
  const bool ahead = any_of(band.last, [](int64_t last) { return last > 0; });
  if (!past_only || !ahead) return {};
  return b.refuse(
      "Hide keys that follow a query, as in (d >= 0) & (d < 64), or shift scores "
      "against 2 n - 1 distances",
      "a shift of scores against n distances leaves scores of later keys undefined");
}

/// Converts queries and key numbers to positions in the streaming wire of keys.
class Places {
 public:
  explicit Places(Layout* layout) : layout_(*layout) {}

  /// Return where key number `key` lies in the streaming wire of keys.
  int64_t of_key(int64_t key) const { return layout_.key_delay - layout_.front + key; }
  /// Return the number of the key at the same time as a query.
  int64_t beside(int64_t query) const { return query * layout_.rates.query / layout_.rates.key; }
  /// Return where the pulse that outputs a query begins in the streaming wire of keys.
  int64_t pulse_of(int64_t query) const {
    return (query + layout_.query_delay) / layout_.pulse * layout_.key_pulse;
  }
  /// Delay the queries until this one finds a key. A longer delay loses no key that a query found.
  void wait(int64_t query, int64_t key) {
    while (key >= pulse_of(query) + layout_.key_pulse) ++layout_.query_delay;
  }

 private:
  Layout& layout_;
};

}  // namespace

Status lay_out(PulseBuilder& b, Band band, const Dim& queries, bool past_only, Layout* layout) {
  RILL_TRY(check(b, band, past_only));
  const bool reaches = contains(band.first, INT64_MIN);
  const bool asserted = reaches && layout->rates.alike();
  const auto most_kept = asserted ? most_of(b.scope(), queries) : std::nullopt;
  if (const auto endless = unlimited(band, most_kept, b.symbol())) {
    return b.refuse(endless->remedy, endless->cause);
  }
  if (!reaches) layout->first = FirstKeys(std::max<int64_t>(band.sinks - layout->front, 0));
  for (int64_t& first : band.first) {
    if (first == INT64_MIN) first = 1 - most_kept.value_or(1);
  }
  const int64_t p = layout->pulse;
  // Pulses that begin elsewhere in the period, or in the middle of a key, would find too few keys.
  b.begins_at_multiples_of(std::gcd(p, std::lcm(least_period(band), layout->rates.key)), p);
  const int64_t cycle = std::lcm(p, band.period);
  const auto phase = [&](int64_t query) { return static_cast<size_t>(query % band.period); };
  Places places(layout);
  for (int64_t query = 0; query < cycle; ++query) {
    places.wait(query, places.of_key(places.beside(query) + band.last[phase(query)]));
  }
  bool waits = false;
  for (size_t i = 0; i < band.last_sink.size(); ++i) {
    const auto query = static_cast<int64_t>(i);
    if (band.last_sink[i] < layout->front) continue;
    const int64_t key = places.of_key(band.last_sink[i]);
    places.wait(query, key);
    waits |= key > query + layout->query_delay;
  }
  // Some first queries attend to later keys. Whether these are in memory depends on where pulses
  // begin, so the first frames must come in whole pulses.
  const auto waiting = static_cast<int64_t>(band.last_sink.size());
  if (waits) b.settles_at(waiting + layout->query_delay, p);
  int64_t back = 0;
  int64_t most = 0;  // `back`, if the query begins its pulse
  for (int64_t query = 0; query < cycle; ++query) {
    const int64_t first = places.of_key(places.beside(query) + band.first[phase(query)]);
    back = std::max(back, places.pulse_of(query) - first);
    most = std::max(most, places.beside(query + layout->query_delay) - first);
  }
  layout->keys = layout->key_pulse + back;
  layout->reserve = std::max<int64_t>(most - back, 0);
  return {};
}

}  // namespace rill::pulse
