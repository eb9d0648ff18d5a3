#include "tests/property/wide.h"

#include <algorithm>
#include <cstdio>

#include "audit/draw.h"
#include "core/base/text.h"

namespace rill::test {
namespace {

/// Products of taps and frames stay below what a run of a second computes.
constexpr int64_t kMostTaps = 48;
constexpr int64_t kMostConstant = 100000;

const char kLoops[] = R"(fragment sum_loop(h: tensor<scalar>, x: tensor<scalar>) -> (h_t: tensor<scalar>) {
  h_t = tanh(x + h * 0.5);
}
fragment gru_loop(
    h: tensor<scalar>, r_x: tensor<scalar>, z_x: tensor<scalar>, n_x: tensor<scalar>,
    W_r: tensor<scalar>, W_z: tensor<scalar>, W_n: tensor<scalar>, b_n: tensor<scalar>
) -> (h_t: tensor<scalar>) {
  r_t = sigmoid(r_x + matmul(h, W_r, transposeB = true));
  z_t = sigmoid(z_x + matmul(h, W_z, transposeB = true));
  n_t = tanh(n_x + r_t * (matmul(h, W_n, transposeB = true) + b_n));
  h_t = (1.0 - z_t) * n_t + z_t * h;
}
)";

/// A wire [batch, channels, frames].
struct WideWire {
  std::string name;
  int64_t channels = 1;
};

class WideWriter {
 public:
  explicit WideWriter(uint64_t seed) : draw_(seed) {}

  WideWire start();
  WideWire link(const WideWire& x);
  void finish(const WideWire& x);
  void reseed(uint64_t seed) { draw_ = audit::Draw(seed); }
  std::string text() const;

 private:
  template <class... Parts>
  std::string put(const Parts&... parts) {
    const std::string name = str_cat("v", count_++);
    text_ += str_cat("  ", name, " = ", parts..., ";\n");
    return name;
  }
  template <class... Parts>
  WideWire same(const WideWire& x, const Parts&... parts) {
    return {put(parts...), x.channels};
  }
  void input(const std::string& name, const std::string& shape) {
    inputs_ += (inputs_.empty() ? "" : ", ") + name;
    externals_ += str_cat("  ", name, " = tract_core_external(shape = [", shape,
                          "], datum_type = 'f32');\n");
  }

  /// 0 to 4, or any number of digits up to 10^5.
  int64_t size() {
    return draw_.chance(45) ? draw_.in(0, 4) : draw_.log_in(1, draw_.chance(40) ? kMostConstant : 500);
  }
  int64_t rate() { return draw_.chance(60) ? draw_.in(2, 3) : draw_.log_in(2, 24); }
  std::string number();
  std::string numbers(std::vector<int64_t> shape);
  std::string slice(const std::string& x, int64_t begin, const std::string& end);
  std::string from_end(int64_t frames) { return frames == 0 ? "0" : str_cat("-", frames); }
  std::string pad(const std::string& x, int64_t before, int64_t after, const std::string& border);
  std::string frames_of(const std::string& x);
  std::string static_input();
  std::string gru(const std::string& rows, int64_t channels, const std::string& output);

  WideWire conv(const WideWire& x);
  WideWire deconv(const WideWire& x);
  WideWire pool(const WideWire& x);
  WideWire trim(const WideWire& x);
  WideWire padded(const WideWire& x);
  WideWire branches(const WideWire& x);
  WideWire shifted(const WideWire& x);
  WideWire strided(const WideWire& x);
  WideWire joined(const WideWire& x);
  WideWire against_kept(const WideWire& x);
  WideWire running(const WideWire& x);
  WideWire resized(const WideWire& x);
  WideWire regrouped(const WideWire& x);
  WideWire by_position(const WideWire& x);
  WideWire with_static(const WideWire& x);
  WideWire with_stream(const WideWire& x);
  WideWire pointwise(const WideWire& x);
  WideWire last_state(const WideWire& x);
  WideWire attention(const WideWire& x);

  audit::Draw draw_;
  std::string inputs_;
  std::string externals_;
  std::string asserts_;
  std::string text_;
  std::string results_ = "y";
  int64_t batch_ = 1;
  int64_t times_ = 1;  ///< frames of x per unit of S
  int count_ = 0;
  int side_inputs_ = 0;
  std::vector<WideWire> wires_;
  std::vector<std::string> more_;  ///< outputs beside y
};

std::string WideWriter::number() {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.3f", static_cast<double>(draw_.in(-999, 999)) / 1000.0);
  return buffer;
}

std::string WideWriter::numbers(std::vector<int64_t> shape) {
  if (shape.empty()) return number();
  const int64_t extent = shape[0];
  shape.erase(shape.begin());
  std::string out = "[";
  for (int64_t i = 0; i < extent; ++i) out += (i == 0 ? "" : ", ") + numbers(shape);
  return out + "]";
}

std::string WideWriter::slice(const std::string& x, int64_t begin, const std::string& end) {
  return put("slice(", x, ", axes = [2], begin = [", begin, "], end = [", end, "])");
}

std::string WideWriter::pad(const std::string& x, int64_t before, int64_t after,
                            const std::string& border) {
  return put("pad(", x, ", padding = [(0, 0), (0, 0), (", before, ", ", after, ")], border = '",
             border, "', value = ", draw_.chance(60) ? "0.0" : number(), ")");
}

std::string WideWriter::frames_of(const std::string& x) {
  const std::string shape = put("tract_core_shape_of(", x, ")");
  const std::string one = put("slice(", shape, ", axes = [0], begin = [2], end = [3])");
  return put("squeeze(", one, ", axes = [0])");
}

/// The name of a new input [batch, 2, frames] that does not stream.
std::string WideWriter::static_input() {
  const std::string name = str_cat("side", side_inputs_++);
  input(name, str_cat(batch_, ", 2, ", draw_.in(1, 6)));
  return name;
}

WideWire WideWriter::conv(const WideWire& x) {
  const int64_t taps = draw_.chance(80) ? draw_.in(1, 4) : draw_.log_in(1, kMostTaps);
  const int64_t dilation = std::max<int64_t>(1, size());
  const int64_t extent = (taps - 1) * dilation + 1;
  const int64_t stride = draw_.chance(65) ? 1 : rate();
  int64_t before = 0;
  int64_t after = 0;
  if (draw_.chance(60)) {
    before = draw_.chance(50) ? extent - 1 : draw_.in(0, extent + 1);
    after = draw_.chance(50) ? extent - 1 - std::min(before, extent - 1) : draw_.in(0, extent - 1);
  }
  const int64_t outputs = draw_.in(1, 2);
  return {put("conv(", x.name, ", ", numbers({outputs, x.channels, taps}), ", ",
              numbers({1, outputs}), ", stride = [", stride, "], dilation = [", dilation,
              "], padding = [(", before, ", ", after, ")], border = 'constant')"),
          outputs};
}

WideWire WideWriter::deconv(const WideWire& x) {
  const int64_t taps = draw_.chance(80) ? draw_.in(1, 6) : draw_.log_in(1, kMostTaps);
  const int64_t dilation = draw_.chance(80) ? 1 : std::max<int64_t>(1, size());
  const int64_t extent = (taps - 1) * dilation + 1;
  const int64_t before = draw_.chance(50) ? 0 : draw_.in(0, extent - 1);
  const int64_t after = draw_.chance(50) ? 0 : draw_.in(0, extent - 1 - before);
  const int64_t outputs = draw_.in(1, 2);
  return {put("deconv(", x.name, ", ", numbers({outputs, x.channels, taps}), ", ",
              numbers({1, outputs}), ", stride = [", draw_.chance(40) ? 1 : rate(),
              "], dilation = [", dilation, "], padding = [(", before, ", ", after, ")])"),
          outputs};
}

WideWire WideWriter::pool(const WideWire& x) {
  const int64_t taps = draw_.chance(70) ? draw_.in(1, 5) : draw_.log_in(1, 4 * kMostTaps);
  const int64_t dilation = draw_.chance(70) ? 1 : std::max<int64_t>(1, size());
  const int64_t extent = (taps - 1) * dilation + 1;
  const bool padded = draw_.chance(50);
  const int64_t before = padded ? draw_.in(0, extent - 1) : 0;
  const int64_t after = padded ? draw_.in(0, extent - 1) : 0;
  const char* const kinds[] = {"max_pool", "avg_pool", "box"};
  const int64_t kind = draw_.in(0, 2);
  const bool ignored = kind == 0 || draw_.chance(50);
  return same(x, kinds[kind], "(", x.name, ", size = [1, 1, ", taps, "], stride = [1, 1, ",
              draw_.chance(60) ? 1 : rate(), "], dilation = [1, 1, ", dilation,
              "], padding = [(0, 0), (0, 0), (", before, ", ", after, ")], border = '",
              ignored ? "ignore" : "constant", "'", kind == 2 ? ", normalize = true" : "", ")");
}

WideWire WideWriter::trim(const WideWire& x) {
  const int64_t begin = draw_.chance(40) ? 0 : size();
  const int64_t end = begin > 0 && draw_.chance(40) ? 0 : size();
  return {slice(x.name, begin, from_end(end)), x.channels};
}

WideWire WideWriter::padded(const WideWire& x) {
  const char* const borders[] = {"constant", "constant", "replicated", "reflect"};
  return {pad(x.name, size(), size(), borders[draw_.in(0, 3)]), x.channels};
}

/// Two branches that are trimmed by as many frames in all.
WideWire WideWriter::branches(const WideWire& x) {
  const int64_t frames = size();
  const int64_t one = draw_.in(0, frames);
  const int64_t other = draw_.in(0, frames);
  const std::string left = slice(x.name, one, from_end(frames - one));
  const std::string right = slice(pointwise(x).name, other, from_end(frames - other));
  const char* const joins[] = {" + ", " * ", " - "};
  return {put(left, joins[draw_.in(0, 2)], right), x.channels};
}

WideWire WideWriter::shifted(const WideWire& x) {
  const int64_t by = std::max<int64_t>(1, size());
  const bool later = draw_.chance(50);
  const std::string cut = slice(x.name, later ? 0 : by, later ? from_end(by) : "0");
  const std::string moved = pad(cut, later ? by : 0, later ? 0 : by, "constant");
  return {put(x.name, " + ", moved), x.channels};
}

WideWire WideWriter::strided(const WideWire& x) {
  const int64_t stride = rate();
  return same(x, "tract_core_downsample(", x.name, ", axis = 2, stride = ", stride,
              ", modulo = ", draw_.in(0, stride - 1), ")");
}

/// Frames of its own, or of a table, in front or behind.
WideWire WideWriter::joined(const WideWire& x) {
  const int64_t begin = size();
  const int64_t count = draw_.in(1, 3);
  std::string part;
  if (batch_ == 1 && draw_.chance(50)) {
    part = put(numbers({1, x.channels, count}));
  } else {
    part = slice(x.name, begin, str_cat(begin + count));
  }
  const bool front = draw_.chance(60);
  return same(x, "concat([", front ? part : x.name, ", ", front ? x.name : part, "], axis = 2)");
}

WideWire WideWriter::against_kept(const WideWire& x) {
  const int64_t begin = size();
  const int64_t count = draw_.in(1, 4);
  const std::string kept = slice(x.name, begin, str_cat(begin + count));
  switch (draw_.in(0, 2)) {
    case 0:
      return same(x, x.name, " - mean_reduce(", kept, ", axes = [2])");
    case 1:
      return same(x, x.name, " * max_reduce(", kept, ", axes = [2])");
    default: {
      const std::string rows = put("transpose(", kept, ", axes = [2, 0, 1])");
      const std::string last = put("tract_core_scan(body = 'sum_loop', scan = [('x', ", rows,
                                   ", 0, 1)], full = [], state = [('h', ",
                                   numbers({1, batch_, x.channels}),
                                   ", 'h_t')], output = [('h_t', 'last', 0, 1)], skip = 0)");
      return same(x, x.name, " + transpose(", last, ", axes = [1, 2, 0])");
    }
  }
}

std::string WideWriter::gru(const std::string& rows, int64_t channels, const std::string& output) {
  const auto gate = [&] {
    return put("matmul(", rows, ", ", numbers({1, channels, channels}), ", transposeB = true)");
  };
  const std::string r = gate();
  const std::string z = gate();
  const std::string n = gate();
  const auto weight = [&] { return numbers({1, channels, channels}); };
  const std::string w_r = weight();
  const std::string w_z = weight();
  const std::string w_n = weight();
  return put("tract_core_scan(body = 'gru_loop', scan = [('r_x', ", r, ", 0, 1), ('z_x', ", z,
             ", 0, 1), ('n_x', ", n, ", 0, 1)], full = [('W_r', ", w_r, "), ('W_z', ", w_z,
             "), ('W_n', ", w_n, "), ('b_n', ", numbers({1, 1, channels}), ")], state = [('h', ",
             numbers({1, batch_, channels}), ", 'h_t')], output = [('h_t', '", output,
             "', 0, 1)], skip = 0)");
}

WideWire WideWriter::running(const WideWire& x) {
  if (draw_.chance(40)) {
    return same(x, "tract_core_cumsum(", x.name, ", axis = 2, exclusive = ",
                draw_.chance(50) ? "true" : "false", ", reverse = false) * 0.01");
  }
  const std::string rows = put("transpose(", x.name, ", axes = [2, 0, 1])");
  return same(x, "transpose(", gru(rows, x.channels, "full"), ", axes = [1, 2, 0])");
}

WideWire WideWriter::resized(const WideWire& x) {
  const char* const kinds[] = {"nearest", "linear", "cubic"};
  const char* const places[] = {"half_pixel", "asymmetric"};
  const char* const nearest[] = {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"};
  return same(x, "tract_core_resize(", x.name, ", scales = [1.0, 1.0, ",
              draw_.chance(20) ? "0.5" : str_cat(rate(), ".0"), "], interpolator = '",
              kinds[draw_.in(0, 2)], "', coord_transformer = '", places[draw_.in(0, 1)],
              "', nearest_mode = '", nearest[draw_.in(0, 3)], "')");
}

/// [batch, f, n] -> [batch, 1, f * n] by way of a convolution to f channels.
WideWire WideWriter::regrouped(const WideWire& x) {
  const int64_t factor = rate();
  const std::string wide = put("conv(", x.name, ", ", numbers({factor, x.channels, 1}),
                               ", 0.0, padding = [(0, 0)], border = 'constant')");
  const std::string turned = put("transpose(", wide, ", axes = [0, 2, 1])");
  const std::string merged =
      put("reshape(", turned, ", shape = [-1], axis_start = 1, axis_count = 2)");
  return {put("unsqueeze(", merged, ", axes = [1])"), 1};
}

WideWire WideWriter::by_position(const WideWire& x) {
  const std::string range = put("tract_core_range(0, ", frames_of(x.name), ", 1)");
  const std::string place = put("unsqueeze(", range, ", axes = [0, 1])");
  const int64_t at = size();
  switch (draw_.in(0, 3)) {
    case 0:
      return same(x, "select(", place, " < ", at, ", ", x.name, ", ", number(), ")");
    case 1:
      return same(x, "select(", place, " >= ", at, ", ", x.name, ", 0.5 * ", x.name, ")");
    case 2:
      return same(x, x.name, " + tract_core_cast(", place, " / ", std::max<int64_t>(1, at),
                  ", to = 'f32') * 0.01");
    default:
      return same(x, x.name, " * 0.5 + sin(tract_core_cast(", place, ", to = 'f32') + ", number(), ")");
  }
}

WideWire WideWriter::with_static(const WideWire& x) {
  const std::string side = static_input();
  std::string one;  // [batch, 2, 1]
  switch (draw_.in(0, 3)) {
    case 0:
      one = put("mean_reduce(", side, ", axes = [2])");
      break;
    case 1: {
      const std::string rows = put("transpose(", side, ", axes = [2, 0, 1])");
      one = put("transpose(", gru(rows, 2, "last"), ", axes = [1, 2, 0])");
      break;
    }
    case 2: {
      const std::string sums =
          put("tract_core_cumsum(", side, ", axis = 2, exclusive = false, reverse = false)");
      one = put("max_reduce(", sums, ", axes = [2])");
      break;
    }
    default: {
      const std::string pooled = put("conv(", side, ", ", numbers({2, 2, 2}),
                                     ", 0.0, padding = [(1, 0)], border = 'constant')");
      one = put("mean_reduce(", pooled, ", axes = [2])");
    }
  }
  if (x.channels == 2) return same(x, x.name, draw_.chance(50) ? " * " : " + ", one);
  return {put(x.name, " + ", one), 2};
}

/// A second input whose length is tied to that of the first.
WideWire WideWriter::with_stream(const WideWire& x) {
  const std::string name = str_cat("side", side_inputs_++);
  const auto frames = [&](int64_t times, int64_t more) {
    return str_cat(batch_, ", 1, ", times, "*S", more > 0 ? str_cat("+", more) : "");
  };
  switch (draw_.in(0, 7)) {
    case 0:
    case 1: {
      input(name, frames(2 * times_, 0));
      const std::string half = put("tract_core_downsample(", name,
                                   ", axis = 2, stride = 2, modulo = ", draw_.in(0, 1), ")");
      more_.push_back(put("mean_reduce(x, axes = [1]) * ", half));
      return x;
    }
    case 2: {
      const int64_t more = std::max<int64_t>(1, size());
      input(name, frames(times_, more));
      more_.push_back(put("mean_reduce(x, axes = [1]) * ", slice(name, 0, from_end(more))));
      return x;
    }
    case 3:
      input(name, frames(times_, 0));
      more_.push_back(slice(name, size(), "0"));
      return x;
    default:
      input(name, frames(times_, 0));
      more_.push_back(put("mean_reduce(x, axes = [1]) * ", name));
      return x;
  }
}

WideWire WideWriter::pointwise(const WideWire& x) {
  switch (draw_.in(0, 4)) {
    case 0:
      return same(x, "sigmoid(", x.name, ")");
    case 1:
      return same(x, "exp(", x.name, " * -0.5)");
    case 2:
      return same(x, x.name, " * ", number(), " + ", number());
    case 3:
      return same(x, "softmax(", x.name, ", axes = [1])");
    default:
      return same(x, "relu(", x.name, ")");
  }
}

/// The last state of a loop over the stream, as an output of its own.
WideWire WideWriter::last_state(const WideWire& x) {
  const std::string rows = put("transpose(", x.name, ", axes = [2, 0, 1])");
  more_.push_back(gru(rows, x.channels, "last"));
  return x;
}

/// Frames that see those around them, from one number of frames behind to another one ahead.
WideWire WideWriter::attention(const WideWire& x) {
  const std::string rows = put("transpose(", x.name, ", axes = [0, 2, 1])");
  const std::string scores = put("matmul(", rows, ", ", rows, ", transposeB = true)");
  const std::string place = put("tract_core_range(0, ", frames_of(x.name), ", 1)");
  const std::string apart =
      put("unsqueeze(", place, ", axes = [0, 2]) - unsqueeze(", place, ", axes = [0, 1])");
  const int64_t ahead = draw_.in(0, 3);
  const int64_t behind = draw_.log_in(1, 60);
  const std::string seen = put("and(ge(", apart, ", ", -ahead, "), le(", apart, ", ", behind, "))");
  const std::string weights =
      put("softmax(select(", seen, ", ", scores, ", ", scores, " * 0.0 - 1.0 / 0.0), axes = [2])");
  const std::string out = put("matmul(", weights, ", ", rows, ")");
  return same(x, "transpose(", out, ", axes = [0, 2, 1])");
}

WideWire WideWriter::start() {
  batch_ = draw_.chance(60) ? 1 : draw_.in(2, 3);
  const int64_t channels = draw_.in(1, 2);
  times_ = draw_.chance(75) ? 1 : draw_.in(2, 3);
  input("x", str_cat(batch_, ", ", channels, ", ", times_, "*S"));
  return {"x", channels};
}

WideWire WideWriter::link(const WideWire& x) {
  using Link = WideWire (WideWriter::*)(const WideWire&);
  const struct {
    int weight;
    Link link;
  } links[] = {
      {18, &WideWriter::trim},         {10, &WideWriter::padded},     {14, &WideWriter::conv},
      {6, &WideWriter::deconv},        {7, &WideWriter::pool},        {5, &WideWriter::branches},
      {5, &WideWriter::shifted},       {4, &WideWriter::strided},     {5, &WideWriter::joined},
      {5, &WideWriter::against_kept},  {5, &WideWriter::running},     {4, &WideWriter::resized},
      {3, &WideWriter::regrouped},     {5, &WideWriter::by_position}, {4, &WideWriter::with_static},
      {3, &WideWriter::with_stream},   {3, &WideWriter::pointwise},   {4, &WideWriter::last_state},
      {1, &WideWriter::attention},
  };
  int all = 0;
  for (const auto& each : links) all += each.weight;
  int64_t dice = draw_.in(0, all - 1);
  WideWire out = x;
  for (const auto& each : links) {
    dice -= each.weight;
    if (dice >= 0) continue;
    out = (this->*each.link)(x);
    break;
  }
  wires_.push_back(out);
  return out;
}

void WideWriter::finish(const WideWire& x) {
  text_ += str_cat("  y = copy(", x.name, ");\n");
  const char* const ends[] = {"max_reduce(", "sum_reduce(", "mean_reduce(", "argmax_reduce("};
  if (draw_.chance(15)) more_.push_back(put(ends[draw_.in(0, 3)], x.name, ", axes = [2])"));
  if (!wires_.empty() && draw_.chance(30)) {
    const auto any = draw_.in(0, static_cast<int64_t>(wires_.size()) - 1);
    more_.push_back(put("copy(", wires_[static_cast<size_t>(any)].name, ")"));
  }
  for (size_t i = 0; i < more_.size(); ++i) {
    text_ += str_cat("  z", i, " = copy(", more_[i], ");\n");
    results_ += str_cat(", z", i);
  }
}

std::string WideWriter::text() const {
  const bool loops = text_.find("_loop'") != std::string::npos;
  return str_cat("version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n",
                 asserts_, loops ? kLoops : "", "graph network(", inputs_, ") -> (", results_,
                 ")\n{\n", externals_, text_, "}\n");
}

}  // namespace

WideRecipe wide_recipe(uint64_t seed) {
  WideRecipe out{seed, {}};
  const int64_t count = audit::Draw(seed * 7919).in(1, 6);
  for (int i = 0; i < count; ++i) out.links.push_back(i);
  return out;
}

std::string wide_graph(const WideRecipe& recipe) {
  WideWriter writer(recipe.seed * 7919 + 7001);
  WideWire wire = writer.start();
  for (const int i : recipe.links) {
    writer.reseed(recipe.seed * 7919 + static_cast<uint64_t>(i) + 1);
    wire = writer.link(wire);
  }
  writer.reseed(recipe.seed * 7919 + 7000);
  writer.finish(wire);
  return writer.text();
}

}  // namespace rill::test
