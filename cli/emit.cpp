#include "cli/emit.h"

#include <filesystem>

#include "emit_c/emit.h"
#include "emit_c/text.h"
#include "kernels/target.h"
#include "nnef_loader/archive/archive.h"
#include "ops/emit_table.h"

namespace rill::cli {
Status write_emitted(const std::string& to, const std::string& model,
                     std::span<const plan_file::TargetPlan> plans,
                     std::span<const Property> properties) {
  if (to.empty()) return {};
  const std::filesystem::path path(to);
  if (path.extension() != ".c") {
    return fail(Code::kArg, "--emit-c ", to, ": expected a name that ends in .c")
        .hint("The header gets the same name with .h");
  }
  if (plans.size() != 1) {
    return fail(Code::kArg, "--emit-c: ", plans.size(), " targets, but a C file has one plan")
        .hint("Give --target one name, and write a file per target");
  }
  kernels::Target target;
  if (!kernels::target_from_name(plans[0].target, &target)) {
    return fail(Code::kInternal, "target ", plans[0].target, " has no name");
  }
  std::filesystem::path header(path);
  header.replace_extension(".h");
  emit_c::EmitOptions options;
  options.name = emit_c::identifier(path.stem().string(), "model");
  options.header = header.filename().string();
  options.target = plans[0].target;
  options.model = std::filesystem::path(model).filename().string();
  options.arithmetic = ops::arithmetic_of(target.tier);
  options.properties = properties;
  RILL_ASSIGN(const emit_c::Source source,
              emit_c::emit(*plans[0].plan, ops::emit_table(), options));
  RILL_TRY(nnef::write_file(to, std::as_bytes(std::span(source.code))));
  return nnef::write_file(header.string(), std::as_bytes(std::span(source.header)));
}

}  // namespace rill::cli
