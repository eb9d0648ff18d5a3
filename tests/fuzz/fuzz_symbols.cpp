// The input is an expression of symbols. Its text reads back as an expression with the same values.

#include "core/dim/dim.h"
#include "tests/fuzz/target.h"

using namespace rill;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 4096) return 0;
  const auto dim = parse_dim(test::text_of(data, size));
  test::expect_explained(dim);
  if (!dim.ok() || !dim->valid()) return 0;
  const std::string text = dim->to_string();
  const auto again = parse_dim(text);
  if (!again.ok()) test::finding("cannot read " + text + ": " + again.error().to_string());
  std::vector<std::string> symbols;
  dim->collect_symbols(&symbols);
  for (const int64_t value : {int64_t{0}, int64_t{1}, int64_t{7}, int64_t{-3}, int64_t{1000003}}) {
    Bindings bindings;
    for (const std::string& symbol : symbols) bindings.emplace_back(symbol, value);
    if (dim->eval(bindings) != again->eval(bindings)) test::finding("another value: " + text);
  }
  return 0;
}
