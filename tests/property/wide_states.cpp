// Links of wide graphs that keep frames, count them, loop over them, or add inputs.

#include "tests/property/wide_writer.h"

namespace rill::test {

/// Join frames of the wire itself, or of a table, as prefix or suffix.
WideWire WideWriter::joined(const WideWire& x) {
  const int64_t begin = size();
  const int64_t count = draw_.in(1, 3);
  std::string part;
  if (batch_ == 1 && draw_.chance(50)) {
    part = put({numbers({1, x.channels, count})});
  } else {
    part = slice(x.name, begin, str_cat(begin + count));
  }
  const bool front = draw_.chance(60);
  return same(x, {"concat([", front ? part : x.name, ", ", front ? x.name : part, "], axis = 2)"});
}

WideWire WideWriter::against_kept(const WideWire& x) {
  const int64_t begin = size();
  const int64_t count = draw_.in(1, 4);
  const std::string kept = slice(x.name, begin, str_cat(begin + count));
  switch (draw_.in(0, 2)) {
    case 0:
      return same(x, {x.name, " - mean_reduce(", kept, ", axes = [2])"});
    case 1:
      return same(x, {x.name, " * max_reduce(", kept, ", axes = [2])"});
    default: {
      const std::string rows = put({"transpose(", kept, ", axes = [2, 0, 1])"});
      const std::string last =
          put({"tract_core_scan(body = 'sum_loop', scan = [('x', ", rows,
               ", 0, 1)], full = [], state = [('h', ", numbers({1, batch_, x.channels}),
               ", 'h_t')], output = [('h_t', 'last', 0, 1)], skip = 0)"});
      return same(x, {x.name, " + transpose(", last, ", axes = [1, 2, 0])"});
    }
  }
}

std::string WideWriter::gru(const std::string& rows, int64_t channels, const std::string& output) {
  const auto gate = [&] {
    return put({"matmul(", rows, ", ", numbers({1, channels, channels}), ", transposeB = true)"});
  };
  const std::string r = gate();
  const std::string z = gate();
  const std::string n = gate();
  const auto weight = [&] { return numbers({1, channels, channels}); };
  const std::string w_r = weight();
  const std::string w_z = weight();
  const std::string w_n = weight();
  return put({"tract_core_scan(body = 'gru_loop', scan = [('r_x', ", r, ", 0, 1), ('z_x', ", z,
              ", 0, 1), ('n_x', ", n, ", 0, 1)], full = [('W_r', ", w_r, "), ('W_z', ", w_z,
              "), ('W_n', ", w_n, "), ('b_n', ", numbers({1, 1, channels}), ")], state = [('h', ",
              numbers({1, batch_, channels}), ", 'h_t')], output = [('h_t', '", output,
              "', 0, 1)], skip = 0)"});
}

WideWire WideWriter::running(const WideWire& x) {
  if (draw_.chance(40)) {
    return same(x, {"tract_core_cumsum(", x.name, ", axis = 2, exclusive = ",
                    draw_.chance(50) ? "true" : "false", ", reverse = false) * 0.01"});
  }
  const std::string rows = put({"transpose(", x.name, ", axes = [2, 0, 1])"});
  return same(x, {"transpose(", gru(rows, x.channels, "full"), ", axes = [1, 2, 0])"});
}

WideWire WideWriter::resized(const WideWire& x) {
  const char* const kinds[] = {"nearest", "linear", "cubic"};
  const char* const places[] = {"half_pixel", "asymmetric"};
  const char* const nearest[] = {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"};
  return same(x, {"tract_core_resize(", x.name, ", scales = [1.0, 1.0, ",
                  draw_.chance(20) ? "0.5" : str_cat(rate(), ".0"), "], interpolator = '",
                  kinds[draw_.in(0, 2)], "', coord_transformer = '", places[draw_.in(0, 1)],
                  "', nearest_mode = '", nearest[draw_.in(0, 3)], "')"});
}

/// [batch, f, n] -> [batch, 1, f * n], after a convolution to f channels.
WideWire WideWriter::regrouped(const WideWire& x) {
  const int64_t factor = rate();
  const std::string wide = put({"conv(", x.name, ", ", numbers({factor, x.channels, 1}),
                                ", 0.0, padding = [(0, 0)], border = 'constant')"});
  const std::string transposed = put({"transpose(", wide, ", axes = [0, 2, 1])"});
  const std::string merged =
      put({"reshape(", transposed, ", shape = [-1], axis_start = 1, axis_count = 2)"});
  return {put({"unsqueeze(", merged, ", axes = [1])"}), 1};
}

WideWire WideWriter::by_position(const WideWire& x) {
  const std::string range = put({"tract_core_range(0, ", frames_of(x.name), ", 1)"});
  const std::string place = put({"unsqueeze(", range, ", axes = [0, 1])"});
  const int64_t at = size();
  switch (draw_.in(0, 3)) {
    case 0:
      return same(x, {"select(", place, " < ", at, ", ", x.name, ", ", number(), ")"});
    case 1:
      return same(x, {"select(", place, " >= ", at, ", ", x.name, ", 0.5 * ", x.name, ")"});
    case 2:
      return same(x, {x.name, " + tract_core_cast(", place, " / ", std::max<int64_t>(1, at),
                      ", to = 'f32') * 0.01"});
    default:
      return same(
          x, {x.name, " * 0.5 + sin(tract_core_cast(", place, ", to = 'f32') + ", number(), ")"});
  }
}

WideWire WideWriter::with_static(const WideWire& x) {
  const std::string side = static_input();
  std::string one;  // [batch, 2, 1]
  switch (draw_.in(0, 3)) {
    case 0:
      one = put({"mean_reduce(", side, ", axes = [2])"});
      break;
    case 1: {
      const std::string rows = put({"transpose(", side, ", axes = [2, 0, 1])"});
      one = put({"transpose(", gru(rows, 2, "last"), ", axes = [1, 2, 0])"});
      break;
    }
    case 2: {
      const std::string sums =
          put({"tract_core_cumsum(", side, ", axis = 2, exclusive = false, reverse = false)"});
      one = put({"max_reduce(", sums, ", axes = [2])"});
      break;
    }
    default: {
      const std::string pooled = put({"conv(", side, ", ", numbers({2, 2, 2}),
                                      ", 0.0, padding = [(1, 0)], border = 'constant')"});
      one = put({"mean_reduce(", pooled, ", axes = [2])"});
    }
  }
  if (x.channels == 2) return same(x, {x.name, draw_.chance(50) ? " * " : " + ", one});
  return {put({x.name, " + ", one}), 2};
}

/// Add a second input whose length is tied to that of the first.
WideWire WideWriter::with_stream(const WideWire& x) {
  const std::string name = str_cat("side", side_inputs_++);
  const auto frames = [&](int64_t times, int64_t more) {
    return str_cat(batch_, ", 1, ", times, "*S", more > 0 ? str_cat("+", more) : "");
  };
  switch (draw_.in(0, 7)) {
    case 0:
    case 1: {
      input(name, frames(2 * times_, 0));
      const std::string half = put({"tract_core_downsample(", name,
                                    ", axis = 2, stride = 2, modulo = ", draw_.in(0, 1), ")"});
      more_.push_back(put({"mean_reduce(x, axes = [1]) * ", half}));
      return x;
    }
    case 2: {
      const int64_t more = std::max<int64_t>(1, size());
      input(name, frames(times_, more));
      more_.push_back(put({"mean_reduce(x, axes = [1]) * ", slice(name, 0, from_end(more))}));
      return x;
    }
    case 3:
      input(name, frames(times_, 0));
      more_.push_back(slice(name, size(), "0"));
      return x;
    default:
      input(name, frames(times_, 0));
      more_.push_back(put({"mean_reduce(x, axes = [1]) * ", name}));
      return x;
  }
}

WideWire WideWriter::pointwise(const WideWire& x) {
  switch (draw_.in(0, 4)) {
    case 0:
      return same(x, {"sigmoid(", x.name, ")"});
    case 1:
      return same(x, {"exp(", x.name, " * -0.5)"});
    case 2:
      return same(x, {x.name, " * ", number(), " + ", number()});
    case 3:
      return same(x, {"softmax(", x.name, ", axes = [1])"});
    default:
      return same(x, {"relu(", x.name, ")"});
  }
}

/// The last state of a loop over the stream, as a separate output.
WideWire WideWriter::last_state(const WideWire& x) {
  const std::string rows = put({"transpose(", x.name, ", axes = [2, 0, 1])"});
  more_.push_back(gru(rows, x.channels, "last"));
  return x;
}

/// Attention to a band of frames, from a random distance before each frame to one after it.
WideWire WideWriter::attention(const WideWire& x) {
  const std::string rows = put({"transpose(", x.name, ", axes = [0, 2, 1])"});
  const std::string scores = put({"matmul(", rows, ", ", rows, ", transposeB = true)"});
  const std::string place = put({"tract_core_range(0, ", frames_of(x.name), ", 1)"});
  const std::string offset =
      put({"unsqueeze(", place, ", axes = [0, 2]) - unsqueeze(", place, ", axes = [0, 1])"});
  const int64_t ahead = draw_.in(0, 3);
  const int64_t back = draw_.log_in(1, 60);
  const std::string seen =
      put({"and(ge(", offset, ", ", -ahead, "), le(", offset, ", ", back, "))"});
  const std::string weights = put(
      {"softmax(select(", seen, ", ", scores, ", ", scores, " * 0.0 - 1.0 / 0.0), axes = [2])"});
  const std::string out = put({"matmul(", weights, ", ", rows, ")"});
  return same(x, {"transpose(", out, ", axes = [0, 2, 1])"});
}

}  // namespace rill::test
