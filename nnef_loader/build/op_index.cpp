#include "nnef_loader/build/op_index.h"

#include <algorithm>
#include <array>

#include "core/base/closest.h"
#include "core/base/search.h"
#include "core/base/sorted.h"
#include "nnef_loader/build/stdlib.h"
#include "nnef_loader/syntax/parser.h"

namespace rill::nnef {
namespace {

constexpr std::array<std::string_view, 7> kRegistries = {
    "tract_nnef", "tract_core",         "tract_pulse",   "tract_extra",
    "tract_onnx", "tract_transformers", "tract_resource"};

// Older names of operators. The first three belong to tract_core, but files that enable only
// tract_transformers use them too.
struct Alias {
  std::string_view name;
  std::string_view canonical;
};
constexpr std::array<Alias, 5> kAliases = {{
    {"tract_transformers_rms_norm", "tract_core_rms_norm"},
    {"tract_transformers_silu", "tract_core_silu"},
    {"tract_transformers_gelu_approx", "tract_core_gelu_approx"},
    {"tract_qwen35_causal_conv1d_update", "tract_transformers_causal_conv1d_update"},
    {"tract_qwen35_gdn_recurrent", "tract_transformers_gdn_recurrent"},
}};

bool is_shared_alias(std::string_view name) {
  return std::any_of(kAliases.begin(), kAliases.begin() + 3,
                     [&](const Alias& alias) { return alias.name == name; });
}

/// Return the name in "fragment conv<?>(...": declarations are parsed only when called.
std::string_view declared_name(std::string_view declaration) {
  constexpr std::string_view kKeyword = "fragment ";
  const size_t at = declaration.find(kKeyword);
  if (at == std::string_view::npos) return {};
  declaration.remove_prefix(at + kKeyword.size());
  return declaration.substr(0, declaration.find_first_of("<( \n"));
}

}  // namespace

std::string_view canonical_registry(std::string_view name) {
  return name == "pulse" ? "tract_pulse" : name;
}

OpIndex::OpIndex(std::span<const OpModule* const> ops, std::string_view left_out)
    : registries_{"tract_nnef"},
      known_(kRegistries.begin(), kRegistries.end()),
      left_out_(left_out) {
  for (const OpModule* module : ops) {
    for (const NnefOp& op : module->nnef) {
      Entry entry;
      entry.op = &op;
      entry.module = module->name;
      ops_[declared_name(op.declaration)].push_back(std::move(entry));
      if (!contains(known_, op.registry)) {
        known_.emplace_back(op.registry);
      }
    }
  }
}

void OpIndex::add_document(const Document& document) {
  for (const FragmentDecl& fragment : document.fragments) {
    (fragment.body ? fragments_ : bodyless_)[fragment.name] = &fragment;
  }
}

Status OpIndex::enable(std::string_view registry) {
  const std::string_view name = canonical_registry(registry);
  if (!contains(known_, name)) {
    return fail(Code::kUnsupported, "Registry not found: \"", registry, "\"")
        .hint(str_cat("Known registries: ", join(known_, ", ")));
  }
  if (!enabled(name)) registries_.emplace_back(name);
  return {};
}

bool OpIndex::enabled(std::string_view registry) const { return contains(registries_, registry); }

const FragmentDecl* OpIndex::fragment(std::string_view name) const {
  const auto it = fragments_.find(name);
  return it == fragments_.end() ? nullptr : it->second;
}

std::vector<OpIndex::Entry>* OpIndex::entries(std::string_view name) {
  auto it = ops_.find(name);
  if (it == ops_.end()) {
    for (const Alias& alias : kAliases) {
      if (alias.name == name) it = ops_.find(alias.canonical);
    }
  }
  return it == ops_.end() ? nullptr : &it->second;
}

bool OpIndex::visible(std::string_view name, const NnefOp& op) const {
  if (enabled(op.registry)) return true;
  return is_shared_alias(name) && (enabled("tract_core") || enabled("tract_transformers"));
}

Result<Callee> OpIndex::find(std::string_view name) {
  if (const FragmentDecl* decl = fragment(name)) return Callee{decl, nullptr, true};
  if (std::vector<Entry>* candidates = entries(name)) {
    Entry* best = nullptr;
    ptrdiff_t best_rank = -1;
    for (Entry& entry : *candidates) {
      if (!visible(name, *entry.op)) continue;
      const auto rank = rill::find(registries_, entry.op->registry) - registries_.begin();
      if (rank <= best_rank) continue;
      best = &entry;
      best_rank = rank;
    }
    if (best) return callee(*best);
  }
  RILL_TRY(load_stdlib());
  const auto it = stdlib_.find(name);
  if (it != stdlib_.end()) return Callee{it->second, nullptr, false};
  return no_definition(name);
}

Result<Callee> OpIndex::find_op(std::string_view name) {
  if (std::vector<Entry>* candidates = entries(name)) return callee(candidates->front());
  Status status = fail(Code::kUnsupported, "this build lacks the operator \"", name,
                       "\", which the file needs without naming it");
  const std::string hint_text = remedy_for(name);
  return hint_text.empty() ? std::move(status) : std::move(status).hint(hint_text);
}

Result<Callee> OpIndex::callee(Entry& entry) {
  if (!entry.declaration) {
    RILL_ASSIGN(Document document, parse_fragments(entry.op->declaration, "operator declaration"));
    if (document.fragments.size() != 1) {
      return fail(Code::kInternal, "expected one fragment in \"", entry.op->declaration, "\"");
    }
    entry.declaration = std::make_unique<const Document>(std::move(document));
  }
  modules_called_.insert(entry.module);
  return Callee{&entry.declaration->fragments[0], entry.op->load, false};
}

/// Return the remedy for an operator that this build omits; empty if it omits none of that name.
std::string OpIndex::remedy_for(std::string_view name) const {
  for (const Alias& alias : kAliases) {
    if (alias.name == name) name = alias.canonical;
  }
  std::string_view rest = left_out_;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const size_t space = line.find(' ');
    if (line.substr(0, space) != name) continue;
    const std::string_view remedy = line.substr(space + 1);
    const bool is_module = remedy.find('=') == std::string_view::npos;
    return str_cat("This build leaves it out: ", is_module ? "add " : "rebuild the library with ",
                   remedy, is_module ? " to RILL_OPS, and rebuild the library" : "");
  }
  return {};
}

Status OpIndex::load_stdlib() {
  if (stdlib_document_) return {};
  RILL_ASSIGN(Document document, parse_fragments(stdlib_text(), "stdlib.nnef"));
  stdlib_document_ = std::make_unique<const Document>(std::move(document));
  for (const FragmentDecl& decl : stdlib_document_->fragments) stdlib_[decl.name] = &decl;
  return {};
}

Status OpIndex::no_definition(std::string_view name) const {
  Status status = fail(Code::kUnsupported, "No definition for operator \"", name, "\"");
  if (bodyless_.contains(name)) {
    return std::move(status).hint("The file declares it as a fragment, but gives it no body");
  }
  auto it = ops_.find(name);
  for (const Alias& alias : kAliases) {
    if (it == ops_.end() && alias.name == name) it = ops_.find(alias.canonical);
  }
  if (it != ops_.end()) {
    const std::string_view registry = it->second.front().op->registry;
    return std::move(status).hint(str_cat("The registry ", registry, " has it: add \"extension ",
                                          "tract_registry ", registry, ";\" to the file"));
  }
  if (const std::string hint_text = remedy_for(name); !hint_text.empty())
    return std::move(status).hint(hint_text);
  if (is_unsupported_khronos_op(name)) {
    return std::move(status).hint("NNEF has it, but neither tract nor rill support it");
  }
  std::vector<std::string_view> names;
  for (const auto& [known, op] : ops_) names.push_back(known);
  for (const auto& [known, fragment] : fragments_) names.push_back(known);
  for (const auto& [known, fragment] : stdlib_) names.push_back(known);
  sort_list(names);
  const std::string meant = did_you_mean(name, names);
  return std::move(status).hint(meant.empty() ? "`rill list-ops` lists what there is" : meant);
}

Status OpIndex::check_builtin(std::string_view name, std::string_view registry) const {
  if (enabled(registry)) return {};
  return fail(Code::kUnsupported, "No definition for operator \"", name, "\"")
      .hint(str_cat("The registry ", registry, " has it: add \"extension tract_registry ", registry,
                    ";\" to the file"));
}

}  // namespace rill::nnef
