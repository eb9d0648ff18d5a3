#pragma once

#include <cstddef>
#include <span>

#include "api/src/model_handle.h"
#include "nnef_loader/load.h"

namespace rill::api {

inline constexpr char kNotAModel[] = "not a model: null, freed, or another kind of object";

/// Simplify what was loaded or rewritten.
Result<Graph> simplified(Result<Graph> graph);

/// Make the model that graph; it is as it was where anything fails.
rill_status change(rill_model* model, Result<Graph> graph);

/// Load whatever the path or the bytes hold. `constants`: what `rill_load_opts` says.
Result<Graph> load_any(const char* path, const nnef::LoadOptions& options, const char* constants);
Result<Graph> load_any(std::span<const std::byte> bytes, const nnef::LoadOptions& options,
                       const char* constants);

/// Errors: kArg for a compiled model, which is opened as a plan and not loaded.
Status no_plan_file(const char* path);
Status no_plan_file(std::span<const std::byte> bytes);

}  // namespace rill::api
