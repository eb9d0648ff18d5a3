#include "core/run/step_fields.h"

namespace rill {

std::string_view StepFields::first_of(std::string_view* names) const {
  if (names == nullptr || !wants_names_) return {};
  const size_t comma = names->find(',');
  const std::string_view first = names->substr(0, comma);
  *names = comma == std::string_view::npos ? std::string_view() : names->substr(comma + 1);
  while (!names->empty() && names->front() == ' ') names->remove_prefix(1);
  return first;
}

}  // namespace rill
