// Stores the streaming of a pulsed graph as properties of its file. tract writes the first three,
// and newer versions also the symbol; all others belong to rill.

#include <algorithm>
#include <charconv>
#include <iterator>

#include "core/base/search.h"
#include "core/graph/fingerprint.h"
#include "nnef_loader/properties.h"

namespace rill::nnef {
namespace {

using Properties = std::map<std::string, Tensor>;

constexpr char kDelay[] = "pulse.delay";
constexpr char kInputAxes[] = "pulse.input_axes";
constexpr char kOutputAxes[] = "pulse.output_axes";
constexpr char kSymbol[] = "pulse.streaming_symbol";
constexpr char kPulse[] = "rill.pulse.pulse";
constexpr char kLengths[] = "rill.pulse.output_lengths";
constexpr char kInputLengths[] = "rill.pulse.input_lengths";
constexpr char kWires[] = "rill.pulse.wires";
constexpr char kBegins[] = "rill.pulse.begins";
constexpr char kLateEnd[] = "rill.pulse.late_end";
constexpr char kLongest[] = "rill.pulse.longest";
constexpr char kAsserted[] = "rill.pulse.asserted";
constexpr char kApproximations[] = "rill.pulse.approx";
constexpr char kModel[] = "rill.model";

constexpr const char* kKeys[] = {
    kDelay, kInputAxes, kOutputAxes, kSymbol,  kPulse,    kLengths,        kInputLengths,
    kWires, kBegins,    kLateEnd,    kLongest, kAsserted, kApproximations, kModel};

Tensor ints(const std::vector<int64_t>& values) {
  auto tensor = Tensor::of<int64_t>(DType::kI64, {static_cast<int64_t>(values.size())}, values);
  return std::move(tensor).value();
}

Tensor texts(const std::vector<std::string>& values) {
  auto tensor =
      Tensor::of<std::string>(DType::kString, {static_cast<int64_t>(values.size())}, values);
  return std::move(tensor).value();
}

std::vector<std::string> dim_texts(const std::vector<Dim>& dims) {
  std::vector<std::string> out;
  for (const Dim& dim : dims) out.push_back(dim.to_string());
  return out;
}

/// tract cannot read lists of 16 integers or more, so the delays of wires are texts.
std::vector<std::string> wire_texts(const std::vector<StreamingWire>& wires) {
  std::vector<std::string> out;
  for (const StreamingWire& wire : wires) out.push_back(str_cat(wire.delay, " ", wire.name));
  return out;
}

void add_streaming(const Streaming& streaming, Properties* out) {
  const auto add = [&](const char* key, Tensor value) {
    out->insert_or_assign(key, std::move(value));
  };
  std::vector<int64_t> axes;
  std::vector<int64_t> delays;
  std::vector<std::string> lengths;
  for (const StreamingOutput& output : streaming.outputs) {
    axes.push_back(output.axis);
    delays.push_back(output.delay);
    lengths.push_back(output.length ? output.length->to_string() : std::string());
  }
  add(kDelay, ints(delays));
  add(kInputAxes, ints({streaming.input_axes.begin(), streaming.input_axes.end()}));
  add(kOutputAxes, ints(axes));
  if (!streaming.named.empty()) add(kSymbol, texts({streaming.named}));
  if (streaming.pulse == 0) return;
  add(kPulse, ints({streaming.pulse}));
  add(kLengths, texts(lengths));
  const auto is_known = [](const std::optional<Dim>& length) { return length.has_value(); };
  if (any_of(streaming.input_lengths, is_known)) {
    std::vector<std::string> of_inputs;
    for (const std::optional<Dim>& length : streaming.input_lengths) {
      of_inputs.push_back(length ? length->to_string() : std::string());
    }
    add(kInputLengths, texts(of_inputs));
  }
  if (!streaming.wires.empty()) add(kWires, texts(wire_texts(streaming.wires)));
  add(kBegins, ints({streaming.begin_unit, streaming.settled}));
  add(kLateEnd, ints({streaming.late_end ? 1 : 0}));
  if (streaming.longest) add(kLongest, ints({*streaming.longest}));
  if (!streaming.asserted.empty()) add(kAsserted, texts(dim_texts(streaming.asserted)));
  if (!streaming.approximations.empty()) add(kApproximations, texts(streaming.approximations));
  if (streaming.model) add(kModel, texts({to_text(*streaming.model)}));
}

/// Takes properties out of those of a file, one by one. After an error it returns nothing.
class Reader {
 public:
  explicit Reader(Properties* properties) : properties_(properties) {}

  Result<Streaming> read();

 private:
  bool has(const char* key) const { return properties_->contains(key); }
  std::optional<Tensor> take(const char* key);
  void refuse(const char* key, std::string_view expected, std::string_view found);
  std::vector<int64_t> integers(const char* key);
  std::vector<std::string> strings(const char* key);
  /// Return the integers of a property if their count is right and none is below `least`; else
  /// `otherwise`.
  std::vector<int64_t> numbers(const char* key, std::vector<int64_t> otherwise, int64_t least);
  std::optional<Dim> dim(const char* key, const std::string& text);

  void inputs_and_outputs();
  void input_lengths();
  void lengths();
  void wires();
  void rest();

  Properties* properties_;
  Streaming out_;
  Status status_;
};

std::optional<Tensor> Reader::take(const char* key) {
  const auto it = properties_->find(key);
  if (it == properties_->end()) return std::nullopt;
  Tensor out = std::move(it->second);
  properties_->erase(it);
  return out;
}

void Reader::refuse(const char* key, std::string_view expected, std::string_view found) {
  if (!status_.ok()) return;
  status_ = fail(Code::kParse, "property \"", key, "\": expected ", expected, ", found ", found)
                .hint("Pulse the model again, and leave the properties of its file unchanged");
}

std::vector<int64_t> Reader::integers(const char* key) {
  std::vector<int64_t> out;
  const auto tensor = take(key);
  if (!tensor) return out;
  for (int64_t i = 0; i < tensor->volume(); ++i) {
    const auto value = element_as_int(*tensor, i);
    if (!value.ok()) {
      refuse(key, "integers", str_cat(dtype_name(tensor->dtype()), " at ", i));
      return {};
    }
    out.push_back(*value);
  }
  return out;
}

std::vector<std::string> Reader::strings(const char* key) {
  const auto tensor = take(key);
  if (!tensor) return {};
  if (tensor->dtype() != DType::kString) {
    refuse(key, "texts", dtype_name(tensor->dtype()));
    return {};
  }
  const auto values = tensor->values<std::string>();
  return {values.begin(), values.end()};
}

std::vector<int64_t> Reader::numbers(const char* key, std::vector<int64_t> otherwise,
                                     int64_t least) {
  if (!has(key)) return otherwise;
  std::vector<int64_t> out = integers(key);
  if (out.size() != otherwise.size()) {
    refuse(key, str_cat(otherwise.size(), " integers"), std::to_string(out.size()));
    return otherwise;
  }
  for (const int64_t number : out) {
    if (number < least) refuse(key, str_cat("at least ", least), std::to_string(number));
  }
  return out;
}

std::optional<Dim> Reader::dim(const char* key, const std::string& text) {
  auto parsed = parse_dim(text);
  if (parsed.ok()) return std::move(parsed).value();
  refuse(key, "an expression of symbols", str_cat("\"", text, "\": ", parsed.error().message));
  return std::nullopt;
}

void Reader::inputs_and_outputs() {
  for (const char* key : {kDelay, kInputAxes, kOutputAxes}) {
    if (!has(key))
      refuse(key, "a list, as the file has other properties of a pulsed model", "nothing");
  }
  const auto axis = [&](const char* key, int64_t value) {
    if (value < -1 || value >= kMaxRank) refuse(key, "axes, or -1", std::to_string(value));
    return static_cast<int>(value);
  };
  for (const int64_t value : integers(kInputAxes)) {
    out_.input_axes.push_back(axis(kInputAxes, value));
  }
  const std::vector<int64_t> delays = integers(kDelay);
  for (const int64_t value : integers(kOutputAxes)) {
    out_.outputs.push_back({axis(kOutputAxes, value), 0, std::nullopt});
  }
  if (delays.size() != out_.outputs.size()) {
    refuse(kDelay, str_cat(out_.outputs.size(), " integers, one per output"),
           std::to_string(delays.size()));
    return;
  }
  for (size_t i = 0; i < delays.size(); ++i) out_.outputs[i].delay = delays[i];
}

void Reader::input_lengths() {
  if (!has(kInputLengths)) return;
  const std::vector<std::string> entries = strings(kInputLengths);
  if (entries.size() != out_.input_axes.size()) {
    return refuse(kInputLengths, str_cat(out_.input_axes.size(), " texts, one per input"),
                  std::to_string(entries.size()));
  }
  for (const std::string& text : entries) {
    out_.input_lengths.push_back(text.empty() ? std::nullopt : dim(kInputLengths, text));
  }
}

void Reader::lengths() {
  if (!has(kLengths)) return;
  const std::vector<std::string> entries = strings(kLengths);
  if (entries.size() != out_.outputs.size()) {
    refuse(kLengths, str_cat(out_.outputs.size(), " texts, one per output"),
           std::to_string(entries.size()));
    return;
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    // A static output that is known from the start has no length.
    if (!entries[i].empty() || out_.outputs[i].axis >= 0) {
      out_.outputs[i].length = dim(kLengths, entries[i]);
    }
  }
}

void Reader::wires() {
  for (const std::string& text : strings(kWires)) {
    StreamingWire wire;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, wire.delay);
    if (error != std::errc() || rest == end || *rest != ' ') {
      return refuse(kWires, "\"DELAY NAME\", as in \"3 conv1\"", str_cat("\"", text, "\""));
    }
    wire.name.assign(rest + 1, end);
    out_.wires.push_back(std::move(wire));
  }
}

void Reader::rest() {
  out_.pulse = numbers(kPulse, {0}, 1)[0];
  const std::vector<int64_t> begins = numbers(kBegins, {1, 0}, 0);
  out_.begin_unit = std::max<int64_t>(1, begins[0]);
  out_.settled = begins[1];
  const int64_t late_end = numbers(kLateEnd, {0}, 0)[0];
  if (late_end > 1) refuse(kLateEnd, "0 or 1", std::to_string(late_end));
  out_.late_end = late_end == 1;
  if (has(kLongest)) out_.longest = numbers(kLongest, {0}, 0)[0];
  for (const std::string& text : strings(kAsserted)) {
    out_.asserted.push_back(dim(kAsserted, text).value_or(Dim(0)));
  }
  out_.approximations = strings(kApproximations);
  if (!has(kModel)) return;
  const std::vector<std::string> model = strings(kModel);
  out_.model = model.size() == 1 ? parse_fingerprint(model[0]) : std::nullopt;
  if (!out_.model) {
    refuse(kModel, "32 hexadecimal digits", model.empty() ? "none" : str_cat("\"", model[0], "\""));
  }
}

Result<Streaming> Reader::read() {
  inputs_and_outputs();
  if (has(kSymbol)) {
    const std::vector<std::string> symbol = strings(kSymbol);
    if (symbol.size() == 1) out_.named = symbol[0];
    if (out_.named.empty()) {
      refuse(kSymbol, "the name of a symbol", str_cat(symbol.size(), " texts"));
    }
  }
  input_lengths();
  lengths();
  wires();
  rest();
  if (!status_.ok()) return std::move(status_);
  return std::move(out_);
}

}  // namespace

bool describes_streams(const std::string& key) {
  return std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
}

Properties properties_of(const Graph& graph) {
  Properties out = graph.properties;
  if (graph.streaming) add_streaming(*graph.streaming, &out);
  return out;
}

Status set_properties(Properties properties, Graph* graph) {
  const bool any =
      any_of(properties, [](const auto& each) { return describes_streams(each.first); });
  graph->streaming.reset();
  if (any) {
    RILL_ASSIGN(graph->streaming, Reader(&properties).read());
  }
  graph->properties = std::move(properties);
  return {};
}

}  // namespace rill::nnef
