// Links of wide graphs that trim, pad, slide windows and change rates.

#include "tests/property/texts.h"
#include "tests/property/wide_writer.h"

namespace rill::test {

std::string WideWriter::number() { return thousandths(draw_.in(-999, 999)); }

std::string WideWriter::numbers(std::vector<int64_t> shape) {
  return nested_list(std::move(shape), [&] { return number(); });
}

std::string WideWriter::slice(const std::string& x, int64_t begin, const std::string& end) {
  return put({"slice(", x, ", axes = [2], begin = [", begin, "], end = [", end, "])"});
}

std::string WideWriter::pad(const std::string& x, int64_t before, int64_t after,
                            const std::string& border) {
  return put({"pad(", x, ", padding = [(0, 0), (0, 0), (", before, ", ", after, ")], border = '",
              border, "', value = ", draw_.chance(60) ? "0.0" : number(), ")"});
}

std::string WideWriter::frames_of(const std::string& x) {
  const std::string shape = put({"tract_core_shape_of(", x, ")"});
  const std::string one = put({"slice(", shape, ", axes = [0], begin = [2], end = [3])"});
  return put({"squeeze(", one, ", axes = [0])"});
}

/// Return the name of a new static input [batch, 2, frames].
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
  return {put({"conv(", x.name, ", ", numbers({outputs, x.channels, taps}), ", ",
               numbers({1, outputs}), ", stride = [", stride, "], dilation = [", dilation,
               "], padding = [(", before, ", ", after, ")], border = 'constant')"}),
          outputs};
}

WideWire WideWriter::deconv(const WideWire& x) {
  const int64_t taps = draw_.chance(80) ? draw_.in(1, 6) : draw_.log_in(1, kMostTaps);
  const int64_t dilation = draw_.chance(80) ? 1 : std::max<int64_t>(1, size());
  const int64_t extent = (taps - 1) * dilation + 1;
  const int64_t before = draw_.chance(50) ? 0 : draw_.in(0, extent - 1);
  const int64_t after = draw_.chance(50) ? 0 : draw_.in(0, extent - 1 - before);
  const int64_t outputs = draw_.in(1, 2);
  return {put({"deconv(", x.name, ", ", numbers({outputs, x.channels, taps}), ", ",
               numbers({1, outputs}), ", stride = [", draw_.chance(40) ? 1 : rate(),
               "], dilation = [", dilation, "], padding = [(", before, ", ", after, ")])"}),
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
  return same(x,
              {kinds[kind], "(", x.name, ", size = [1, 1, ", taps, "], stride = [1, 1, ",
               draw_.chance(60) ? 1 : rate(), "], dilation = [1, 1, ", dilation,
               "], padding = [(0, 0), (0, 0), (", before, ", ", after, ")], border = '",
               ignored ? "ignore" : "constant", "'", kind == 2 ? ", normalize = true" : "", ")"});
}

WideWire WideWriter::trim(const WideWire& x) {
  const int64_t begin = draw_.chance(40) ? 0 : size();
  const int64_t end = begin > 0 && draw_.chance(40) ? 0 : size();
  return {slice(x.name, begin, from_end(end)), x.channels};
}

WideWire WideWriter::padded(const WideWire& x) {
  const char* const borders[] = {"constant", "constant", "replicated", "reflect"};
  const int64_t before = size();
  const int64_t after = size();
  return {pad(x.name, before, after, borders[draw_.in(0, 3)]), x.channels};
}

/// Two branches that are trimmed by the same total number of frames.
WideWire WideWriter::branches(const WideWire& x) {
  const int64_t frames = size();
  const int64_t one = draw_.in(0, frames);
  const int64_t other = draw_.in(0, frames);
  const std::string left = slice(x.name, one, from_end(frames - one));
  const std::string right = slice(pointwise(x).name, other, from_end(frames - other));
  const char* const joins[] = {" + ", " * ", " - "};
  return {put({left, joins[draw_.in(0, 2)], right}), x.channels};
}

WideWire WideWriter::shifted(const WideWire& x) {
  const int64_t by = std::max<int64_t>(1, size());
  const bool later = draw_.chance(50);
  const std::string cut = slice(x.name, later ? 0 : by, later ? from_end(by) : "0");
  const std::string moved = pad(cut, later ? by : 0, later ? 0 : by, "constant");
  return {put({x.name, " + ", moved}), x.channels};
}

WideWire WideWriter::strided(const WideWire& x) {
  const int64_t stride = rate();
  return same(x, {"tract_core_downsample(", x.name, ", axis = 2, stride = ", stride,
                  ", modulo = ", draw_.in(0, stride - 1), ")"});
}

}  // namespace rill::test
