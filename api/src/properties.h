#pragma once

#include <memory>
#include <vector>

#include "api/include/rill/rill.h"
#include "core/exec/property.h"

namespace rill::api {

/// A property in the form of rill.h.
struct PropertyText {
  explicit PropertyText(Property property);
  void fill(rill_property* to) const;

  const Property of;
  std::vector<const char*> string_pointers;
};

using Properties = std::vector<std::unique_ptr<const PropertyText>>;

Properties properties_of(std::vector<Property> all);

/// Fill in the property at `index`. Errors: RILL_E_ABI, RILL_E_ARG.
rill_status property_at(const char* function, const Properties& all, size_t index,
                        rill_property* property);
/// Fill in the property of that key. Errors: as above.
rill_status property_find(const char* function, const Properties& all, const char* key,
                          rill_property* property);

}  // namespace rill::api
