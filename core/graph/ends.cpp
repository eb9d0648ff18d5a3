#include "core/graph/ends.h"

#include <algorithm>

#include "core/base/sorted.h"
#include "core/dim/pattern.h"

namespace rill {

std::vector<StreamEnd> shortest_ends(const Dim& frames, std::string_view symbol, int64_t pulse,
                                     bool late) {
  const Dim n = Dim::symbol(symbol);
  const Dim whole = Dim(pulse) * n;
  if (!never_falls(frames, symbol)) {
    Dim stepped = ceil_div(n, pulse) - Dim(1);
    if (late) stepped += eq(Dim(pulse) * floor_div(n, pulse), n);
    return {{n, stepped, 1}};
  }
  std::vector<StreamEnd> out;
  if (late) out.push_back({whole, n, 1});
  // With pulses of one frame, every stream has whole pulses only.
  if (!late || pulse > 1) out.push_back({whole + Dim(1), n, 0});
  return out;
}

Result<std::optional<int64_t>> most_frames_beyond(
    const Dim& length, std::string_view symbol, int64_t pulse, bool late,
    const std::function<Dim(const Dim& stepped, const Dim& frames)>& frames_beyond) {
  const Dim frames = max(Dim(0), length);
  std::optional<int64_t> most = 0;
  for (const StreamEnd& end : shortest_ends(frames, symbol, pulse, late)) {
    const Dim count = frames_beyond(end.stepped, frames.substitute(symbol, end.length));
    RILL_ASSIGN(const DimPattern pattern, DimPattern::of(count, symbol));
    RILL_ASSIGN(const std::optional<int64_t> greatest, pattern.greatest(end.from));
    if (!greatest) return greatest;
    most = std::max(most, greatest);
  }
  return most;
}

int64_t least_begin_unit(int64_t pulse, int64_t unit, const std::function<bool(int64_t)>& suits) {
  std::vector<int64_t> parts;
  for (int64_t i = 1; i <= pulse / i; ++i) {
    if (pulse % i == 0) parts.insert(parts.end(), {i, pulse / i});
  }
  sort_list(parts);
  for (const int64_t part : parts) {
    if (part < pulse && part % unit == 0 && suits(part)) return part;
  }
  return pulse;
}

}  // namespace rill
