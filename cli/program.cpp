#include "cli/program.h"

#include <chrono>
#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <variant>
#include <vector>

#include "cli/args.h"
#include "cli/crash.h"
#include "cli/progress_bar.h"
#include "cli/say_impl.h"
#include "cli/system/process.h"

namespace rill::cli {
namespace {

constexpr int kTimeoutStatus = 124;

/// Use only system calls: there is no memory left for formatting.
[[noreturn]] void out_of_memory(const char* text) {
  say_raw(text);
  end_now(1);
}
void out_of_memory_rill() { out_of_memory("error: out of memory\n"); }
void out_of_memory_tract() {
  out_of_memory("[1970-01-01T00:00:00.000000000Z ERROR tract] out of memory\n");
}

void start_timeout(double seconds) {
  if (seconds <= 0) return;
  std::thread([seconds] {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    say_to(stderr, "Timeout: process killed after {}s\n", seconds);
    std::fflush(stdout);
    end_now(kTimeoutStatus);
  }).detach();
}

/// Return the flavor of a program: `rill-tract` may be installed under the name of the program that
/// it replaces.
Flavor flavor_of(std::string_view program, Flavor built) {
  const size_t slash = program.find_last_of("/\\");
  if (slash != std::string_view::npos) program.remove_prefix(slash + 1);
  return program == "tract" || program == "tract.exe" ? Flavor::kTract : built;
}

/// Return whether a command has an option --quiet that is given.
bool is_quiet(Command* command) {
  std::vector<Option> options;
  command->add_options(&options);
  for (const Option& each : options) {
    const auto* const given = std::get_if<bool*>(&each.value);
    if (given && std::string_view(each.names) == "-q,--quiet") return **given;
  }
  return false;
}

int run(int argc, char** argv, Flavor flavor) {
  ParsedArgs parsed = parse_args(argc, argv, flavor);
  if (parsed.done) return parsed.exit_status;
  const ProgramOptions& program = parsed.common.program;
  const Log log(flavor, program.verbosity);
  start_timeout(program.timeout_s);
  Status status;
  {
    std::optional<ProgressBar> bar;
    if (flavor == Flavor::kRill && !is_quiet(parsed.command.get())) bar.emplace();
    status = parsed.command->run(parsed.common, log);
  }
  // Unwritten output, because of a full disk or a closed pipe, is a failure.
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (!status.ok()) {
    log.error(status.error());
    return 1;
  }
  if (!written) {
    log.error("standard output cannot be written");
    return 1;
  }
  return 0;
}

}  // namespace

int run_program(int argc, char** argv, Flavor flavor) {
  flavor = flavor_of(argc > 0 ? argv[0] : "", flavor);
  report_crashes(flavor);
  prepare_streams();
  std::set_new_handler(flavor == Flavor::kTract ? out_of_memory_tract : out_of_memory_rill);
  try {
    return run(argc, argv, flavor);
  } catch (const std::system_error& error) {
    // The system refused a thread or a folder.
    Log(flavor).error(error.what());
    return 1;
  } catch (const std::bad_alloc&) {
    Log(flavor).error("out of memory");
    return 1;
  } catch (const std::exception& exception) {
    Log(flavor).error(
        escaped_format("rill stopped because of an internal error: {}", exception.what()));
    return kCrashStatus;
  }
}

}  // namespace rill::cli
