#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/reach/machine.h"

namespace rill::kernels {

/// A kernel on the arguments of a case, ready to run.
struct ReachRun {
  std::string kernel;  ///< "matmul_f32_avx2"
  std::function<void()> run;
};

/// A typical workload for the kernels of a family.
struct ReachCase {
  std::string family;  ///< "matmul"
  std::string shape;   ///< "8x96x288"
  double flops = 0;    ///< 0 if memory alone bounds the time
  int64_t bytes = 0;   ///< read and written
  /// Returns the kernel for a tier that this CPU has, with its arguments.
  std::function<ReachRun(Tier)> make;
};

/// Return cases of a few shapes for every family of kernels.
std::vector<ReachCase> reach_cases();

/// The performance of a kernel on a case.
struct Reach {
  std::string kernel;
  Tier tier = Tier::kScalar;
  double ns = 0;        ///< of a call, the least of many
  double gflops = 0;    ///< 0 if memory alone bounds the time
  double gbytes = 0;    ///< GB/s
  double bound_ns = 0;  ///< the best time that the peak of its tier, or the bandwidth, allows
  std::string bound;    ///< the limiting one: "FMA", "L1", ...
  bool chosen = false;  ///< whether plans take it
};

struct ReachRow {
  std::string family;
  std::string shape;
  std::vector<Reach> kernels;  ///< the list's order, the best first
};

/// Time every kernel of the cases whose family or shape contains `filter`; all cases if it is
/// empty.
std::vector<ReachRow> measure_reach(const Machine& machine, const std::string& filter = {});

/// A chosen kernel that is slower than another one of its list by more than `allowed`.
struct WrongChoice {
  std::string family;
  std::string shape;
  std::string chosen;
  std::string faster;
  double ratio = 0;  ///< time of the chosen one over that of the faster one
};

/// Return whether another kernel of the list is faster than the chosen one by more than `allowed`.
bool seems_wrong(const ReachRow& row, double allowed);
/// Measure suspicious choices again, alternating, to exclude noise.
std::vector<WrongChoice> wrong_choices(const std::vector<ReachRow>& rows, double allowed = 0.05);

}  // namespace rill::kernels
