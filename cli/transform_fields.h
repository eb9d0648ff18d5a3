#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "cli/log.h"
#include "cli/ron_impl.h"
#include "core/dim/dim.h"
#include "core/tensor/dtype.h"
#include "transforms/float_precision.h"

namespace rill::cli {

/// Make the error for a wrong value of a transform's parameter: kArg, with the expected form.
Status wrong_field(const TransformSpec& spec, std::string_view expected);
/// Refuse fields that the transform does not have.
Status check_fields(const TransformSpec& spec, std::initializer_list<const char*> known,
                    const Log& log);
Result<Dim> dim_of(const nlohmann::json& value);
Result<std::vector<std::string>> names_of(const TransformSpec& spec, const char* field);
Result<DType> float_type_of(const TransformSpec& spec, const char* field);
/// Read `include` and `exclude`, or the older `filter`.
Result<transforms::NodeFilter> node_filter(const TransformSpec& spec);

}  // namespace rill::cli
