#include "core/graph/nnef.h"

#include <cmath>

namespace rill {

Value Value::of_wires(std::span<const OutletId> wires) {
  if (wires.size() == 1) return Value(wires[0]);
  std::vector<Value> list;
  for (const OutletId& wire : wires) list.emplace_back(wire);
  return Value(std::move(list));
}

Result<Value> as_value(OutletId wire) { return Value(wire); }

Result<Value> as_value(Result<OutletId> wire) {
  RILL_ASSIGN(const OutletId out, std::move(wire));
  return Value(out);
}

using std::string_view;

bool LoadCtx::has(const char* name) const { return has(string_view(name)); }
bool LoadCtx::given(const char* name) const { return given(string_view(name)); }
Result<Value> LoadCtx::value(const char* name) { return value(string_view(name)); }
Result<OutletId> LoadCtx::wire(const char* name) { return wire(string_view(name)); }
Result<std::vector<OutletId>> LoadCtx::wires(const char* name) { return wires(string_view(name)); }
Result<Dim> LoadCtx::dim(const char* name) { return dim(string_view(name)); }
Result<std::vector<Dim>> LoadCtx::dims(const char* name) { return dims(string_view(name)); }
Result<int64_t> LoadCtx::integer(const char* name) { return integer(string_view(name)); }
Result<std::vector<int64_t>> LoadCtx::integers(const char* name) {
  return integers(string_view(name));
}
Result<float> LoadCtx::number(const char* name) { return number(string_view(name)); }
Result<bool> LoadCtx::boolean(const char* name) { return boolean(string_view(name)); }
Result<std::string> LoadCtx::text(const char* name) { return text(string_view(name)); }

std::string SaveCtx::dims(std::span<const Dim> values) {
  std::string out = "[";
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += ", ";
    out += dim(values[i]);
  }
  return out + "]";
}

Result<OutletId> LoadCtx::add1(OpPtr op, WireList inputs, std::string_view suffix) {
  RILL_ASSIGN(const std::vector<OutletId> outlets, add(std::move(op), inputs, suffix));
  return outlets[0];
}

Result<Value> LoadCtx::add_value(OpPtr op, WireList inputs, std::string_view suffix) {
  return as_value(add1(std::move(op), inputs, suffix));
}

std::string nnef_text(int64_t value) { return str_cat(value); }
std::string nnef_text(bool value) { return value ? "true" : "false"; }

std::string nnef_text(float value) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (std::isnan(value)) return "nan";
  std::string text = str_cat(value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string nnef_text(std::string_view value) {
  std::string out = "\"";
  for (const char c : value) {
    if (c == '\\' || c == '"' || c == '\'') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string nnef_text(std::span<const int64_t> values) {
  std::string out = "[";
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += ", ";
    out += str_cat(values[i]);
  }
  return out + "]";
}

std::string nnef_text(const Pads& values) {
  std::string out = "[";
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += ", ";
    out += str_cat("(", values[i].first, ", ", values[i].second, ")");
  }
  return out + "]";
}

}  // namespace rill
