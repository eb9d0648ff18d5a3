#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/exec/property.h"
#include "emit_c/step_writer.h"

namespace rill::emit_c {

/// Names of an emitted file, and the texts of its comments.
struct EmitOptions {
  std::string name;    ///< prefix of all names: an identifier
  std::string header;  ///< name of the header as the source includes it
  std::string target;  ///< of the plan
  std::string model;   ///< name of the model's file
  Arithmetic arithmetic;
  std::span<const Property> properties;
};

struct Source {
  std::string header;
  std::string code;
};

/// Write a plan as C11, which needs neither rill nor a heap: a state, `NAME_reset`, `NAME_step`.
/// Its outputs have the bits of the plan's target.
/// Errors: kUnsupported for a step without C, with node and remedy; for inputs and outputs that are
/// not f32.
Result<Source> emit(const Plan& plan, std::span<const StepText* const> texts,
                    const EmitOptions& options);

}  // namespace rill::emit_c
