#include "onnx_loader/load.h"

#include <algorithm>
#include <array>

#include "core/base/checked.h"
#include "core/base/progress.h"
#include "core/base/search.h"
#include "nnef_loader/archive/source.h"
#include "nnef_loader/system/files.h"
#include "onnx_loader/build/loader.h"

namespace rill::onnx {
namespace {

constexpr size_t kHeadBytes = 4096;
constexpr size_t kMostAttempts = 64;

std::string folder_of(const std::string& path) {
  const size_t slash = path.find_last_of(system::kSeparators);
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// Check that each given shape is for an input, or for a former input whose value became known.
Status check_shapes(const Graph& graph, const LoadOptions& options, const Findings& findings) {
  std::vector<std::string> inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) inputs.push_back(graph.input_name(i));
  for (const auto& [name, shape] : options.input_shapes) {
    const auto is_name = [&wanted = name](const std::string& each) { return each == wanted; };
    const auto has_name = [&](const auto& constant) { return is_name(constant.first); };
    const auto& constants = options.constants;
    if (any_of(findings.known, is_name) || any_of(constants, has_name) || any_of(inputs, is_name)) {
      continue;
    }
    return fail(Code::kArg, "a shape is given for \"", name, "\", which is not an input")
        .hint(str_cat("Inputs: ", join(inputs, ", ")));
  }
  return {};
}

/// Load a model from bytes. `mapped`: whether they are those of a mapped file.
Result<Graph> load_bytes(Bytes bytes, bool mapped, const std::string& folder,
                         const std::string& file, const Operators& ops,
                         const LoadOptions& options) {
  const ProgressStage stage(Stage::kLoad);
  const int64_t values = (checked(options.limits.max_nodes) * 2).at_most(INT64_MAX);
  ProtoBudget budget{options.limits.max_nodes, values, options.limits.max_nodes};
  auto model = read_model(bytes, &budget);
  if (!model.ok()) return std::move(model).take_status().at(file, 0);
  const TensorReader tensors(folder, options.limits.max_folded_bytes, mapped);
  // If a node needs two symbols to be equal or an input to be constant, note that and rebuild the
  // graph from its inputs.
  Findings findings;
  Result<Graph> graph = fail(Code::kInternal, "not loaded");
  bool may_meet = false;
  Status refusal;  // of slices that are not clamped
  for (size_t attempt = 0; attempt < kMostAttempts; ++attempt) {
    Loader loader(*model, budget, tensors, ops, options, findings);
    graph = loader.build();
    if (graph.ok() && !loader.find_equal(&findings)) break;
    if (graph.ok()) continue;
    may_meet |= loader.may_meet();
    if (loader.find_out(&findings)) continue;
    const bool last = findings.meets || !(loader.has_clamped() || (may_meet && !findings.clamps));
    if (last) break;
    const bool meets = !findings.clamps;
    if (meets) refusal = graph.take_status();
    findings = {};
    findings.clamps = meets;
    findings.meets = meets;
  }
  if (!graph.ok() && !refusal.ok()) graph = std::move(refusal);
  for (const std::string& name : findings.known) {
    if (!graph.ok() || !options.warn) break;
    options.warn(options.warn_user,
                 str_cat("Input \"", name, "\" has to be known while loading: it is a constant ",
                         "of the value that was given"));
  }
  if (!graph.ok()) {
    Status status = graph.take_status();
    status.error().file = file;
    return status;
  }
  RILL_TRY(check_shapes(*graph, options, findings));
  RILL_TRY(progress(1));
  return graph;
}

}  // namespace

bool is_onnx_file(const std::string& path) {
  const auto descriptor = nnef::open_for_reading(path);
  if (!descriptor.ok()) return false;
  nnef::Source file(*descriptor, 0, path);
  system::Info info;
  if (!system::stat_open(*descriptor, &info) || info.kind != system::Kind::kFile) return false;
  file.set_size(info.bytes);
  std::array<std::byte, kHeadBytes> head{};
  const auto got = file.read_at(0, head);
  return got.ok() && looks_like_onnx(std::span(head).first(*got), info.bytes);
}

bool is_onnx(std::span<const std::byte> bytes) {
  return looks_like_onnx(bytes.first(std::min(bytes.size(), kHeadBytes)),
                         static_cast<int64_t>(bytes.size()));
}

Result<Graph> load(const std::string& path, const Operators& ops, const LoadOptions& options) {
  const int64_t most = options.limits.max_expanded_bytes;
  RILL_ASSIGN(const int descriptor, nnef::open_for_reading(path));
  const nnef::Source file(descriptor, 0, path);
  system::Info info;
  if (options.map_files && system::stat_open(descriptor, &info) &&
      info.kind == system::Kind::kFile && info.bytes <= most) {
    const MappedBytes mapped = map_file(descriptor, static_cast<size_t>(info.bytes));
    if (mapped.data) {
      return load_bytes(mapped.bytes(), true, folder_of(path), path, ops, options);
    }
  }
  RILL_ASSIGN(const std::vector<std::byte> bytes,
              nnef::read_model_descriptor(descriptor, path, most));
  return load_bytes(bytes, false, folder_of(path), path, ops, options);
}

Result<Graph> load_memory(std::span<const std::byte> bytes, const Operators& ops,
                          const LoadOptions& options) {
  return load_bytes(bytes, false, "", "model", ops, options);
}

Result<Graph> load_any(const std::string& path, const Operators& ops, const LoadOptions& options) {
  if (is_onnx_file(path)) return load(path, ops, options);
  return nnef::load(path, ops.modules, options);
}

Result<Graph> load_any_memory(std::span<const std::byte> bytes, const Operators& ops,
                              const LoadOptions& options) {
  if (is_onnx(bytes)) return load_memory(bytes, ops, options);
  return nnef::load_memory(bytes, ops.modules, options);
}

}  // namespace rill::onnx
