#pragma once

#include <memory>
#include <vector>

#include "api/src/handles.h"

namespace rill::api {

using IoTexts = std::vector<std::unique_ptr<const IoText>>;

inline bool is_dir(rill_dir dir) { return dir == RILL_INPUT || dir == RILL_OUTPUT; }

/// Describe input or output `index`, for models and plans alike.
rill_status io_info(const char* function, const IoTexts (&io)[2], rill_dir dir, size_t index,
                    rill_io_info* info);
rill_status io_find(const char* function, const IoTexts (&io)[2], rill_dir dir, const char* name,
                    size_t* index);

}  // namespace rill::api
