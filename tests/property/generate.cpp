#include "tests/property/generate.h"

#include <numeric>

#include "tests/property/streaming.h"
#include "tests/property/texts.h"
#include "tests/property/writer.h"

namespace rill::test {

namespace {

constexpr double kAttentionTolerance = 5e-4;

// Single-layer loops of the exporter, other than its GRU.
const char kLoops[] = R"(fragment lstm_loop(
    c: tensor<scalar>, h: tensor<scalar>, i_x: tensor<scalar>, f_x: tensor<scalar>,
    g_x: tensor<scalar>, o_x: tensor<scalar>, W_i: tensor<scalar>, W_f: tensor<scalar>,
    W_g: tensor<scalar>, W_o: tensor<scalar>
) -> (c_t: tensor<scalar>, h_t: tensor<scalar>) {
  i_t = sigmoid(i_x + matmul(h, W_i, transposeB = true));
  f_t = sigmoid(f_x + matmul(h, W_f, transposeB = true));
  g_t = tanh(g_x + matmul(h, W_g, transposeB = true));
  o_t = sigmoid(o_x + matmul(h, W_o, transposeB = true));
  c_t = f_t * c + i_t * g_t;
  h_t = o_t * tanh(c_t);
}
fragment rnn_loop(h: tensor<scalar>, x: tensor<scalar>, W: tensor<scalar>)
    -> (h_t: tensor<scalar>) {
  h_t = tanh(x + matmul(h, W, transposeB = true));
}
)";

}  // namespace

std::string Writer::number(int64_t limit) { return thousandths(random_.in(-limit, limit)); }

std::string Writer::numbers(std::vector<int64_t> shape) {
  return nested_list(std::move(shape), [&] { return number(); });
}

void Writer::scale(int64_t up, int64_t down) {
  up_ *= up;
  down_ *= down;
  const int64_t common = std::gcd(up_, down_);
  up_ /= common;
  down_ /= common;
  unit_ = std::lcm(unit_, down_);
}

Writer::Shape Writer::any_window() {
  Shape s;
  s.kernel = random_.in(1, 5);
  s.stride = random_.chance(60) ? 1 : random_.in(2, 3);
  s.dilation = random_.chance(60) ? 1 : random_.in(2, 3);
  if (random_.chance(60)) {
    s.before = random_.in(0, 4);
    s.after = random_.in(0, 4);
  }
  return s;
}

/// Format the attributes of a window. A pool also has entries for batch and channel.
std::string Writer::window(const Shape& s, bool pool, bool features) const {
  const std::string ones = pool ? "1, 1, " : "";
  const std::string one = features ? ", 1" : "";
  return str_cat("stride = [", ones, s.stride, one, "], dilation = [", ones, s.dilation, one,
                 "], padding = [", pool ? "(0, 0), (0, 0), " : "", "(", s.before, ", ", s.after,
                 ")", features ? (pool ? ", (0, 0)" : ", (1, 1)") : "", "]");
}

Wire Writer::conv(const Wire& x, const Shape& s, int64_t outputs) {
  const bool depthwise = random_.chance(25);
  if (depthwise) outputs = x.channels;
  const std::string filter = numbers({outputs, depthwise ? 1 : x.channels, s.kernel});
  const std::string bias = random_.chance(70) ? numbers({1, outputs}) : "0.0";
  scale(1, s.stride);
  return {put({"conv(", x.name, ", ", filter, ", ", bias, ", ", window(s, false, false),
               ", groups = ", depthwise ? x.channels : 1, ", border = 'constant')"}),
          outputs};
}

Wire Writer::conv2d(const Wire& x, const Shape& s) {
  const int64_t outputs = random_.in(1, 3);
  scale(1, s.stride);
  return {put({"conv(", x.name, ", ", numbers({outputs, x.channels, s.kernel, 3}), ", ",
               numbers({1, outputs}), ", ", window(s, false, true), ", border = 'constant')"}),
          outputs, x.features};
}

Wire Writer::any_conv(const Wire& x) {
  const Shape s = any_window();
  return x.features > 0 ? conv2d(x, s)
                        : conv(x, s, random_.chance(15) ? random_.in(15, 40) : random_.in(1, 5));
}

Wire Writer::deconv(const Wire& x, const Shape& s) {
  const bool depthwise = random_.chance(25);
  const int64_t outputs = depthwise ? x.channels : random_.in(1, 4);
  std::vector<int64_t> filter{outputs, depthwise ? 1 : x.channels, s.kernel};
  if (x.features > 0) filter.push_back(3);
  scale(s.stride, 1);
  return {put({"deconv(", x.name, ", ", numbers(filter), ", ", numbers({1, outputs}), ", ",
               window(s, false, x.features > 0), ", groups = ", depthwise ? x.channels : 1, ")"}),
          outputs, x.features};
}

Wire Writer::any_deconv(const Wire& x) {
  Shape s;
  s.kernel = random_.in(1, random_.chance(20) ? 12 : 5);
  s.stride = random_.in(1, 3);
  s.dilation = random_.chance(80) ? 1 : random_.in(2, 3);
  s.before = random_.in(0, std::min<int64_t>(random_.chance(20) ? 12 : 2, s.extent() - 1));
  s.after = random_.in(0, std::min<int64_t>(2, s.extent() - 1 - s.before));
  if (random_.chance(70)) return deconv(x, s);
  // The pattern of a resampler: pad, then crop the results of the padding.
  const int64_t frames = random_.in(0, 4);
  const Wire wide = pad(x, frames, frames, std::to_string(random_.in(0, 1)));
  const Wire more = deconv(wide, s);
  const int64_t begin = random_.in(0, frames * s.stride + s.extent() - 1 - s.before);
  return slice(more, begin, random_.in(0, frames * s.stride));
}

Wire Writer::pool(const Wire& x) {
  Shape s = any_window();
  const bool max = random_.chance(50);
  if (max && attends_) s.dilation = 1;
  s.before = std::min(s.before, s.extent() - 1);
  s.after = std::min(s.after, s.extent() - 1);
  infinite_ |= max && s.dilation > 1 && s.before + s.after > 0;
  scale(1, s.stride);
  return same(x, {max ? "max_pool(" : "avg_pool(", x.name, ", size = [1, 1, ", s.kernel,
                  x.features > 0 ? ", 1" : "", "], ", window(s, true, x.features > 0),
                  ", border = '", max ? "ignore" : "constant", "')"});
}

/// Drop frames at both ends.
Wire Writer::slice(const Wire& x, int64_t begin, int64_t end) {
  if (begin == 0 && end == 0) return x;
  return same(x, {"slice(", x.name, ", axes = [2], begin = [", begin, "], end = [",
                  end == 0 ? "0" : str_cat("-", end), "])"});
}

Wire Writer::pad(const Wire& x, int64_t before, int64_t after, const std::string& value) {
  return same(x,
              {"pad(", x.name, ", padding = [(0, 0), (0, 0), (", before, ", ", after, ")",
               x.features > 0 ? ", (0, 0)" : "", "], border = 'constant', value = ", value, ")"});
}

Wire Writer::any_pad(const Wire& x) {
  const int64_t before = random_.in(0, 4);
  const int64_t after = random_.in(0, 4);
  return pad(x, before, after, random_.chance(50) ? "0.0" : number());
}

/// Frames that are equal along time, but differ between channels.
Wire Writer::constant_frames(const Wire& x) {
  if (x.features > 0) return any_pad(x);
  const auto frames = [&](int64_t count) {
    std::string out = "[[";
    for (int64_t c = 0; c < x.channels; ++c) {
      const std::string value = number();
      out += c == 0 ? "[" : ", [";
      for (int64_t i = 0; i < count; ++i) out += (i == 0 ? "" : ", ") + value;
      out += "]";
    }
    return out + "]]";
  };
  const int64_t before = random_.in(0, 3);
  const int64_t after = before == 0 ? random_.in(1, 3) : random_.in(0, 3);
  std::string list = before > 0 ? frames(before) + ", " : "";
  list += x.name;
  if (after > 0) list += ", " + frames(after);
  return same(x, {"concat([", list, "], axis = 2)"});
}

Wire Writer::pointwise(const Wire& x) {
  switch (random_.in(0, 9)) {
    case 0:
      return same(x, {"sigmoid(", x.name, ")"});
    case 1:
      return same(x, {"tanh(", x.name, ")"});
    case 2:
      return same(x, {"leaky_relu(", x.name, ", alpha = 0.1)"});
    case 3:
      return same(x, {x.name, " + ", number()});
    case 4:
      return same(x, {x.name, " * ", number(), " - ", number()});
    case 5:
      return same(x, {"softmax(", x.name, ", axes = [1])"});
    case 6:
      return same(x, {x.name, " - mean_reduce(", x.name, ", axes = [1])"});
    case 7:
      return same(x, {"select(", x.name, " > 0.0, ", x.name, ", ", number(), " * ", x.name, ")"});
    case 8:
      if (x.features > 0) return same(x, {"abs(", x.name, ")"});
      return same(x,
                  {x.name, " * ", numbers({1, x.channels, 1}), " + ", numbers({1, x.channels, 1})});
    default:
      return same(x, {"relu(", x.name, ")"});
  }
}

/// Combine two wires of equal length.
Wire Writer::combine(const Wire& a, const Wire& b) {
  const bool broadcast = a.channels == 1 || b.channels == 1 || a.channels == b.channels;
  if (!broadcast || random_.chance(30)) {
    return {put({"concat([", a.name, ", ", b.name, "], axis = 1)"}), a.channels + b.channels,
            a.features};
  }
  const char* const ops[] = {" + ", " * ", " - "};
  return {put({a.name, ops[random_.in(0, 2)], b.name}), std::max(a.channels, b.channels),
          a.features};
}

Wire Writer::keeps_length(const Wire& x) {
  if (x.features > 0 || random_.chance(20)) return pointwise(x);
  if (random_.chance(15)) return recurrent(x);
  Shape s;
  s.kernel = random_.in(1, 5);
  s.dilation = random_.in(1, 3);
  s.before = random_.in(0, s.extent() - 1);
  s.after = s.extent() - 1 - s.before;
  return conv(x, s, x.channels);
}

Wire Writer::residual(const Wire& x) {
  Wire branch = keeps_length(x);
  if (random_.chance(50)) branch = keeps_length(branch);
  return combine(x, branch);
}

/// Two windows without padding; crop the longer result to the length of the other.
Wire Writer::two_windows(const Wire& x) {
  if (x.features > 0) return residual(x);
  Shape a;
  Shape b;
  a.kernel = random_.in(1, 5);
  b.kernel = random_.in(1, 5);
  a.dilation = random_.in(1, 2);
  if (a.extent() < b.extent()) std::swap(a, b);
  const int64_t more = a.extent() - b.extent();
  const int64_t begin = random_.in(0, more);
  const Wire left = conv(x, a, random_.in(1, 3));
  const bool straight = b.extent() == 1 && random_.chance(50);
  const Wire right = slice(straight ? x : conv(x, b, left.channels), begin, more - begin);
  return random_.chance(50) ? combine(left, right) : combine(right, left);
}

/// Combine the stream with itself, shifted by a few frames.
Wire Writer::two_shifts(const Wire& x) {
  const int64_t by = random_.in(1, 3);
  const std::string value = random_.chance(50) ? "0.0" : number();
  const Wire later = pad(slice(x, 0, by), by, 0, value);
  const Wire earlier = pad(slice(x, by, 0), 0, by, value);
  switch (random_.in(0, 3)) {
    case 0:
      return combine(x, later);
    case 1:
      return combine(earlier, x);
    case 2:
      return pad(slice(x, 0, by), 0, by, value);
    default:
      return combine(later, earlier);
  }
}

/// Return the frame count modulo 2; nothing if that depends on S.
std::optional<int> Writer::rest_of_pairs(const Wire& x) const {
  const auto graph = load_text(document(shape_, text_, x.name, str_cat(kGruLoop, kLoops)));
  if (!graph.ok()) return std::nullopt;
  const Dim& frames = graph->fact(graph->outputs[0]).shape[2];
  for (const int rest : {0, 1}) {
    if (exact_div(frames - Dim(rest), Dim(2))) return rest;
  }
  return std::nullopt;
}

/// A U-Net step, which needs an even length.
Wire Writer::down_and_up(const Wire& x) {
  if (x.features > 0 || rest_of_pairs(x) == 1) return residual(x);
  Shape half;
  half.kernel = 4;
  half.stride = 2;
  half.before = half.after = 1;
  const Wire low = conv(x, half, random_.in(1, 4));
  Shape twice;
  twice.kernel = 4;
  twice.stride = 2;
  twice.before = twice.after = 1;
  return combine(x, deconv(low, twice));
}

Wire Writer::recurrent(const Wire& x) {
  if (x.features > 0) return pointwise(x);
  const int64_t h = x.channels;
  const std::string in = put({"transpose(", x.name, ", axes = [2, 0, 1])"});
  const std::string zero = numbers({1, 1, h});
  const auto gate = [&] {
    return put(
        {"matmul(", in, ", ", numbers({1, h, h}), ", transposeB = true) + ", numbers({1, 1, h})});
  };
  const int64_t kind = random_.in(0, 2);
  const int gates = kind == 0 ? 3 : kind == 1 ? 4 : 1;
  const char* const names[3][4] = {{"r", "z", "n", ""}, {"i", "f", "g", "o"}, {"", "", "", ""}};
  std::string scan;
  std::string full;
  for (int i = 0; i < gates; ++i) {
    const std::string name = names[kind][i];
    const std::string comma = i == 0 ? "" : ", ";
    scan += str_cat(comma, "('", kind == 2 ? "x" : name + "_x", "', ", gate(), ", 0, 1)");
    full += str_cat(comma, "('W", kind == 2 ? "" : "_" + name, "', ", numbers({1, h, h}), ")");
  }
  if (kind == 0) full += str_cat(", ('b_n', ", numbers({1, 1, h}), ")");
  const char* const loops[] = {"gru_loop", "lstm_loop", "rnn_loop"};
  const std::string state =
      str_cat(kind == 1 ? str_cat("('c', ", zero, ", 'c_t'), ") : "", "('h', ", zero, ", 'h_t')");
  const std::string out =
      put({"tract_core_scan(body = '", loops[kind], "', scan = [", scan, "], full = [", full,
           "], state = [", state, "], output = [('h_t', 'full', 0, 1)], skip = 0)"});
  return {put({"transpose(", out, ", axes = [1, 2, 0])"}), h};
}

/// Reshape channels to frames: [1, 2c, n] -> [1, c, 2n].
Wire Writer::merge_frames(const Wire& x) {
  if (x.features > 0 || x.channels % 2 != 0) return any_conv(x);
  const int64_t c = x.channels / 2;
  const std::string parts = put({"reshape(", x.name, ", shape = [", c,
                                 ", 2], axis_start = 1, "
                                 "axis_count = 1)"});
  const std::string frames = put({"transpose(", parts, ", axes = [0, 1, 3, 2])"});
  scale(2, 1);
  return {put({"reshape(", frames, ", shape = [-1], axis_start = 2, axis_count = 2)"}), c};
}

/// Reshape pairs of frames to channels, [1, c, 2n] -> [1, 2c, n], if the number of frames is even.
Wire Writer::split_frames(const Wire& x) {
  if (x.features > 0 || up_ % 2 != 0 || rest_of_pairs(x) != 0) return merge_frames(x);
  const std::string parts = put({"reshape(", x.name,
                                 ", shape = [-1, 2], axis_start = 2, "
                                 "axis_count = 1)"});
  const std::string channels = put({"transpose(", parts, ", axes = [0, 1, 3, 2])"});
  scale(1, 2);
  return {put({"reshape(", channels, ", shape = [", 2 * x.channels,
               "], axis_start = 1, "
               "axis_count = 2)"}),
          2 * x.channels};
}

Wire Writer::every_other(const Wire& x) {
  const int64_t stride = random_.in(2, 3);
  scale(1, stride);
  return same(x, {"tract_core_downsample(", x.name, ", axis = 2, stride = ", stride,
                  ", modulo = ", random_.in(0, 2), ")"});
}

/// A matmul over the channels, with frames as rows, as in a linear layer.
Wire Writer::product(const Wire& x) {
  if (x.features > 0) return any_conv(x);
  const int64_t outputs = random_.in(1, 5);
  const std::string rows = put({"transpose(", x.name, ", axes = [0, 2, 1])"});
  const std::string out = put(
      {"matmul(", rows, ", ", numbers({1, x.channels, outputs}), ") + ", numbers({1, 1, outputs})});
  return {put({"transpose(", out, ", axes = [0, 2, 1])"}), outputs};
}

/// Merge features into channels.
Wire Writer::flat(const Wire& x) {
  if (x.features == 0) return x;
  const std::string rows = put({"transpose(", x.name, ", axes = [0, 2, 1, 3])"});
  const std::string merged = put({"reshape(", rows,
                                  ", shape = [-1], axis_start = 2, "
                                  "axis_count = 2)"});
  return {put({"transpose(", merged, ", axes = [0, 2, 1])"}), x.channels * x.features};
}

Wire Writer::start() {
  const int64_t channels = random_.in(1, 3);
  const int64_t features = random_.chance(15) ? random_.in(2, 4) : 0;
  const int64_t times = random_.chance(20) ? 2 : 1;
  scale(times, 1);
  shape_ = str_cat("1, ", channels, ", ", times == 1 ? "S" : "2*S",
                   features > 0 ? str_cat(", ", features) : "");
  return {"x", channels, features};
}

Wire Writer::any_link(Wire x) {
  if (random_.chance(15)) return kept(x);
  const int64_t kind = random_.in(0, 99);
  if (x.channels > 48) x = product(flat(x));
  if (kind < 20) return any_conv(x);
  if (kind < 28) return any_deconv(x);
  if (kind < 36) return pool(x);
  if (kind < 43) {
    const int64_t begin = random_.in(0, 3);
    return slice(x, begin, random_.in(0, 3));
  }
  if (kind < 49) return any_pad(x);
  if (kind < 54) return constant_frames(x);
  if (kind < 64) return pointwise(x);
  if (kind < 70) return residual(x);
  if (kind < 76) return two_windows(x);
  if (kind < 80) return two_shifts(x);
  if (kind < 83) return down_and_up(x);
  if (kind < 88) return recurrent(x);
  if (kind < 91) return merge_frames(x);
  if (kind < 94) return split_frames(x);
  if (kind < 96) return every_other(x);
  if (kind < 98) return product(flat(x));
  return same(x, {"tract_core_cumsum(", x.name, ", axis = 2, exclusive = ",
                  random_.chance(50) ? "true" : "false", ", reverse = false)"});
}

Wire Writer::link(Wire x) {
  const Wire out = any_link(x);
  wires_.push_back(out.name);
  return out;
}

Wire Writer::finish(Wire x) {
  if (x.features > 0 && random_.chance(50)) x = flat(x);
  text_ += str_cat("  y = copy(", x.name, ");\n");
  if (random_.chance(15)) {
    // Outputs that are known at the end of the stream.
    const char* const ends[] = {"max_reduce(", "sum_reduce(", "argmax_reduce("};
    text_ += str_cat("  z = ", ends[random_.in(0, attends_ ? 1 : 2)], x.name, ", axes = [2]);\n");
    results_ = "y, z";
  } else if (wires_.size() > 1 && random_.chance(30)) {
    const auto last = static_cast<int64_t>(wires_.size()) - 2;
    const std::string& other = wires_[static_cast<size_t>(random_.in(0, last))];
    text_ += str_cat("  z = copy(", other, ");\n");
    results_ = "y, z";
  }
  return x;
}

Recipe recipe(uint64_t seed) {
  Recipe out{seed, {}};
  const int64_t count = Random(seed * 1000).in(1, 6);
  for (int i = 0; i < count; ++i) out.links.push_back(i);
  return out;
}

Recipe short_recipe(uint64_t seed) {
  Recipe out = recipe(seed);
  const auto last = static_cast<int64_t>(out.links.size());
  out.links.insert(out.links.begin() + Random(seed * 1000 + 996).in(0, last), kShortLink);
  return out;
}

Generated generate(const Recipe& recipe) {
  Writer writer(recipe.seed * 1000 + 999);
  Wire wire = writer.start();
  for (const int i : recipe.links) {
    writer.reseed(recipe.seed * 1000 + static_cast<uint64_t>(i) + 1);
    wire = i == kShortLink ? writer.short_link(wire) : writer.link(wire);
  }
  writer.reseed(recipe.seed * 1000 + 998);
  writer.finish(wire);
  const std::string statements = writer.statements();
  const bool loops = statements.find("_loop") != std::string::npos;
  return {document(writer.shape(), statements, writer.results(),
                   loops ? str_cat(kGruLoop, kLoops) : ""),
          writer.unit(), writer.attends() ? kAttentionTolerance : 0.0};
}

}  // namespace rill::test
