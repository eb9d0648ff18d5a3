#include "tests/support/models.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

namespace rill::test {

namespace fs = std::filesystem;

std::vector<ModelFolder> all_models() {
  std::vector<ModelFolder> out;
  for (const auto& entry : fs::directory_iterator(RILL_SOURCE_DIR "/tests/models")) {
    ModelFolder model;
    model.path = entry.path().string();
    model.name = entry.path().filename().string();
    model.archive = model.path + "/model.nnef.tgz";
    if (!fs::exists(model.archive)) continue;
    for (const auto& file : fs::directory_iterator(entry.path())) {
      const std::string name = file.path().filename().string();
      if (name.starts_with("io") && name.ends_with(".npz")) {
        model.bundles.push_back(file.path().string());
      }
    }
    std::sort(model.bundles.begin(), model.bundles.end());
    std::ostringstream text;
    text << std::ifstream(model.path + "/README.md").rdbuf();
    const std::string readme = text.str();
    std::smatch match;
    const std::regex streams(
        R"(streams along (\w+) \(input axis \d+\), reference pulse (\d+)(?:, delay (\d+))?)");
    if (std::regex_search(readme, match, streams)) {
      model.symbol = match[1];
      model.pulse = std::stoll(match[2]);
      if (match[3].matched) model.delay = std::stoll(match[3]);
    }
    if (std::regex_search(readme, match, std::regex(R"(multiple of (\d+))"))) {
      model.unit = std::stoll(match[1]);
    }
    model.bidirectional = readme.find("bidirectional") != std::string::npos;
    out.push_back(std::move(model));
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

std::vector<ModelFolder> streaming_models() {
  auto out = all_models();
  std::erase_if(out, [](const auto& m) { return m.symbol.empty() || m.bidirectional; });
  return out;
}

int64_t part_of_pulse(const ModelFolder& model) {
  return std::max(model.pulse / 2 / model.unit, int64_t{1}) * model.unit;
}

bool has_attention(const ModelFolder& model) {
  const auto has_word = [&](std::string_view word) {
    return model.name.find(word) != std::string::npos;
  };
  return has_word("conformer") || has_word("attention") || has_word("heads") ||
         has_word("transformer") || has_word("talking") || has_word("distances");
}

}  // namespace rill::test
