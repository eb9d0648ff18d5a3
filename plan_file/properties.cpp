#include "plan_file/properties.h"

#include <utility>

#include "core/run/record.h"

namespace rill::plan_file {
namespace {

Property read_property(Record* from, int64_t most_values) {
  Property out;
  out.key = from->text();
  out.dtype = static_cast<DType>(
      from->number(0, static_cast<int64_t>(DType::kBlob), "type of a property"));
  out.text = from->text();
  const int64_t count = from->count(most_values);
  for (int64_t i = 0; i < count && from->good(); ++i) {
    if (out.dtype == DType::kString || out.dtype == DType::kDim) {
      out.strings.emplace_back(from->text());
    } else if (is_float(out.dtype)) {
      out.floats.push_back(from->real());
    } else if (is_int(out.dtype) || out.dtype == DType::kBool) {
      out.ints.push_back(from->number());
    } else {
      from->fail("a property has a type that has no values");
    }
  }
  return out;
}

}  // namespace

Result<std::vector<Property>> read_properties(std::span<const std::byte> record) {
  std::vector<Property> out;
  if (record.empty()) return out;
  Record from(record);
  const int64_t count = from.count(kMostProperties);
  int64_t left = kMostPropertyValues;
  for (int64_t i = 0; i < count && from.good(); ++i) {
    Property each = read_property(&from, left);
    left -= static_cast<int64_t>(each.count());
    if (i > 0 && from.good() && each.key <= out.back().key) {
      from.fail("its properties are not sorted by key");
    }
    out.push_back(std::move(each));
  }
  if (from.good() && from.left() > 0) from.fail("a record has bytes after its contents");
  if (from.good()) return out;
  return fail(Code::kParse, "not a plan file of rill: ", from.field() ? from.field() : "",
              from.field() ? ": " : "", from.why())
      .hint("Compile the model again, or copy the file again");
}

}  // namespace rill::plan_file
