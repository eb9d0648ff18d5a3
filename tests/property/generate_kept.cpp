// Links of random graphs that keep or number frames of the stream.

#include <algorithm>

#include "tests/property/writer.h"

namespace rill::test {

Wire Writer::repeated_border(const Wire& x) {
  const char* const border = random_.chance(50) ? "replicated" : "reflect";
  const Wire padded =
      same(x, "pad(", x.name, ", padding = [(0, 0), (0, 0), (", random_.in(0, 4), ", ",
           random_.in(0, 4), ")", x.features > 0 ? ", (0, 0)" : "", "], border = '", border, "')");
  return random_.chance(50) ? any_conv(padded) : padded;
}

Wire Writer::counted_average(const Wire& x) {
  Shape s = any_window();
  s.before = std::min(s.before, s.extent() - 1);
  s.after = std::min(s.after, s.extent() - 1);
  scale(1, s.stride);
  return same(x, "avg_pool(", x.name, ", size = [1, 1, ", s.kernel, x.features > 0 ? ", 1" : "",
              "], ", window(s, true, x.features > 0), ", border = 'ignore')");
}

Wire Writer::against_first(const Wire& x) {
  const int64_t begin = random_.in(0, 2);
  const std::string first =
      put("slice(", x.name, ", axes = [2], begin = [", begin, "], end = [", begin + 1, "])");
  return same(x, x.name, random_.chance(50) ? " - " : " * ", first);
}

Wire Writer::first_in_front(const Wire& x) {
  const int64_t begin = random_.in(0, 3);
  const std::string first = put("slice(", x.name, ", axes = [2], begin = [", begin, "], end = [",
                                begin + random_.in(1, 3), "])");
  return same(x, "concat([", first, ", ", x.name, "], axis = 2)");
}

Wire Writer::unlike_frames(const Wire& x) {
  if (x.features > 0) return first_in_front(x);
  const auto frames = [&](int64_t count) { return numbers({1, x.channels, count}); };
  const std::string front = frames(random_.in(1, 3));
  if (random_.chance(50)) return same(x, "concat([", front, ", ", x.name, "], axis = 2)");
  const std::string back = frames(random_.in(1, 3));
  if (random_.chance(50)) return same(x, "concat([", x.name, ", ", back, "], axis = 2)");
  return same(x, "concat([", front, ", ", x.name, ", ", back, "], axis = 2)");
}

std::string Writer::length_of(const Wire& x) {
  const std::string shape = put("tract_core_shape_of(", x.name, ")");
  const std::string one = put("slice(", shape, ", axes = [0], begin = [2], end = [3])");
  return put("squeeze(", one, ", axes = [0])");
}

Wire Writer::numbered(const Wire& x) {
  const int64_t start = random_.in(0, 5);
  const std::string range = put("tract_core_range(0, ", length_of(x), ", 1)");
  const std::string number = put("tract_core_cast(", range, ", to = 'f32') + ", start, ".0");
  const std::string axes = x.features > 0 ? "0, 1, 3" : "0, 1";
  return same(x, x.name, " * 0.1 + ", put("unsqueeze(", number, ", axes = [", axes, "])"));
}

Wire Writer::rows_added(const Wire& x) {
  if (x.features > 0) return numbered(x);
  const std::string table = put(numbers({1, 1, 400}));
  const std::string rows =
      put("slice(", table, ", axes = [2], begin = [0], end = [", length_of(x), "])");
  return same(x, x.name, " + ", rows);
}

Wire Writer::kept(const Wire& x) {
  switch (random_.in(0, 6)) {
    case 0:
    case 1:
      return repeated_border(x);
    case 2:
      return counted_average(x);
    case 3:
      return against_first(x);
    case 4:
      return random_.chance(50) ? first_in_front(x) : unlike_frames(x);
    case 5:
      return numbered(x);
    default:
      return rows_added(x);
  }
}

}  // namespace rill::test
