#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "audit/mismatch.h"
#include "core/dim/dim.h"
#include "core/graph/fact.h"
#include "pulse/sliding.h"

namespace rill::cli {

using audit::Tolerance;
using audit::tolerance_named;
using audit::tolerance_names;
/// Read `absolute,relative,outliers`. Errors: kArg.
Result<Tolerance> parse_custom_tolerance(std::string_view text);

/// `[name:]dim,dim,...[,dtype][=v,v,...]`; a dim that is `_` is unknown.
struct FactSpec {
  std::string name;  ///< empty if not given
  std::vector<std::optional<Dim>> shape;
  std::optional<DType> dtype;
  std::vector<std::string> values;
  bool has_values = false;
};
/// Parse such a text. Errors: kArg, with the text and the expected form.
Result<FactSpec> parse_fact_spec(std::string_view text);
/// Return the values of a spec as a tensor. Errors: kArg without a type or a concrete shape.
Result<Tensor> spec_tensor(const FactSpec& spec);

/// Parse `SYMBOL=EXPRESSION`. Errors: kArg, named after the flag.
Result<std::pair<std::string, Dim>> parse_setting(std::string_view text);

/// Parse `SYMBOL=EXPRESSION`, or an expression for `S`. Errors: kPulse, also for a pulse under 1.
Result<std::pair<std::string, Dim>> parse_pulse_spec(std::string_view text);

/// Parse `SYMBOL=LEFT,STEP,RIGHT`, or three numbers of frames of `S`. Errors: kPulse.
Result<std::pair<std::string, pulse::Window>> parse_window_spec(std::string_view text);

/// `name=1.0..10.0`, or without a name.
struct RangeSpec {
  std::string name;
  double low = 0;
  double high = 1;
};
Result<RangeSpec> parse_range_spec(std::string_view text);

std::vector<std::string> split(std::string_view text, char separator);
Result<double> parse_number(std::string_view text);

}  // namespace rill::cli
