#include "cli/specs.h"

#include <cmath>

#include "core/base/number_text.h"
#include "core/graph/streaming.h"

namespace rill::cli {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> out;
  int depth = 0;
  std::string piece;
  for (const char c : text) {
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (c == separator && depth <= 0) {
      out.emplace_back(trimmed(piece));
      piece.clear();
    } else {
      piece.push_back(c);
    }
  }
  out.emplace_back(trimmed(piece));
  return out;
}

Result<double> parse_number(std::string_view text) {
  text = trimmed(text);
  double value = 0;
  const size_t length = read_number(text, &value);
  if (length == 0 || length != text.size() || !std::isfinite(value)) {
    return fail(Code::kArg, "expected a number, found \"", text, "\"");
  }
  return value;
}

Result<Tolerance> parse_custom_tolerance(std::string_view text) {
  const auto pieces = split(text, ',');
  if (pieces.size() != 3) {
    return fail(Code::kArg, "--approx-custom: expected absolute,relative,outliers, found \"", text,
                "\"");
  }
  Tolerance out;
  out.name = "Custom";
  out.custom = true;
  RILL_ASSIGN(out.absolute, parse_number(pieces[0]));
  RILL_ASSIGN(out.relative, parse_number(pieces[1]));
  RILL_ASSIGN(out.outliers, parse_number(pieces[2]));
  return out;
}

namespace {

Status bad_fact(std::string_view text, std::string_view why) {
  return fail(Code::kArg, "Failed to parse \"", text, "\": ", why)
      .hint("Expected [name:]dim,dim,...[,dtype][=value,value,...], as in x:1,S,40,f32");
}

}  // namespace

Result<FactSpec> parse_fact_spec(std::string_view text) {
  FactSpec out;
  std::string_view rest = trimmed(text);
  if (rest.find('@') != std::string_view::npos) {
    return bad_fact(text, "values from files are given by --input-from-bundle");
  }
  if (const size_t equals = rest.find('='); equals != std::string_view::npos) {
    out.has_values = true;
    out.values = split(rest.substr(equals + 1), ',');
    rest = rest.substr(0, equals);
  }
  if (const size_t colon = rest.rfind(':'); colon != std::string_view::npos) {
    out.name = trimmed(rest.substr(0, colon));
    rest = rest.substr(colon + 1);
  }
  std::vector<std::string> items = split(rest, ',');
  if (const auto dtype = dtype_from_name(items.back())) {
    out.dtype = dtype;
    items.pop_back();
  }
  if (items.size() == 1 && items[0].empty()) items.clear();  // ",f32": rank 0
  for (const std::string& item : items) {
    if (item == "_") {
      out.shape.emplace_back(std::nullopt);
      continue;
    }
    auto dim = parse_dim(item);
    if (!dim.ok()) return bad_fact(text, dim.error().message);
    const auto number = dim->to_int();
    if (number && *number < 0) return bad_fact(text, "an extent cannot be negative");
    out.shape.emplace_back(std::move(dim).value());
  }
  return out;
}

Result<Tensor> spec_tensor(const FactSpec& spec) {
  if (!spec.dtype) return fail(Code::kArg, "values need a type, as in x:2,f32=1,2");
  std::vector<int64_t> shape;
  for (const auto& extent : spec.shape) {
    const auto number = extent ? extent->to_int() : std::nullopt;
    if (!number) return fail(Code::kArg, "values need a shape of numbers");
    shape.push_back(*number);
  }
  std::vector<double> values;
  for (const std::string& text : spec.values) {
    RILL_ASSIGN(const double value, parse_number(text));
    values.push_back(value);
  }
  RILL_ASSIGN(const Tensor wide, Tensor::of<double>(DType::kF64, shape, values));
  return cast(wide, *spec.dtype);
}

Result<std::pair<std::string, Dim>> parse_setting(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return fail(Code::kArg, "--set must be in the X=value form, got ", text);
  }
  const auto symbol = trimmed(text.substr(0, equals));
  auto value = parse_dim(text.substr(equals + 1));
  if (!value.ok()) {
    return fail(Code::kArg, "--set: parsing TDim expression for ", text, ": ",
                value.error().message);
  }
  const auto number = value->to_int();
  if (number && *number < 0) {
    return fail(Code::kArg, "--set ", text, ": a symbol is an extent and cannot be negative");
  }
  return std::pair(std::string(symbol), std::move(value).value());
}

Result<std::pair<std::string, Dim>> parse_pulse_spec(std::string_view text) {
  const size_t equals = text.find('=');
  std::string symbol{kDefaultStreamSymbol};
  std::string_view value = text;
  if (equals != std::string_view::npos) {
    symbol = trimmed(text.substr(0, equals));
    value = text.substr(equals + 1);
  }
  auto pulse = parse_dim(value);
  if (symbol.empty() || !pulse.ok()) {
    return fail(Code::kPulse, "--pulse ", text, ": ",
                symbol.empty() ? "no symbol before =" : pulse.error().message)
        .hint("Expected SYMBOL=FRAMES, as in --pulse S=8, or FRAMES of S, as in --pulse 8");
  }
  const auto number = pulse->to_int();
  if (number && *number < 1) {
    return fail(Code::kPulse, "--pulse ", text, ": a pulse is at least 1 frame")
        .hint(str_cat("Give the frames per step, as in --pulse ", symbol, "=8"));
  }
  return std::pair(std::move(symbol), std::move(pulse).value());
}

Result<std::pair<std::string, pulse::Window>> parse_window_spec(std::string_view text) {
  std::pair<std::string, pulse::Window> out(kDefaultStreamSymbol, pulse::Window());
  std::string_view frames = text;
  if (const size_t equals = text.find('='); equals != std::string_view::npos) {
    out.first = trimmed(text.substr(0, equals));
    frames = text.substr(equals + 1);
  }
  std::vector<int64_t> numbers;
  for (const std::string& part : split(frames, ',')) {
    const auto number = parse_dim(part);
    numbers.push_back(number.ok() ? number->to_int().value_or(-1) : -1);
  }
  const bool sane = numbers.size() == 3 && numbers[0] >= 0 && numbers[1] >= 1 && numbers[2] >= 0;
  if (out.first.empty() || !sane) {
    return fail(Code::kPulse, "--window ", text,
                ": expected SYMBOL=LEFT,STEP,RIGHT, with a STEP of 1 or more")
        .hint("As in --window S=40,8,16, for 40 frames of context, 8 per step, and 16 of context");
  }
  out.second = {numbers[0], numbers[1], numbers[2]};
  return out;
}

Result<RangeSpec> parse_range_spec(std::string_view text) {
  RangeSpec out;
  std::string_view range = text;
  if (const size_t equals = text.find('='); equals != std::string_view::npos) {
    out.name = trimmed(text.substr(0, equals));
    range = text.substr(equals + 1);
  }
  const size_t dots = range.find("..");
  const auto low = parse_number(range.substr(0, dots));
  const auto high = parse_number(dots == std::string_view::npos ? "" : range.substr(dots + 2));
  if (!low.ok() || !high.ok() || *low > *high) {
    return fail(Code::kArg, "--random-range: expected name=low..high, found \"", text, "\"");
  }
  out.low = *low;
  out.high = *high;
  return out;
}

}  // namespace rill::cli
