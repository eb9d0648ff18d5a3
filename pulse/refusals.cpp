#include "pulse/refusals.h"

#include <algorithm>
#include <map>

#include "core/dim/pattern.h"
#include "core/graph/written.h"

namespace rill::pulse {

bool wants_another_pulse(const Error& refusal) {
  return refusal.hint.starts_with("Use a pulse that is a multiple of ");
}

std::optional<int64_t> only_length(const Facts& facts, std::string_view symbol) {
  constexpr int64_t kGreat = 1000003;
  constexpr int64_t kMostTried = 1 << 14;
  constexpr int64_t kSome = 16;
  for (const Fact& fact : facts) {
    for (const Dim& dim : fact.shape) {
      std::vector<std::string> symbols;
      dim.collect_symbols(&symbols);
      if (symbols.size() != 1 || symbols[0] != symbol || dim.eval(symbol, kGreat)) continue;
      int64_t length = 2;
      while (length <= kMostTried && !dim.eval(symbol, length)) ++length;
      if (length > kMostTried) continue;
      // A table gives all lengths up to its own; a division by a stride gives some more.
      int64_t other = length;
      while (other <= 2 * length + kSome && dim.eval(symbol, other)) ++other;
      if (other <= 2 * length + kSome) return length;
    }
  }
  return std::nullopt;
}

int64_t shortest_regular(const Dim& dim, const std::string& symbol) {
  constexpr int64_t kDefault = 16;
  const auto pattern = DimPattern::of(dim, symbol);
  if (!pattern.ok()) return kDefault;
  const auto suffices = [&](int64_t length) {
    SymbolScope scope;
    if (!scope.assert_text(str_cat(symbol, " >= ", length)).ok()) return false;
    return parse_dim(scope.simplify(dim).to_string()).ok();
  };
  const int64_t settled = pattern->settled();
  if (!suffices(settled)) return std::max(settled, kDefault);
  int64_t low = 0;  // not enough: the expression is too long
  int64_t high = settled;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (suffices(middle) ? high : low) = middle;
  }
  return high;
}

namespace {

/// Return the remedy if no input has the symbol.
std::string symbols_to_stream_by(const Graph& whole, const std::string& symbol) {
  std::vector<std::string> symbols;
  for (const OutletId& input : whole.inputs) {
    for (const Dim& dim : whole.fact(input).shape) dim.collect_symbols(&symbols);
  }
  if (!symbols.empty()) {
    return str_cat("The inputs have the symbol", symbols.size() == 1 ? " " : "s ",
                   join(symbols, ", "));
  }
  return str_cat(
      "All its extents are numbers: export it with a dynamic axis, as in "
      "dynamic_axes={\"x\": {1: \"",
      symbol, "\"}}");
}

}  // namespace

Status no_stream(const Graph& whole, const std::string& symbol) {
  return fail(Code::kPulse, "Can not pulse a tensor with no streaming dim (", symbol,
              "): no input of the model has the symbol ", symbol)
      .hint(symbols_to_stream_by(whole, symbol));
}

std::vector<Status> refusals_of_lengths(const Graph& pulsed, std::string_view symbol) {
  std::vector<Status> out;
  for (const Node& node : pulsed.nodes) {
    for (const OutletId& input : node.inputs) {
      if (!value_mentions(pulsed.fact(input).konst, symbol)) continue;
      out.push_back(
          fail(Code::kPulse, "it computes with the length of the stream, ",
               pulsed.fact(input).konst->values<Dim>()[0],
               ", which is known at its end only, and "
               "meets its frames")
              .in_node(node.name, node.op->name())
              .at(node.line > 0 ? "graph.nnef" : "", node.line)
              .hint(
                  "Count frames from the beginning of the stream, as in arange(t) without t - 1"));
      break;
    }
  }
  return out;
}

namespace {

/// Return whether one remedy fixes all refusals with this cause.
bool mends_all(const Error& refusal) {
  return refusal.hint.starts_with("Bind ") || refusal.hint.starts_with("Assert ") ||
         wants_another_pulse(refusal);
}

/// List each cause once.
std::vector<Status> root_causes(const std::vector<Status>& refusals) {
  std::vector<Status> out;
  std::map<std::string, std::pair<size_t, int>> first;
  for (const Status& refusal : refusals) {
    const std::string& remedy = refusal.error().hint;
    const auto known = first.find(remedy);
    if (known != first.end()) {
      ++known->second.second;
      continue;
    }
    if (mends_all(refusal.error())) first.emplace(remedy, std::pair(out.size(), 0));
    out.push_back(refusal);
  }
  for (const auto& [remedy, met] : first) {
    const auto [at, more] = met;
    if (more == 0) continue;
    Error& error = out[at].error();
    error.message += str_cat(" (", more, more == 1 ? " node" : " nodes", " downstream, too)");
  }
  return out;
}

}  // namespace

Status all_of(const std::vector<Status>& all) {
  const std::vector<Status> refusals = root_causes(all);
  if (refusals.size() == 1) return refusals[0];
  Error error = refusals[0].error();
  error.message = str_cat(refusals.size(), " reasons why this graph does not stream:");
  for (const Status& refusal : refusals) error.message += str_cat("\n  ", refusal.error());
  error.node.clear();
  error.op.clear();
  error.hint.clear();
  error.line = 0;
  return error;
}

}  // namespace rill::pulse
