// The parts of librill_run that replace those of librill: it opens plans without graphs and
// operators.

#include "api/include/rill/rill.h"
#include "api/src/opened_plan.h"
#include "kernels/target.h"
#include "plan_file/place.h"

extern "C" {
// The program's table from `rill compile --table`, else all step kinds of the library.
extern const rill::StepKind* const rill_steps[];
extern const unsigned long rill_steps_count;
}

namespace {

#if defined(__EMSCRIPTEN__)
constexpr rill::Remedies kRemedies = {
    "Compile the model for browsers: rill compile MODEL --target wasm -o PLAN.rill",
    "Load the model itself, which rill.wasm runs",
    "Leave out `wasm`, or make a module for this plan: scripts/web_run.sh PLAN.rill -o FOLDER"};
#else
constexpr rill::Remedies kRemedies{};
#endif

}  // namespace

namespace rill::api {

Result<plan_file::OpenedAlone> opened_plan(const plan_file::MappedFile& file,
                                           const plan_file::Limits& limits) {
  const Runner runner{{rill_steps, rill_steps_count}, kernels::target_rank, true, kRemedies};
  return plan_file::place(file.bytes, file.owner, runner, limits);
}

}  // namespace rill::api

extern "C" {

const char* rill_build_info(void) {
  return "rill " RILL_VERSION ", " RILL_BUILD_TYPE ", compiler " __VERSION__
         ", only for compiled models";
}

}  // extern "C"
