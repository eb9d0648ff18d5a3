#include "plan_file/compile.h"

#include "cli/audit.h"
#include "cli/commands.h"
#include "cli/emit.h"
#include "cli/exec.h"
#include "cli/plan_files.h"
#include "cli/plan_sources.h"
#include "cli/small_weights.h"
#include "cli/symbols.h"
#include "core/base/progress.h"
#include "nnef_loader/archive/atomic_file.h"
#include "nnef_loader/properties.h"
#include "ops/op_table.h"
#include "ops/step_table.h"
#include "plan_file/reopen.h"

namespace rill::cli {
namespace {

/// Options of `compile`.
struct CompileCommandOptions {
  ReportOptions report;
  ProofOptions proof;
  SourceOptions sources;
  WeightOptions weights;
  std::string output;
  std::string targets = "native";  ///< names with commas between
  std::string emit;                ///< the plan as C
  bool no_notes = false;
};

Result<SmallWeights> weights_of(const CommonOptions& common, const WeightOptions& options,
                                const Log& log, const Model& model,
                                const kernels::Target& target) {
  if (options.any()) return choose_weights(common, options, log, model, target);
  if (options.max_difference.empty() && options.keep.empty()) return SmallWeights();
  return fail(Code::kArg, "--max-difference and --keep-weights have no effect without --weights")
      .hint("Add --weights f16, q8 or q4, or --int8");
}

/// Write the requested files.
Status write_compiled(const std::string& model, const CompileCommandOptions& options,
                      const plan_file::PlanFile& file,
                      std::span<const plan_file::TargetPlan> plans,
                      const plan_file::WriteOptions& written) {
  const SourceOptions& sources = options.sources;
  if (!options.output.empty()) {
    RILL_ASSIGN(nnef::AtomicFile to, nnef::AtomicFile::create(options.output));
    RILL_TRY(plan_file::write_reopened(std::move(to), file, plans, ops::step_table(),
                                       ops::op_table(), written));
  }
  if (!sources.embed.empty() || !sources.table.empty()) {
    const std::vector<std::byte> bytes = file.joined();
    if (options.output.empty()) {
      RILL_TRY(
          plan_file::expect_reopens(bytes, plans, ops::step_table(), ops::op_table(), written));
    }
    RILL_TRY(write_plan_sources(sources, bytes, plans));
  }
  return write_emitted(options.emit, model, plans, written.properties);
}

Status compile_model(CommonOptions common, const CompileCommandOptions& options, const Log& log,
                     Model model) {
  if (options.output.empty() && options.sources.embed.empty() && options.sources.table.empty() &&
      options.emit.empty()) {
    return fail(Code::kArg, "compile writes no file: none is named")
        .hint("Add -o FILE.rill, --embed FILE.c, --table FILE.c or --emit-c FILE.c");
  }
  plan_file::CompileOptions compile;
  RILL_ASSIGN(compile.targets, plan_file::targets_named(options.targets, "--target"));
  // A compiler optimises unless the options disable it.
  common.model.optimize |= common.model.runtime != "unoptimized";
  // The number of comparisons depends on the speed of the machine, but the same model must give the
  // same bytes.
  Graph graph = model.graph;
  RILL_TRY(audit_before_writing(common, options.proof, true, log, model, &graph));
  model.graph = graph;
  RILL_ASSIGN(const SmallWeights weights,
              weights_of(common, options.weights, log, model, compile.targets[0]));
  const bool small = options.weights.any();
  compile.optimize = optimizes(common);
  compile.notes = !options.no_notes;
  WeightChoice choice = weights.choice;
  if (small) compile.weights = &choice;
  // The share of the progress that preparing gets; writing the file gets the rest.
  constexpr double kPreparing = 0.6;
  const ProgressStage stage(Stage::kCompile);
  const auto prepare = [&] {
    const ProgressPart part(0, kPreparing);
    return plan_file::compile(graph, ops::op_table(), compile);
  };
  auto made = prepare();
  if (!made.ok()) return hint_to_bind(made.take_status());
  RILL_ASSIGN(const std::vector<plan_file::TargetPlan> plans, std::move(made));
  plan_file::WriteOptions written;
  written.limits = common.limits.plan;
  written.notes = !options.no_notes;
  written.audit = plan_file::audit_text(graph);
  written.properties = nnef::property_list(graph.properties);
  if (small) written.weights = weights_line(weights);
  RILL_ASSIGN(const plan_file::PlanFile file,
              plan_file::make_file(plans, ops::op_table(), written));
  {
    const ProgressPart part(kPreparing, 1);
    RILL_TRY(write_compiled(common.file, options, file, plans, written));
  }
  if (small) print_weights(options.report, weights);
  std::vector<std::string> names;
  for (const plan_file::TargetPlan& each : plans) names.push_back(each.target);
  log.info(str_cat(file.bytes(), " bytes for ", join(names, ", ")));
  return {};
}

class CompileCommand final : public ModelCommand {
 public:
  CompileCommand()
      : ModelCommand({"compile", kOnCompile,
                      "write the plan for any CPU as a file that opens at once",
                      "rill model.nnef.tgz --set B=1 --pulse S=8 compile -o model.rill", false}) {}

  void add_options(std::vector<Option>* out) override {
    add(&options_.report, out);
    add(&options_.proof, out);
    append_options(
        out, "Compile",
        {
            {"-o,--output", kOnCompile, &options_.output, "write the compiled model to this file"},
            {"--target", kOnCompile, &options_.targets,
             "CPUs, as in avx2,avx512; default: this CPU"},
            {"--embed", kOnCompile | kOfPlanFiles, &options_.sources.embed,
             "write the file as a C array as well"},
            {"--table", kOnCompile | kOfPlanFiles, &options_.sources.table,
             "write the table of kinds of steps in C as well"},
            {"--emit-c", kOnCompile, &options_.emit,
             "write the plan as C that needs no library, and its header"},
            {"--with", kOnCompile | kOfPlanFiles, &options_.sources.with,
             "add the kinds of steps of this compiled model to --table; repeatable"},
            {"--weights", kOnCompile, &options_.weights.format,
             "quantise weights to f16, q8 or q4, which changes outputs"},
            {"--int8", kOnCompile, &options_.weights.int8,
             "multiply weights and activations of 8 bits, which changes outputs"},
            {"--max-difference", kOnCompile, &options_.weights.max_difference,
             "keep layers in f32 until no output differs by more"},
            {"--keep-weights", kOnCompile, &options_.weights.keep,
             "keep the weights of this node in f32"},
            {"--no-notes", kOnCompile, &options_.no_notes,
             "omit names and costs that only profiles and dumps show"},
        });
  }
  std::optional<std::string> wrong_value(const CommonOptions&) const override {
    return cli::wrong_value(options_.proof);
  }

 protected:
  bool limits_plans() const override { return true; }
  bool writes_plan_files() const override { return true; }
  bool takes_plan_files() const override { return true; }
  Status run_model(const CommonOptions& common, const Log& log, const Model& model) const override {
    return compile_model(common, options_, log, model);
  }
  /// Write the sources that programs with an existing compiled model need.
  Status run_plan_file(const CommonOptions& common, const Log&) const override {
    if (options_.sources.embed.empty() && options_.sources.table.empty()) {
      return fail(Code::kArg, common.file, " is compiled already")
          .hint(
              "Add --table FILE.c or --embed FILE.c, or name the model that it was compiled "
              "from");
    }
    RILL_ASSIGN(const plan_file::MappedFile file, plan_file_bytes(common));
    RILL_TRY(plan_file::verify(file.bytes).at(common.file, 0));
    return write_plan_sources(options_.sources, file.bytes, {});
  }

 private:
  CompileCommandOptions options_;
};

}  // namespace

std::unique_ptr<Command> compile_command() { return std::make_unique<CompileCommand>(); }

}  // namespace rill::cli
