#pragma once

#include <cstddef>
#include <span>

#include "api/src/model_handle.h"
#include "nnef_loader/load.h"

namespace rill::api {

inline constexpr char kNotAModel[] = "not a model: null, freed, or another kind of object";

/// Simplify a loaded or rewritten graph.
Result<Graph> simplified(Result<Graph> graph);

/// Replace the graph of the model; the model is unchanged after a failure.
rill_status change(rill_model* model, Result<Graph> graph);

/// Load a model from a path or bytes. `constants`: as in `rill_load_opts`.
Result<Graph> load_any(const char* path, const nnef::LoadOptions& options, const char* constants);
Result<Graph> load_any(std::span<const std::byte> bytes, const nnef::LoadOptions& options,
                       const char* constants);

/// Refuse a compiled model, which must be opened as a plan. Errors: kArg.
Status no_plan_file(const char* path);
Status no_plan_file(std::span<const std::byte> bytes);

}  // namespace rill::api
