#include "nnef_loader/build/taken.h"

#include "core/base/search.h"

namespace rill::nnef {
namespace {

constexpr size_t kTextsOfOne = 4;  // counted, real, node, operator
constexpr std::string_view kUndefined = "undefined";

Result<Dim> parsed(const std::string& text) {
  auto dim = text == kUndefined ? Result<Dim>(Dim::invalid()) : parse_dim(text);
  if (dim.ok()) return dim;
  return fail(Code::kParse, "property \"", kTakenKey, "\": ", dim.error().message);
}

}  // namespace

std::optional<Tensor> taken_texts(const SymbolScope& scope, const std::set<std::string>& live) {
  std::vector<std::string> texts;
  for (const SymbolScope::Taken& each : scope.taken()) {
    std::vector<std::string> names;
    each.counted.collect_symbols(&names);
    if (each.real.valid()) each.real.collect_symbols(&names);
    if (names.empty() || !all_of(names, [&](const auto& name) { return live.contains(name); })) {
      continue;
    }
    const std::string real = each.real.valid() ? each.real.to_string() : std::string(kUndefined);
    texts.insert(texts.end(), {each.counted.to_string(), real, each.node, each.op});
  }
  if (texts.empty()) return std::nullopt;
  auto out = Tensor::of<std::string>(DType::kString, {static_cast<int64_t>(texts.size())}, texts);
  return std::move(out).value();
}

Status take_texts(const Tensor& texts, SymbolScope* scope) {
  if (texts.dtype() != DType::kString || texts.volume() % kTextsOfOne != 0) {
    return fail(Code::kParse, "property \"", kTakenKey, "\": expected ", kTextsOfOne,
                " texts per number, found ", counted(texts.volume(), "entry", "entries"), " of ",
                dtype_name(texts.dtype()));
  }
  const auto values = texts.values<std::string>();
  for (size_t i = 0; i < values.size(); i += kTextsOfOne) {
    RILL_ASSIGN(Dim number, parsed(values[i]));
    RILL_ASSIGN(Dim real, parsed(values[i + 1]));
    scope->take_number({std::move(number), std::move(real), values[i + 2], values[i + 3]});
  }
  return {};
}

}  // namespace rill::nnef
