#include "core/tensor/numbers.h"

#include <charconv>

#include "core/base/number_text.h"

namespace rill {
namespace {

bool is_integer(std::string_view text, int64_t* value) {
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, *value);
  return error == std::errc() && at == end;
}

template <class T>
Result<Tensor> list_of(DType dtype, const std::vector<T>& values) {
  return Tensor::of<T>(dtype, {static_cast<int64_t>(values.size())}, std::span<const T>(values));
}

}  // namespace

Result<Tensor> numbers_of_text(std::string_view text) {
  std::vector<int64_t> integers;
  std::vector<double> numbers;
  for (bool more = true; more;) {
    const size_t comma = text.find(',');
    const std::string_view item = trimmed(text.substr(0, comma));
    more = comma != text.npos;
    if (more) text.remove_prefix(comma + 1);
    int64_t integer = 0;
    double number = 0;
    if (item.empty() || read_number(item, &number) != item.size()) {
      return fail(Code::kParse, "\"", item, "\" is not a number");
    }
    if (is_integer(item, &integer)) integers.push_back(integer);
    numbers.push_back(number);
  }
  if (integers.size() == numbers.size()) return list_of(DType::kI64, integers);
  return list_of(DType::kF64, numbers);
}

}  // namespace rill
