#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include <string>

#include "cli/toml_impl.h"

namespace rill::cli {
namespace {

using nlohmann::json;

json json_of(const toml::node& node) {
  if (const toml::table* table = node.as_table()) {
    json out = json::object();
    for (const auto& [key, value] : *table) out[std::string(key.str())] = json_of(value);
    return out;
  }
  if (const toml::array* array = node.as_array()) {
    json out = json::array();
    for (const toml::node& value : *array) out.push_back(json_of(value));
    return out;
  }
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return number->get();
  if (const auto* number = node.as_floating_point()) return number->get();
  if (const auto* truth = node.as_boolean()) return truth->get();
  return nullptr;  // a date or a time, which no option accepts
}

}  // namespace

Result<json> parse_toml(std::string_view text, std::string_view file) {
  const toml::parse_result parsed = toml::parse(text);
  if (parsed) return json_of(parsed.table());
  const toml::parse_error& error = parsed.error();
  return fail(Code::kParse, "expected TOML: ", error.description())
      .at(file, static_cast<int>(error.source().begin.line));
}

}  // namespace rill::cli
