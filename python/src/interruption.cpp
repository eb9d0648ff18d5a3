#include "interruption.h"

namespace nb = nanobind;

namespace rill::python {
namespace {

/// Acquiring the GIL more often would slow down other threads.
constexpr std::chrono::milliseconds kBetween{50};

}  // namespace

Interruption::Interruption()
    : has_function_(nb::cast<bool>(nb::module_::import_("rill._progress").attr("is_watched")())) {
  rill_set_progress(&receive, this);
}

Interruption::~Interruption() { rill_set_progress(nullptr, nullptr); }

void Interruption::rethrow() {
  if (PyErr_Occurred()) throw nb::python_error();
}

bool Interruption::ask(rill_stage stage, double fraction) const {
  if (PyErr_CheckSignals() != 0) return false;
  if (!has_function_) return true;
  try {
    return nb::cast<bool>(
        nb::module_::import_("rill._progress").attr("report")(rill_stage_name(stage), fraction));
  } catch (nb::python_error& error) {
    error.restore();
    return false;
  }
}

int Interruption::receive(void* user, rill_stage stage, double fraction) {
  auto* const own = static_cast<Interruption*>(user);
  const auto now = Clock::now();
  const bool is_last = own->has_function_ && fraction >= 1;
  if (!is_last && now - own->asked_ < kBetween) return 1;
  own->asked_ = now;
  struct Question {
    const Interruption* own;
    rill_stage stage;
    double fraction;
    bool continues;
  } question{own, stage, fraction, true};
  locked(
      [](void* argument) {
        auto* const each = static_cast<Question*>(argument);
        each->continues = each->own->ask(each->stage, each->fraction);
      },
      &question);
  return question.continues ? 1 : 0;
}

}  // namespace rill::python
