#include "plan_file/compile.h"

#include "cli/commands.h"
#include "cli/emit.h"
#include "cli/plan_sources.h"
#include "cli/small_weights.h"
#include "nnef_loader/archive/atomic_file.h"
#include "nnef_loader/properties.h"
#include "ops/op_table.h"
#include "ops/step_table.h"
#include "plan_file/reopen.h"

namespace rill::cli {
Status compile_command(const Args& args, const Log& log, const Model& model) {
  if (args.compile.output.empty() && args.compile.embed.empty() && args.compile.table.empty() &&
      args.compile.emit.empty()) {
    return fail(Code::kArg, "compile: no file to write")
        .hint("Add -o FILE.rill, --embed FILE.c, --table FILE.c or --emit-c FILE.c");
  }
  plan_file::CompileOptions compile;
  RILL_ASSIGN(compile.targets, plan_file::targets_named(args.compile.targets, "--target"));
  Graph graph = model.graph;
  Args own = args;
  // The number of comparisons depends on the speed of the machine, but the same model must give the
  // same bytes.
  own.write.nnef_deterministic = true;
  // A compiler optimises unless the options disable it.
  own.model.optimize |= args.model.runtime != "unoptimized";
  RILL_TRY(audit_before_writing(own, log, model, &graph));
  SmallWeights weights;
  if (!args.compile.weights.empty()) {
    Model audited = model;
    audited.graph = graph;
    RILL_ASSIGN(weights, choose_weights(own, log, audited, compile.targets[0]));
  } else if (!args.compile.max_difference.empty() || !args.compile.keep_weights.empty()) {
    return fail(Code::kArg, "compile: no weights that differ").hint("Add --weights f16, q8 or q4");
  }
  compile.optimize = optimizes(own);
  compile.notes = !args.compile.no_notes;
  WeightChoice choice = weights.choice;
  if (!args.compile.weights.empty()) compile.weights = &choice;
  auto made = plan_file::compile(graph, ops::op_table(), compile);
  if (!made.ok() && made.error().code == Code::kSymbol) {
    return made.take_status().hint("Bind it with --set SYMBOL=N, or stream along it with --pulse");
  }
  RILL_ASSIGN(const std::vector<plan_file::TargetPlan> plans, std::move(made));
  plan_file::WriteOptions options;
  options.notes = !args.compile.no_notes;
  options.audit = plan_file::audit_text(graph);
  options.properties = nnef::property_list(graph.properties);
  if (!args.compile.weights.empty()) options.weights = weights_line(weights);
  RILL_ASSIGN(const plan_file::PlanFile file,
              plan_file::make_file(plans, ops::op_table(), options));
  if (!args.compile.output.empty()) {
    RILL_ASSIGN(nnef::AtomicFile to, nnef::AtomicFile::create(args.compile.output));
    RILL_TRY(plan_file::write_reopened(std::move(to), file, plans, ops::step_table(),
                                       ops::op_table(), options));
  }
  if (!args.compile.embed.empty() || !args.compile.table.empty()) {
    const std::vector<std::byte> bytes = file.joined();
    if (args.compile.output.empty()) {
      RILL_TRY(
          plan_file::expect_reopens(bytes, plans, ops::step_table(), ops::op_table(), options));
    }
    RILL_TRY(write_plan_sources(args, bytes, plans));
  }
  RILL_TRY(write_emitted(args, plans, options.properties));
  std::string names;
  for (const plan_file::TargetPlan& each : plans) {
    names += (names.empty() ? "" : ", ") + each.target;
  }
  if (!args.compile.weights.empty()) print_weights(args, weights);
  log.info(str_cat(file.bytes(), " bytes for ", names));
  return {};
}

}  // namespace rill::cli
