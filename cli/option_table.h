#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "cli/options.h"

namespace rill::cli {

/// Where an option may be written.
enum Where : unsigned {
  kGlobal = 1,
  kOnRun = 2,
  kOnDump = 4,
  kOnBench = 8,
  kOnCompare = 16,
  kOnStream = 32,
  kOnInspect = 64,
  kOnCheck = 128,
  kOnHwBench = 256,
  kOnAudit = 512,
  kOnCompile = 1024,
  kOfPlanFiles = 2048,  ///< it has an effect on compiled models
  kOfPlans = 4096,      ///< it limits plans
  kOfPlanSize = 8192,   ///< it limits the files of compiled models
  kOnAll = kOnRun | kOnDump | kOnBench | kOnCompare | kOnStream | kOnCheck,
  kOnTract = kOnRun | kOnDump | kOnBench | kOnCompare,
  kChecks = kOnRun | kOnDump | kOnBench | kOnCompare | kOnStream,
};

/// Two values per occurrence of the option.
struct Pairs {
  std::vector<std::string>* values;
};

/// A limit; 0 stands for its default.
struct Limit {
  int64_t* value;
};

/// The destination of the value; an int counts the occurrences of the option.
using Value =
    std::variant<bool*, int*, int64_t*, double*, std::string*, std::vector<std::string>*, Pairs,
                 Limit>;

struct Option {
  const char* names;  ///< "-O,--optimize"
  unsigned where;
  Value value;
  const char* help;
  const char* group = "";
};

/// An option of tract's command line that rill does not have, or that changes nothing.
struct TractOption {
  enum class Kind { kNoEffect, kNotSupported };
  const char* names;
  unsigned where;
  bool takes_value;
  Kind kind;
  const char* help;
};

/// The group of options that rill-tract takes from tract and that change nothing. The help of rill
/// leaves it out.
inline constexpr const char* kWithoutEffect = "Without effect";

/// Add the options of a group, which help texts print together.
void append_options(std::vector<Option>* out, const char* group,
                    std::initializer_list<Option> options);

/// Add the options of `CommonOptions`, or of a group that several commands have, with their places
/// there. Each option names the commands that have it.
void add(CommonOptions* options, std::vector<Option>* out);
void add(CheckOptions* options, std::vector<Option>* out);
void add(ReportOptions* options, std::vector<Option>* out);
void add(ViewOptions* options, std::vector<Option>* out);
void add(LoopOptions* options, std::vector<Option>* out);
void add(LoadOptions* options, std::vector<Option>* out);
void add(ProofOptions* options, std::vector<Option>* out);
std::span<const TractOption> tract_options();

// Return the message for the first invalid value of a group, if there is one.
std::optional<std::string> wrong_value(const CheckOptions& options);
std::optional<std::string> wrong_value(const LoopOptions& options);
std::optional<std::string> wrong_value(const LoadOptions& options);
std::optional<std::string> wrong_value(const ProofOptions& options);
/// Return the message for a value outside a fixed set.
std::string invalid_value(const std::string& value, const char* option, const std::string& values);
/// Refuse a name that is neither a stage nor a transform of this command line.
std::optional<std::string> wrong_stage(const ModelOptions& model, const char* option,
                                       const std::string& stage);
/// The message for counts and times out of range.
inline constexpr const char* kNegative =
    "counts and times cannot be negative, and --max-loops is at least 1";

}  // namespace rill::cli
