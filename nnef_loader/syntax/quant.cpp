#include "nnef_loader/syntax/quant.h"

#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "core/base/number_text.h"
#include "nnef_loader/syntax/numbers.h"
#include "nnef_loader/syntax/parser.h"
#include "nnef_loader/syntax/printer.h"
#include "nnef_loader/syntax/token_stream.h"

namespace rill::nnef {
namespace {

enum Field : uint8_t { kZeroPoint, kScale, kMin, kMax, kBits, kSigned, kSymmetric, kFieldCount };
constexpr std::array<std::string_view, kFieldCount> kFieldNames = {
    "zero_point", "scale", "min", "max", "bits", "signed", "symmetric"};

using Given = std::array<bool, kFieldCount>;

class QuantParser {
 public:
  QuantParser(std::string_view text, std::string_view file) : tokens_(text, file) {}
  Result<QuantInfo> entries();

 private:
  Result<QuantEntry> entry();
  Result<Field> field();
  Status value(Field field, QuantEntry* entry);
  Result<bool> logical();
  Result<std::string> number();
  Result<int32_t> integer();
  Result<float> real();
  template <class T>
  Status numbers(Result<T> (QuantParser::*read)(), T* one, std::vector<T>* many);
  Status check(const QuantEntry& entry, const Given& given, Place place);

  TokenStream tokens_;
};

Result<QuantInfo> QuantParser::entries() {
  QuantInfo info;
  while (!tokens_.at_end()) {
    const Token& name = tokens_.peek();
    const bool is_name = name.kind == Token::Kind::kString || name.extended;
    if (!is_name) return tokens_.unexpected("the name of a tensor in quotes");
    std::string key = tokens_.take().value;
    RILL_TRY(tokens_.expect(":", "after the name of a tensor"));
    RILL_ASSIGN(QuantEntry next, entry());
    RILL_TRY(tokens_.expect(";", "at the end of an entry"));
    info.insert_or_assign(std::move(key), std::move(next));
  }
  RILL_TRY(tokens_.expect_end("the last entry"));
  return info;
}

Result<QuantEntry> QuantParser::entry() {
  QuantEntry entry;
  const Place place = tokens_.peek().place;
  entry.line = place.line;
  if (tokens_.accept_word("linear_quantize")) {
    entry.kind = QuantEntry::Kind::kMinMax;
  } else if (!tokens_.accept_word("zero_point_linear_quantize")) {
    return tokens_.unexpected("`zero_point_linear_quantize` or `linear_quantize`");
  }
  RILL_TRY(tokens_.expect("(", "before the arguments"));
  Given given{};
  while (!tokens_.accept(")")) {
    RILL_ASSIGN(const Field name, field());
    if (given[name]) {
      return tokens_.error_at(tokens_.peek().place,
                              str_cat("`", kFieldNames[name], "` is given twice"));
    }
    given[name] = true;
    RILL_TRY(tokens_.expect("=", "after the name of an argument"));
    RILL_TRY(value(name, &entry));
    if (!tokens_.peek().is(")")) RILL_TRY(tokens_.expect(",", "or `)` after an argument"));
  }
  RILL_TRY(check(entry, given, place));
  if (entry.kind == QuantEntry::Kind::kMinMax) entry.is_signed = true;
  return entry;
}

Result<Field> QuantParser::field() {
  for (uint8_t i = 0; i < kFieldCount; ++i) {
    if (tokens_.accept_word(kFieldNames[i])) return static_cast<Field>(i);
  }
  return tokens_.unexpected("zero_point, scale, min, max, bits, signed or symmetric");
}

Status QuantParser::value(Field field, QuantEntry* entry) {
  switch (field) {
    case kZeroPoint:
      return numbers(&QuantParser::integer, &entry->zero_point, &entry->zero_points);
    case kScale:
      return numbers(&QuantParser::real, &entry->scale, &entry->scales);
    case kMin:
      return numbers<float>(&QuantParser::real, &entry->min, nullptr);
    case kMax:
      return numbers<float>(&QuantParser::real, &entry->max, nullptr);
    case kBits:
      return numbers<int32_t>(&QuantParser::integer, &entry->bits, nullptr);
    case kSigned: {
      RILL_ASSIGN(entry->is_signed, logical());
      return {};
    }
    default: {
      RILL_TRY(logical());
      return {};
    }
  }
}

template <class T>
Status QuantParser::numbers(Result<T> (QuantParser::*read)(), T* one, std::vector<T>* many) {
  if (many == nullptr || !tokens_.accept("[")) {
    RILL_ASSIGN(*one, (this->*read)());
    return {};
  }
  // NumPy prints lists without commas.
  while (!tokens_.accept("]")) {
    RILL_ASSIGN(const T item, (this->*read)());
    many->push_back(item);
    tokens_.accept(",");
  }
  if (many->empty()) return tokens_.unexpected("at least one number in a list");
  *one = many->front();
  return {};
}

Result<bool> QuantParser::logical() {
  if (tokens_.accept_word("true")) return true;
  if (tokens_.accept_word("false")) return false;
  return tokens_.unexpected("`true` or `false`");
}

Result<std::string> QuantParser::number() {
  std::string text = tokens_.accept("-") ? "-" : "";
  if (tokens_.peek().kind != Token::Kind::kNumber) return tokens_.unexpected("a number");
  text += tokens_.take().text;
  return text;
}

Result<int32_t> QuantParser::integer() {
  const Place place = tokens_.peek().place;
  RILL_ASSIGN(const std::string text, number());
  const std::optional<int64_t> value = parse_int(text);
  if (!value || *value < std::numeric_limits<int32_t>::min() ||
      *value > std::numeric_limits<int32_t>::max()) {
    return tokens_.error_at(place, str_cat("expected an integer of 32 bits, found ", text));
  }
  return static_cast<int32_t>(*value);
}

Result<float> QuantParser::real() {
  const Place place = tokens_.peek().place;
  RILL_ASSIGN(const std::string text, number());
  const std::optional<float> value = parse_float(text);
  if (!value || !std::isfinite(*value)) {
    return tokens_.error_at(place, str_cat("expected a finite number, found ", text));
  }
  return *value;
}

Status QuantParser::check(const QuantEntry& entry, const Given& given, Place place) {
  constexpr std::array<Field, 4> kForZeroPoint = {kZeroPoint, kScale, kBits, kSigned};
  constexpr std::array<Field, 3> kForMinMax = {kMin, kMax, kBits};
  const bool is_min_max = entry.kind == QuantEntry::Kind::kMinMax;
  const std::span<const Field> needed =
      is_min_max ? std::span<const Field>(kForMinMax) : std::span<const Field>(kForZeroPoint);
  for (const Field field : needed) {
    if (!given[field]) {
      return tokens_.error_at(place, str_cat("argument `", kFieldNames[field], "` is missing"));
    }
  }
  std::vector<float> scales = entry.scales;
  if (scales.empty()) scales.push_back(entry.scale);
  for (const float scale : scales) {
    if (!(scale > 0.0F)) {
      return tokens_.error_at(place, str_cat("expected a positive scale, found ", scale));
    }
  }
  const bool lists_differ = !entry.scales.empty() && !entry.zero_points.empty() &&
                            entry.scales.size() != entry.zero_points.size();
  if (lists_differ) {
    return tokens_.error_at(place, str_cat("found ", entry.scales.size(), " scales and ",
                                           entry.zero_points.size(), " zero points"));
  }
  return {};
}

/// Format a scale with nine decimals, as tract does, or with more digits if needed.
std::string scale_text(float scale) {
  std::string text;
  if (std::isfinite(scale)) append_fixed(text, static_cast<double>(scale), 9);
  float back = 0.0F;
  return read_number(text, &back) > 0 && back == scale ? text : str_cat(scale);
}

/// Return a name in the format: plain names in quotes, others as `i"..."`.
std::string key_text(const std::string& name) {
  return (is_plain_identifier(name) ? "" : "i") + print_string(name);
}

}  // namespace

Result<QuantInfo> parse_quant(std::string_view text, std::string_view file) {
  if (text.size() > kMaxTextBytes) {
    return fail(Code::kParse, "a text of ", text.size(), " bytes: the limit is ", kMaxTextBytes)
        .at(file, 0);
  }
  return QuantParser(text, file).entries();
}

std::string print_quant(const QuantInfo& info) {
  std::string out;
  for (const auto& [name, entry] : info) {
    if (entry.kind == QuantEntry::Kind::kMinMax) {
      out += str_cat(key_text(name), ": linear_quantize(min = ", entry.min, ", max = ", entry.max,
                     ", bits = ", entry.bits, ");\n");
      continue;
    }
    out += str_cat(
        key_text(name), ": zero_point_linear_quantize(zero_point = ",
        entry.zero_points.empty() ? str_cat(entry.zero_point) : str_cat(entry.zero_points),
        ", scale = ", entry.scales.empty() ? scale_text(entry.scale) : str_cat(entry.scales),
        ", bits = ", entry.bits, ", signed = ", entry.is_signed,
        ", symmetric = ", entry.zero_point == 0 && entry.zero_points.empty(), ");\n");
  }
  return out;
}

Result<std::pair<DType, QParams>> quant_type(const QuantEntry& entry) {
  if (!entry.scales.empty() || !entry.zero_points.empty()) {
    return fail(Code::kUnsupported, "quantisation per channel");
  }
  QParams q{entry.zero_point, entry.scale};
  if (entry.kind == QuantEntry::Kind::kMinMax) {
    q.scale = (entry.max - entry.min) / 255.0F;
    const float zero_point = -(entry.min + entry.max) / 2.0F / q.scale;
    if (!(q.scale > 0.0F) || !std::isfinite(q.scale) || !(std::abs(zero_point) < 0x1p31F)) {
      return fail(Code::kUnsupported, "quantised range from ", entry.min, " to ", entry.max);
    }
    q.zero_point = static_cast<int32_t>(zero_point);
  }
  if (entry.bits == 8) return std::pair(entry.is_signed ? DType::kQI8 : DType::kQU8, q);
  if (entry.bits == 32 && entry.is_signed) return std::pair(DType::kQI32, q);
  if (entry.bits == 32) return std::pair(DType::kU32, QParams{});
  return fail(Code::kUnsupported, "quantised to ", entry.bits, " bits, expected 8 or 32");
}

}  // namespace rill::nnef
