#include "api/include/rill/compile.h"

#include <string>

#include "api/src/change.h"
#include "api/src/errors.h"
#include "api/src/guard.h"
#include "api/src/model_handle.h"
#include "api/src/progress.h"
#ifndef RILL_WITHOUT_PLAN_FILES
#include "nnef_loader/archive/atomic_file.h"
#include "nnef_loader/properties.h"
#include "ops/op_table.h"
#include "ops/step_table.h"
#include "plan_file/compile.h"
#include "plan_file/reopen.h"
#include "plan_file/weights.h"
#endif

using rill::Code;
using rill::Result;
using rill::Status;
using rill::api::alive;
using rill::api::kNotAModel;
using rill::api::refuse;

#ifndef RILL_WITHOUT_PLAN_FILES
namespace plan_file = rill::plan_file;

namespace {

/// Return the requested formats of weights; f32 if there are none.
Result<rill::WeightChoice> choice_of(const rill_compile_opts& opts) {
  rill::WeightChoice out;
  if (opts.weights) {
    const auto format = plan_file::weight_format(opts.weights);
    if (!format) {
      return rill::fail(Code::kArg, "weights ", opts.weights,
                        ": expected f32, f16, q8, q4 or int8");
    }
    out.format = *format;
  }
  for (size_t i = 0; i < opts.keep_count; ++i) {
    if (!opts.keep[i]) return rill::fail(Code::kArg, "keep: no name at index ", i);
    out.kept.emplace(opts.keep[i]);
  }
  return out;
}

void report_to(const rill::WeightChoice& choice, const rill_compile_opts& opts) {
  for (const rill::WeightLayer& layer : choice.layers) {
    rill_weight_layer out = {};
    out.size = sizeof(out);
    out.node = layer.node.c_str();
    out.op = layer.op.c_str();
    out.f32_bytes = layer.f32_bytes;
    out.bytes = layer.bytes;
    out.kept = layer.kept.c_str();
    opts.layer(opts.user, &out);
  }
}

Status compiled(const rill::Graph& graph, const rill_compile_opts& opts, const char* path) {
  // The share of the progress that preparing gets; writing the file gets the rest.
  constexpr double kPreparing = 0.6;
  const rill::ProgressStage stage(rill::Stage::kCompile);
  RILL_ASSIGN(rill::WeightChoice choice, choice_of(opts));
  plan_file::CompileOptions compile;
  RILL_ASSIGN(compile.targets,
              plan_file::targets_named(opts.targets ? opts.targets : "native", "targets"));
  compile.weights = &choice;
  compile.notes = opts.no_notes == 0;
  const auto prepare = [&] {
    const rill::ProgressPart part(0, kPreparing);
    return plan_file::compile(graph, rill::ops::op_table(), compile);
  };
  auto made = prepare();
  if (!made.ok() && made.error().code == Code::kSymbol) {
    return made.take_status().hint(
        "Bind it with rill_model_set_symbol, or stream along it with rill_model_pulse");
  }
  RILL_ASSIGN(const auto plans, std::move(made));
  const char* const format = plan_file::weight_format_name(choice.format);
  RILL_TRY(plan_file::check_weights(choice, rill::str_cat("weights ", format), "keep"));
  plan_file::WriteOptions options;
  options.notes = compile.notes;
  options.audit = plan_file::audit_text(graph);
  options.properties = rill::nnef::property_list(graph.properties);
  if (opts.weights) options.weights = plan_file::weights_text(choice);
  RILL_ASSIGN(const plan_file::PlanFile file,
              plan_file::make_file(plans, rill::ops::op_table(), options));
  const rill::ProgressPart part(kPreparing, 1);
  RILL_ASSIGN(rill::nnef::AtomicFile to, rill::nnef::AtomicFile::create(path));
  RILL_TRY(plan_file::write_reopened(std::move(to), file, plans, rill::ops::step_table(),
                                     rill::ops::op_table(), options));
  if (opts.layer) report_to(choice, opts);
  return {};
}

}  // namespace
#endif

extern "C" {

rill_status rill_compile(const rill_model* model, const rill_compile_opts* opts, const char* path) {
  if (!alive(model)) return refuse(RILL_E_ARG, "rill_compile: %s", kNotAModel);
  if (!path) return refuse(RILL_E_ARG, "rill_compile: no path");
  if (opts) {
    const rill_status known = rill::api::check_size(opts, "rill_compile_opts");
    if (known != RILL_OK) return known;
    if (opts->keep_count > 0 && !opts->keep) {
      return refuse(RILL_E_ARG, "rill_compile: no names of the nodes to keep");
    }
  }
#ifdef RILL_WITHOUT_PLAN_FILES
  return refuse(RILL_E_UNSUPPORTED,
                "rill_compile: this build cannot write plan files; build rill with "
                "RILL_PLAN_FILES=ON");
#else
  return rill::api::guarded_with_progress("rill_compile", [&] {
    const Status status = compiled(model->graph, opts ? *opts : rill_compile_opts{}, path);
    return status.ok() ? RILL_OK : rill::api::report(status);
  });
#endif
}

}  // extern "C"
