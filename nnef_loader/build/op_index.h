#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/graph/nnef.h"
#include "nnef_loader/syntax/ast.h"

namespace rill::nnef {

/// The meaning of a called name.
struct Callee {
  const FragmentDecl* decl = nullptr;  ///< names, positions and defaults of the parameters
  LoadFn load = nullptr;               ///< null for fragments, which have a body
  bool from_document = false;          ///< places in the body are places in graph.nnef
};

/// Finds operators by name: fragments of the document, then operators of the registries that the
/// document enables, the last one first, then standard fragments.
class OpIndex {
 public:
  /// `left_out`: lines of `operator module`, for operators that this build omits.
  explicit OpIndex(std::span<const OpModule* const> ops, std::string_view left_out = {});

  /// Add the fragments of the document. It must outlive the index.
  void add_document(const Document& document);
  /// Enable a registry. Errors: kUnsupported, with the list of known ones.
  Status enable(std::string_view registry);
  void enable_all() { registries_ = known_; }
  bool enabled(std::string_view registry) const;

  /// Find a fragment or operator. Errors: kUnsupported if there is none, or its registry is not
  /// enabled.
  Result<Callee> find(std::string_view name);
  /// As `find`, for the loader itself: ignores which registries are enabled, and never returns a
  /// fragment.
  Result<Callee> find_op(std::string_view name);
  /// Find a fragment of the document that has a body; null if there is none.
  const FragmentDecl* fragment(std::string_view name) const;
  /// Return the modules of all operators that were found.
  const std::set<std::string_view>& modules_called() const { return modules_called_; }
  /// Fail unless an operator that the loader reads itself is enabled.
  Status check_builtin(std::string_view name, std::string_view registry) const;

 private:
  struct Entry {
    const NnefOp* op = nullptr;
    const char* module = nullptr;
    std::unique_ptr<const Document> declaration;  ///< parsed when first called
  };

  bool visible(std::string_view name, const NnefOp& op) const;
  Result<Callee> callee(Entry& entry);
  Status no_definition(std::string_view name) const;
  std::string remedy_for(std::string_view name) const;
  Status load_stdlib();
  std::vector<Entry>* entries(std::string_view name);

  std::unordered_map<std::string_view, std::vector<Entry>> ops_;
  std::unordered_map<std::string_view, const FragmentDecl*> fragments_;
  std::unordered_map<std::string_view, const FragmentDecl*> bodyless_;
  std::unordered_map<std::string_view, const FragmentDecl*> stdlib_;
  std::unique_ptr<const Document> stdlib_document_;
  std::vector<std::string> registries_;  ///< enabled, in order
  std::vector<std::string> known_;
  std::string_view left_out_;
  std::set<std::string_view> modules_called_;
};

/// Return the registry for a name in a file: `pulse` means `tract_pulse`.
std::string_view canonical_registry(std::string_view name);

}  // namespace rill::nnef
