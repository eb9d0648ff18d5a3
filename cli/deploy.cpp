#include "cli/deploy.h"

#include <cctype>
#include <cstdlib>

#include "cli/specs.h"
#include "cli/toml_impl.h"
#include "core/optim/optim.h"
#include "nnef_loader/archive/archive.h"

namespace rill::cli {
namespace {

using nlohmann::json;

constexpr const char* kLanes = "TRACT_AUTOBATCH_LANES";
constexpr int64_t kMostConfigBytes = int64_t{1} << 20;

/// Return the file's section for a model; an empty table if it has none.
Result<json> section_of(const std::string& model) {
  const char* path = std::getenv("TRACT_CONFIG");
  if (path == nullptr || *path == '\0') return json::object();
  RILL_ASSIGN(const std::vector<std::byte> bytes, nnef::read_file(path, kMostConfigBytes));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  RILL_ASSIGN(json all, parse_toml(text, path));
  const json section = all.value(model, json::object());
  if (!section.is_object()) return fail(Code::kParse, model, ": expected a table").at(path, 0);
  return section;
}

/// Return a knob: from the environment variable of the model, from the model's section of the file,
/// or from the environment variable of all models.
std::string knob(const std::string& model, const json& section, const std::string& name) {
  std::string scoped = "TRACT_";
  for (const char c : model) {
    scoped.push_back(static_cast<char>(std::toupper(static_cast<unsigned char>(c))));
  }
  scoped += "__" + name.substr(std::string_view("TRACT_").size());
  if (const char* value = std::getenv(scoped.c_str())) return value;
  const json knobs = section.value("knobs", json::object());
  if (knobs.contains(name)) {
    return knobs[name].is_string() ? knobs[name].get<std::string>() : knobs[name].dump();
  }
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

Status apply_one(const json& item, const CommonOptions& common, const Log& log, Model* model) {
  TransformSpec spec;
  if (item.is_string()) {
    RILL_ASSIGN(spec, parse_transform(item.get<std::string>()));
  } else if (item.is_object() && item.contains("name")) {
    RILL_ASSIGN(spec, parse_transform(item.dump()));
  } else {
    return fail(Code::kParse, "transforms: expected a name, or a table with one, found ",
                item.dump());
  }
  // A single row at a time needs no batch.
  if (spec.name == "batchify" && !common.demands.shows_batch) return {};
  RILL_TRY(apply_transform(spec, common, log, model));
  RILL_ASSIGN(model->graph, declutter(model->graph));
  return {};
}

}  // namespace

Status apply_deployment(CommonOptions* common, const Log& log, Model* model) {
  const std::string name = model->graph.name;
  RILL_ASSIGN(const json section, section_of(name));
  if (!section.value("knobs", json::object()).is_object() ||
      !section.value("transforms", json::array()).is_array() ||
      !section.value("runtime", json("cpu")).is_string()) {
    return fail(Code::kParse, "[", name,
                "]: expected runtime = \"..\", transforms = [..] and knobs = {..}");
  }
  const std::string runtime = section.value("runtime", std::string("gpu-or-cpu"));
  if (runtime != "gpu-or-cpu" && runtime != "cpu" && runtime != "default" &&
      runtime != "unoptimized") {
    return fail(Code::kArg, "Unknown runtime ", runtime)
        .hint("rill has cpu, gpu-or-cpu (which is cpu) and unoptimized");
  }
  common->model.runtime = runtime == "unoptimized" ? "unoptimized" : "cpu";
  for (const json& item : section.value("transforms", json::array())) {
    RILL_TRY(apply_one(item, *common, log, model));
  }
  const std::string lanes = knob(name, section, kLanes);
  if (lanes.empty() || common->streaming.autobatch_sessions > 0) return {};
  const auto count = parse_number(lanes);
  if (!count.ok() || *count < 0 || *count > 1e6) {
    return fail(Code::kArg, kLanes, "=", lanes, ": expected a number");
  }
  common->streaming.autobatch_sessions = static_cast<int64_t>(*count);
  return {};
}

}  // namespace rill::cli
