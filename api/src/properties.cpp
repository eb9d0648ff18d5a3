#include "api/src/properties.h"

#include <utility>

#include "api/src/errors.h"

namespace rill::api {

PropertyText::PropertyText(Property property) : of(std::move(property)) {
  for (const std::string& each : of.strings) string_pointers.push_back(each.c_str());
}

void PropertyText::fill(rill_property* to) const {
  to->dtype = static_cast<rill_dtype>(of.dtype);
  to->key = of.key.c_str();
  to->text = of.text.c_str();
  to->count = of.count();
  to->ints = of.ints.empty() ? nullptr : of.ints.data();
  to->floats = of.floats.empty() ? nullptr : of.floats.data();
  to->strings = string_pointers.empty() ? nullptr : string_pointers.data();
}

Properties properties_of(std::vector<Property> all) {
  Properties out;
  for (Property& each : all) out.push_back(std::make_unique<const PropertyText>(std::move(each)));
  return out;
}

rill_status property_at(const char* function, const Properties& all, size_t index,
                        rill_property* property) {
  const rill_status known = check_size(property, "rill_property");
  if (known != RILL_OK) return known;
  if (index >= all.size()) {
    return refuse(RILL_E_ARG, "%s: no property %zu of %zu", function, index, all.size());
  }
  all[index]->fill(property);
  return RILL_OK;
}

rill_status property_find(const char* function, const Properties& all, const char* key,
                          rill_property* property) {
  const rill_status known = check_size(property, "rill_property");
  if (known != RILL_OK) return known;
  if (!key) return refuse(RILL_E_ARG, "%s: no key", function);
  for (const auto& each : all) {
    if (each->of.key != key) continue;
    each->fill(property);
    return RILL_OK;
  }
  return refuse(RILL_E_ARG, "the model has no property \"%s\"", key);
}

}  // namespace rill::api
