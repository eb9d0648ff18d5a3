#include "cli/symbols.h"

#include <algorithm>

namespace rill::cli {

std::vector<std::string> known_symbols(const Graph& graph) {
  std::vector<std::string> out = symbols_of(graph);
  for (const std::string& name : graph.scope.symbols()) {
    if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
  }
  return out;
}

Status no_such_symbol(const std::string& symbol, const std::vector<std::string>& known) {
  return fail(Code::kSymbol, "the model has no symbol ", symbol)
      .hint(known.empty() ? std::string("The model has no symbols")
                          : str_cat("Its symbols are ", join(known, ", ")));
}

Status hint_to_bind(Status status) {
  if (status.ok() || status.code() != Code::kSymbol) return status;
  return std::move(status).hint("Bind it with --set SYMBOL=N, or stream along it with --pulse");
}

}  // namespace rill::cli
