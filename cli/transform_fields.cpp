#include "cli/transform_fields.h"

#include <algorithm>

#include "cli/specs.h"

namespace rill::cli {

using nlohmann::json;

Status wrong_field(const TransformSpec& spec, std::string_view expected) {
  return fail(Code::kArg, "Transform ", spec.name, ": expected ", expected, ", found ",
              spec.fields.dump());
}

/// Refuse fields that the transform does not have.
Status check_fields(const TransformSpec& spec, std::initializer_list<const char*> known,
                    const Log& log) {
  for (const auto& field : spec.fields.items()) {
    const std::string& key = field.key();
    const bool found =
        std::any_of(known.begin(), known.end(), [&](const char* name) { return key == name; });
    if (found) continue;
    std::string names;
    for (const char* name : known) names += str_cat(names.empty() ? "" : ", ", name);
    RILL_TRY(unknown_name(log, fail(Code::kArg, "Transform ", spec.name, " has no field ", key,
                                    ": it takes ", names)));
  }
  return {};
}

Result<Dim> dim_of(const json& value) {
  if (value.is_number_integer()) return Dim(value.get<int64_t>());
  if (value.is_string()) return parse_dim(value.get<std::string>());
  return fail(Code::kArg, "expected a number or an expression, found ", value.dump());
}

Result<std::vector<std::string>> names_of(const TransformSpec& spec, const char* field) {
  const auto it = spec.fields.find(field);
  if (it == spec.fields.end() || !it->is_array() || it->empty()) {
    return wrong_field(spec, str_cat(field, ": [\"name\", ...]"));
  }
  std::vector<std::string> out;
  for (const json& item : *it) {
    if (!item.is_string()) return wrong_field(spec, str_cat(field, ": [\"name\", ...]"));
    out.push_back(item.get<std::string>());
  }
  return out;
}

Result<DType> float_type_of(const TransformSpec& spec, const char* field) {
  const auto it = spec.fields.find(field);
  const auto type = it != spec.fields.end() && it->is_string()
                        ? dtype_from_name(it->get<std::string>())
                        : std::nullopt;
  if (!type || !is_float(*type)) return wrong_field(spec, str_cat(field, ": \"f16\""));
  return *type;
}

Result<transforms::NodeFilter> node_filter(const TransformSpec& spec) {
  transforms::NodeFilter out;
  const auto given = [&](const char* field) {
    return spec.fields.contains(field) && !spec.fields[field].is_null();
  };
  if (given("include")) {
    RILL_ASSIGN(out.include, names_of(spec, "include"));
  }
  if (given("exclude")) {
    RILL_ASSIGN(out.exclude, names_of(spec, "exclude"));
  }
  if (!given("filter") || given("include") || given("exclude")) return out;
  if (!spec.fields["filter"].is_string()) return wrong_field(spec, "filter: \"!=name,name\"");
  return transforms::filter_from_text(spec.fields["filter"].get<std::string>());
}

}  // namespace rill::cli
