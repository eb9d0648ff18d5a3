#include "onnx_loader/build/refused.h"

#include <array>

#include "core/base/search.h"

namespace rill::onnx {
namespace {

constexpr std::string_view kStrings = "it computes with strings; rill's tensors are of numbers";
constexpr std::string_view kData =
    "the shape of its result depends on data; rill's shapes follow from those of the inputs";

constexpr std::string_view kTables =
    "it is of classical machine learning, of tables and categories, which rill has no operators "
    "for";

struct Refused {
  std::string_view domain;
  std::string_view name;  ///< empty for all of the domain
  std::string_view reason;
};

constexpr std::array kRefused = {
    Refused{"", "SequenceMap",
            "it runs a graph for each tensor of a sequence; rill's values are tensors"},
    Refused{"", "RegexFullMatch", kStrings},
    Refused{"", "StringConcat", kStrings},
    Refused{"", "StringNormalizer", kStrings},
    Refused{"", "StringSplit", kStrings},
    Refused{"", "TfIdfVectorizer", kStrings},
    Refused{"", "NonMaxSuppression", kData},
    Refused{"", "Unique", kData},
    Refused{"", "ImageDecoder", "it reads files of images, such as JPEG"},
    Refused{"ai.onnx.preview.training", "", "rill does not train"},
    Refused{"ai.onnx.training", "", "rill does not train"},
    Refused{"com.microsoft.nchwc", "",
            "its layout is made for one machine: onnxruntime writes it with all optimisations on. "
            "Save the model with ORT_ENABLE_EXTENDED"},
    Refused{"ai.onnx.ml", "", kTables},
};

}  // namespace

std::string_view refused_because(std::string_view domain, std::string_view name) {
  const auto* const at = find_if(kRefused, [&](const Refused& each) {
    return each.domain == domain && (each.name.empty() || each.name == name);
  });
  return at == kRefused.end() ? std::string_view() : at->reason;
}

}  // namespace rill::onnx
