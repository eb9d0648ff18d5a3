#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/nnef.h"
#include "nnef_loader/archive/archive.h"

namespace rill::nnef {

struct LoadOptions {
  LoadLimits limits;
  /// Whether operators of `tract_core` may be used.
  bool tract_core = true;
  /// Name the parts of a statement as tract does, for dumps and files like tract's; otherwise the
  /// assigned name is that of the last node.
  bool tract_names = false;
  /// Load nested models, and operators of several nodes, as one node each, to show or write them;
  /// otherwise expand them, to run them.
  bool keep_submodels = false;
  /// Map large tensors instead of reading them, so that weights stay in the file: in folders, tars
  /// and external data of ONNX. The files must not change while the graph lives.
  bool map_files = true;
  /// Called with every warning, such as an extension that is not known; may be empty.
  void (*warn)(void* user, std::string_view message) = nullptr;
  void* warn_user = nullptr;
  /// Shapes that replace those of the graph's externals, by input name.
  std::span<const std::pair<std::string, std::vector<Dim>>> input_shapes;
  /// Receives the partial graph if loading fails, with its inputs at least; may be null.
  Graph* read_so_far = nullptr;
  /// Lines of `operator module`: the operators that this build omits, for messages.
  std::string_view left_out;
  /// Receives the name of every module that the model calls; may be null.
  std::set<std::string_view>* modules_called = nullptr;
};

/// Load a model: archive, graph text, weights, quantisation. Not simplified yet.
/// `ops`: the operators that graphs may use.
/// Errors: kIo, kParse, kUnsupported, kShape, kDType, with file, line, column and node.
Result<Graph> load(const std::string& path, std::span<const OpModule* const> ops,
                   const LoadOptions& options = {});
Result<Graph> load_memory(std::span<const std::byte> bytes, std::span<const OpModule* const> ops,
                          const LoadOptions& options = {});

/// Return the operators that the loader itself reads, in addition to the given ones.
std::span<const OpModule* const> loader_modules();

/// Return the operators that are standard NNEF fragments, which load as the operators that they
/// call.
std::vector<std::string_view> standard_fragments();

struct SaveOptions {
  /// The operators for reading the written model back. It must have the same graph (`expect_same`)
  /// and properties before the file gets its name. Empty: do not read it back.
  std::span<const OpModule* const> read_back;
  /// Whether nested models, and operators of several nodes, are read back as one node each.
  bool keep_submodels = false;
  /// Keep names unchanged, in the form i"a.b"; otherwise invalid characters become `_`.
  bool extended_identifiers = false;
  /// Write every constant to a separate file, however small.
  bool extern_all_constants = false;
  /// Whether operators of `tract_core` may be written.
  bool tract_core = true;
  /// Declare `tract_core` even if nothing needs it, as tract does.
  bool declare_tract_core = false;
  /// The writer's name for the property `tract_nnef_ser_version`; if empty, rill and its version.
  std::string writer;
};

/// Write a model; the form follows `container`. Atomic: a failed write leaves the old file.
/// Errors: kIo; kUnsupported for an operator without an NNEF form; kInternal, with the node, if the
/// model does not read back unchanged.
Status save(const Graph& graph, const std::string& path, Container container,
            const SaveOptions& options = {});
/// Return the graph that readers of the written model get. Writes the model to memory. Errors:
/// those of `save`.
Result<Graph> read_back(const Graph& graph, const SaveOptions& options);
/// Return only the text of graph.nnef.
Result<std::string> graph_text(const Graph& graph, const SaveOptions& options = {});

}  // namespace rill::nnef
