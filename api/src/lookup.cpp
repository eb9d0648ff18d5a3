#include "api/src/lookup.h"

#include "api/src/errors.h"
#include "api/src/guard.h"

namespace rill::api {
namespace {

const char* dir_name(rill_dir dir) { return dir == RILL_INPUT ? "input" : "output"; }

}  // namespace

rill_status io_info(const char* function, const IoTexts (&io)[2], rill_dir dir, size_t index,
                    rill_io_info* info) {
  if (!is_dir(dir)) {
    return refuse(RILL_E_ARG, "%s: neither RILL_INPUT nor RILL_OUTPUT: %d", function, dir);
  }
  const rill_status known = check_size(info, "rill_io_info");
  if (known != RILL_OK) return known;
  if (index >= io[dir].size()) {
    return refuse(RILL_E_ARG, "%s: no %s %zu: there are %zu", function, dir_name(dir), index,
                  io[dir].size());
  }
  io[dir][index]->fill(info);
  return RILL_OK;
}

rill_status io_find(const char* function, const IoTexts (&io)[2], rill_dir dir, const char* name,
                    size_t* index) {
  if (!is_dir(dir)) {
    return refuse(RILL_E_ARG, "%s: neither RILL_INPUT nor RILL_OUTPUT: %d", function, dir);
  }
  if (!name) return refuse(RILL_E_ARG, "%s: no name", function);
  if (!index) return refuse(RILL_E_ARG, "%s: null pointer for the index", function);
  for (size_t i = 0; i < io[dir].size(); ++i) {
    if (io[dir][i]->name != name) continue;
    *index = i;
    return RILL_OK;
  }
  return guarded(function, [&] {
    std::vector<std::string> names;
    for (const auto& each : io[dir]) names.push_back(each->name);
    return refuse(RILL_E_ARG, "no %s \"%s\": there are %s", dir_name(dir), name,
                  join(names, ", ").c_str());
  });
}

}  // namespace rill::api
