#include "core/dim/bound.h"

#include <string>
#include <vector>

namespace rill {

std::optional<int64_t> bound_of(const Dim& length) {
  constexpr int64_t kFar = int64_t{1} << 40;
  if (const auto number = length.to_int()) return number;
  std::vector<std::string> symbols;
  length.collect_symbols(&symbols);
  Bindings far;
  for (const std::string& symbol : symbols) far.emplace_back(symbol, kFar);
  const auto most = length.eval(far);
  for (auto& [symbol, value] : far) value *= 2;
  return most && most == length.eval(far) ? most : std::nullopt;
}

}  // namespace rill
