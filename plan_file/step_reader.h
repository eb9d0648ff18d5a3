#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/exec/op_fields.h"
#include "core/graph/nnef.h"
#include "plan_file/bytes.h"
#include "plan_file/read.h"

namespace rill::plan_file {

/// The tables to which the steps of a file refer by number.
struct Tables {
  std::vector<const StepKind*> kinds;
  std::vector<std::string_view> kernels;
  std::vector<const OpClass*> classes;
  std::vector<std::span<const std::byte>> constants;
  std::shared_ptr<const void> owner;
};

/// Reads the steps that a writer wrote. Their arguments have the right types, but may have any
/// values.
class StepReader final : public StepFields {
 public:
  StepReader(RecordReader* from, const Tables& tables, Plan* plan)
      : StepFields(false), from_(*from), tables_(tables), plan_(*plan) {}

  List<Step> steps();
  PlacedView operand();
  /// Return why the build cannot run a step; ok if the fault is in the file.
  const Status& status() const { return status_; }

  void field(std::string_view, int64_t& value) override { value = from_.number(); }
  void field(std::string_view, double& value) override { value = from_.real(); }
  void field(std::string_view, Text& value) override { value = from_.text(); }
  void field(std::string_view, Dim& value) override { value = from_.dim(); }
  void field(std::string_view, TensorPtr& value) override { value = tensor(); }
  void field(std::string_view, Extent& value) override { value = from_.extent(); }
  void field(std::string_view, Ref& value) override { value = ref(); }
  void field(std::string_view, PlacedView& value) override { value = operand(); }
  void field(std::string_view, OpPtr& value) override;
  void field(std::string_view, List<Step>& value) override;
  void kernel(std::string_view name, std::span<const KernelName> names, int64_t& index) override;
  void address(std::string_view, bool) override {}
  void begin(std::string_view) override {}
  void begin_list(std::string_view, int64_t& count) override;
  void end() override {}
  /// Report a value that no step of its kind has. The name of a field lives as long as the program.
  void wrong(std::string_view name) override {
    from_.fail("a step has a value that none of its kind has",
               name.empty() ? nullptr : name.data());
  }

 private:
  Ref ref();
  TensorPtr tensor();
  void refuse(Status status) {
    if (status_.ok()) status_ = std::move(status);
    from_.fail("a step cannot run here");
  }

  RecordReader& from_;
  const Tables& tables_;
  Plan& plan_;
  int depth_ = 0;
  Status status_;
};

}  // namespace rill::plan_file
