// Links of random graphs that keep frames of the stream, or number them.

#include <algorithm>

#include "tests/property/writer.h"

namespace rill::test {

Wire Writer::repeated_edges(const Wire& x) {
  const char* const border = random_.chance(50) ? "replicated" : "reflect";
  const Wire padded = same(
      x, {"pad(", x.name, ", padding = [(0, 0), (0, 0), (", random_.in(0, 4), ", ",
          random_.in(0, 4), ")", x.features > 0 ? ", (0, 0)" : "", "], border = '", border, "')"});
  return random_.chance(50) ? any_conv(padded) : padded;
}

Wire Writer::counted_average(const Wire& x) {
  Shape s = any_window();
  s.before = std::min(s.before, s.extent() - 1);
  s.after = std::min(s.after, s.extent() - 1);
  scale(1, s.stride);
  return same(x, {"avg_pool(", x.name, ", size = [1, 1, ", s.kernel, x.features > 0 ? ", 1" : "",
                  "], ", window(s, true, x.features > 0), ", border = 'ignore')"});
}

Wire Writer::against_first(const Wire& x) {
  const int64_t begin = random_.in(0, 2);
  const std::string first =
      put({"slice(", x.name, ", axes = [2], begin = [", begin, "], end = [", begin + 1, "])"});
  return same(x, {x.name, random_.chance(50) ? " - " : " * ", first});
}

Wire Writer::first_prefixed(const Wire& x) {
  const int64_t begin = random_.in(0, 3);
  const std::string first = put({"slice(", x.name, ", axes = [2], begin = [", begin, "], end = [",
                                 begin + random_.in(1, 3), "])"});
  return same(x, {"concat([", first, ", ", x.name, "], axis = 2)"});
}

Wire Writer::unlike_frames(const Wire& x) {
  if (x.features > 0) return first_prefixed(x);
  const auto frames = [&](int64_t count) { return numbers({1, x.channels, count}); };
  const std::string front = frames(random_.in(1, 3));
  if (random_.chance(50)) return same(x, {"concat([", front, ", ", x.name, "], axis = 2)"});
  const std::string back = frames(random_.in(1, 3));
  if (random_.chance(50)) return same(x, {"concat([", x.name, ", ", back, "], axis = 2)"});
  return same(x, {"concat([", front, ", ", x.name, ", ", back, "], axis = 2)"});
}

std::string Writer::length_of(const Wire& x) {
  const std::string shape = put({"tract_core_shape_of(", x.name, ")"});
  const std::string one = put({"slice(", shape, ", axes = [0], begin = [2], end = [3])"});
  return put({"squeeze(", one, ", axes = [0])"});
}

Wire Writer::numbered(const Wire& x) {
  const int64_t start = random_.in(0, 5);
  const std::string range = put({"tract_core_range(0, ", length_of(x), ", 1)"});
  const std::string number = put({"tract_core_cast(", range, ", to = 'f32') + ", start, ".0"});
  const std::string axes = x.features > 0 ? "0, 1, 3" : "0, 1";
  return same(x, {x.name, " * 0.1 + ", put({"unsqueeze(", number, ", axes = [", axes, "])"})});
}

/// Combine frames with one of two numbers, by position: with one of them alone in a short stream.
Wire Writer::by_position(const Wire& x) {
  const Wire from = random_.chance(60) ? any_conv(x) : x;
  const std::string place = put({"tract_core_range(0, ", length_of(from), ", 1)"});
  const char* const numbers[] = {"0.0", "1.0", "0.5", "-0.7"};
  const std::string by = put({"select(", random_.chance(50) ? "ge(" : "lt(", place, ", ",
                              random_.in(1, 8), "), ", numbers[random_.in(0, 3)], ", ", number(),
                              ")"});
  const std::string axes = from.features > 0 ? "0, 1, 3" : "0, 1";
  const std::string wide = put({"unsqueeze(", by, ", axes = [", axes, "])"});
  const char* const kinds[] = {" * ", " + ", " - "};
  if (random_.chance(75)) return same(from, {from.name, kinds[random_.in(0, 2)], wide});
  return same(from, {random_.chance(50) ? "max(" : "min(", from.name, ", ", wide, ")"});
}

/// Prefix constant frames, and cut as many from the end: a short stream has no other frames.
Wire Writer::shifted(const Wire& x) {
  const std::string frames = length_of(x);
  const Wire wide = random_.chance(50) || x.features > 0 ? pad(x, random_.in(1, 7), 0, number())
                                                         : unlike_frames(x);
  return same(wide, {"slice(", wide.name, ", axes = [2], begin = [0], end = [", frames, "])"});
}

Wire Writer::rows_added(const Wire& x) {
  if (x.features > 0) return numbered(x);
  const std::string table = put({numbers({1, 1, 400})});
  const std::string rows =
      put({"slice(", table, ", axes = [2], begin = [0], end = [", length_of(x), "])"});
  return same(x, {x.name, " + ", rows});
}

Wire Writer::resampled(const Wire& x) {
  if (x.features > 0) return repeated_edges(x);
  const bool down = random_.chance(25);
  const int64_t factor = down ? 2 : random_.in(2, 4);
  scale(down ? 1 : factor, down ? factor : 1);
  const char* const places[] = {"half_pixel", "asymmetric"};
  const std::string by = down ? "0.5" : str_cat(factor, ".0");
  return same(x, {"tract_core_resize(", x.name, ", scales = [1.0, 1.0, ", by, "], interpolator = '",
                  random_.chance(70) ? "linear" : "cubic", "', coord_transformer = '",
                  places[random_.in(0, 1)], "')"});
}

/// Attention between frames: in a band around each frame, or within chunks.
Wire Writer::attention(const Wire& x) {
  if (x.features > 0 || infinite_) return numbered(x);
  attends_ = true;
  const std::string rows = put({"transpose(", x.name, ", axes = [0, 2, 1])"});
  const std::string keys = put({rows, " * ", numbers({1, 1, x.channels})});
  const std::string scores = put({"matmul(", rows, ", ", keys, ", transposeB = true)"});
  std::string place = put({"tract_core_range(0, ", length_of(x), ", 1)"});
  if (random_.chance(60)) place = put({place, " / ", random_.in(2, 5)});
  const std::string distance =
      put({"unsqueeze(", place, ", axes = [0, 2]) - unsqueeze(", place, ", axes = [0, 1])"});
  const std::string seen = put({"and(ge(", distance, ", ", -random_.in(0, 2), "), le(", distance,
                                ", ", random_.in(0, 4), "))"});
  std::string weights;
  if (random_.chance(15)) {
    weights = put({scores, " * tract_core_cast(", seen, ", to = 'f32')"});
  } else {
    const bool as_exported = random_.chance(50);
    const std::string none = as_exported ? scores + " * 0.0 + -inf" : "0.0 - 1.0 / 0.0";
    weights = put({"softmax(select(", seen, ", ", scores, ", ", none, "), axes = [2])"});
  }
  const std::string out = put({"matmul(", weights, ", ", rows, ")"});
  return same(x, {"transpose(", out, ", axes = [0, 2, 1])"});
}

Wire Writer::short_link(const Wire& x) {
  const Wire out = random_.chance(50) ? by_position(x) : shifted(x);
  wires_.push_back(out.name);
  return out;
}

Wire Writer::kept(const Wire& x) {
  switch (random_.in(0, 9)) {
    case 7:
      return resampled(x);
    case 8:
    case 9:
      return attention(x);
    case 0:
    case 1:
      return repeated_edges(x);
    case 2:
      return counted_average(x);
    case 3:
      return against_first(x);
    case 4:
      return random_.chance(50) ? first_prefixed(x) : unlike_frames(x);
    case 5:
      return numbered(x);
    default:
      return rows_added(x);
  }
}

}  // namespace rill::test
