#include "onnx_loader/build/op_index.h"

#include <algorithm>

#include "core/base/closest.h"
#include "nnef_loader/syntax/parser.h"
#include "onnx_loader/build/refused.h"

namespace rill::onnx {
namespace {

/// Return the name in "fragment Conv(...", without parsing: `find` parses only called declarations.
std::string_view declared_name(std::string_view declaration) {
  constexpr std::string_view kKeyword = "fragment ";
  declaration.remove_prefix(std::min(declaration.size(), kKeyword.size()));
  return declaration.substr(0, declaration.find_first_of("<( \n"));
}

}  // namespace

OpIndex::OpIndex(std::span<const OnnxModule* const> modules) {
  for (const OnnxModule* module : modules) {
    for (const OnnxOp& op : module->ops) {
      Form form;
      form.op = &op;
      ops_[{op.domain, declared_name(op.declaration)}].push_back(std::move(form));
    }
  }
}

Result<OnnxCallee> OpIndex::find(std::string_view domain, std::string_view name, int64_t opset) {
  const auto it = ops_.find({domain, name});
  if (it == ops_.end()) {
    if (const auto reason = refused_because(domain, name); !reason.empty()) {
      return fail(Code::kUnsupported, reason)
          .hint("Cut the graph before it, and do that part in the calling program");
    }
    std::vector<std::string_view> names;
    for (const auto& [key, forms] : ops_) {
      if (key.first == domain) names.push_back(key.second);
    }
    Status status = fail(Code::kUnsupported, "rill has no operator of this name");
    if (names.empty()) {
      return std::move(status).hint(str_cat("rill has no operators of domain \"", domain, "\""));
    }
    return std::move(status).hint(did_you_mean(name, names));
  }
  Form* best = nullptr;
  int64_t oldest = it->second.front().op->since;
  for (Form& form : it->second) {
    oldest = std::min<int64_t>(oldest, form.op->since);
    if (form.op->since <= opset && (!best || form.op->since > best->op->since)) best = &form;
  }
  if (!best) {
    return fail(Code::kUnsupported, "the file is of opset ", opset,
                ", rill reads this operator from opset ", oldest)
        .hint("Convert the file to a newer opset, as onnx.version_converter does");
  }
  if (!best->declaration) {
    RILL_ASSIGN(nnef::Document document,
                nnef::parse_fragments(best->op->declaration, "operator declaration"));
    if (document.fragments.size() != 1) {
      return fail(Code::kInternal, "expected one fragment in \"", best->op->declaration, "\"");
    }
    best->declaration = std::make_unique<const nnef::Document>(std::move(document));
  }
  return OnnxCallee{&best->declaration->fragments[0], best->op->load,
                    best->op->load ? best->op->rounding : Rounding::kOnce};
}

}  // namespace rill::onnx
