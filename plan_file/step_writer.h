#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/exec/extents.h"
#include "core/exec/op_fields.h"
#include "core/graph/nnef.h"
#include "plan_file/bytes.h"
#include "plan_file/write.h"

namespace rill::plan_file {

/// The distinct constants of a file. This object refers to their memory.
class Constants {
 public:
  /// `mapped`: the bytes of a mapped file. Pages of constants in it are released once they are
  /// read.
  explicit Constants(std::span<const std::byte> mapped = {}) : mapped_(mapped) {}

  /// Return the number of a constant with these bytes, which must outlive this object.
  int64_t add(const void* data, int64_t bytes);

  const std::vector<FileConstant>& entries() const { return entries_; }
  int64_t bytes() const { return bytes_; }

 private:
  std::span<const std::byte> mapped_;
  int64_t bytes_ = 0;
  std::vector<FileConstant> entries_;
  std::unordered_multimap<uint64_t, size_t> by_sum_;
};

/// The constants of one plan.
class ConstantTable {
 public:
  explicit ConstantTable(Constants* all) : all_(all) {}
  /// Return the number of a constant in this plan.
  int64_t add(const void* data, int64_t bytes);
  void write(RecordWriter* to) const;

 private:
  Constants* all_;
  std::map<int64_t, int64_t> numbers_;  ///< in this plan, by those in `all_`
  std::vector<int64_t> own_;
};

/// Distinct names, in the order of their first use.
class Names {
 public:
  int64_t add(std::string_view name);
  void write(RecordWriter* to) const;

 private:
  std::vector<std::string> all_;
  std::map<std::string, int64_t, std::less<>> index_;
};

/// Writes steps, argument by argument.
class StepWriter final : public StepFields {
 public:
  StepWriter(const Plan& plan, std::span<const OpModule* const> modules, ConstantTable* constants)
      : plan_(plan), modules_(modules), constants_(constants) {}

  void steps(const List<Step>& all);
  void operand(const PlacedView& value);
  void tensor(const TensorPtr& value);

  const RecordWriter& record() const { return to_; }
  const Names& kinds() const { return kinds_; }
  const Names& kernels() const { return kernels_; }
  const Names& classes() const { return classes_; }
  /// Return whether a step, or an argument of `operand`, refers to a buffer.
  bool is_used(size_t buffer) const { return used_.count(static_cast<uint32_t>(buffer)) > 0; }
  const Status& status() const { return status_; }

  void field(std::string_view, int64_t& value) override { to_.number(value); }
  void field(std::string_view, double& value) override { to_.real(value); }
  void field(std::string_view, Text& value) override { to_.text(value); }
  void field(std::string_view, Dim& value) override { to_.dim(value); }
  void field(std::string_view, TensorPtr& value) override { tensor(value); }
  void field(std::string_view, Extent& value) override {
    to_.dim(dim_of(value, plan_.stream_symbol));
  }
  void field(std::string_view, Ref& value) override { ref(value); }
  void field(std::string_view, PlacedView& value) override { operand(value); }
  void field(std::string_view, OpPtr& value) override;
  void field(std::string_view, List<Step>& value) override { steps(value); }
  void kernel(std::string_view name, std::span<const KernelName> names, int64_t& index) override;
  void address(std::string_view, bool) override {}
  void begin(std::string_view) override {}
  void begin_list(std::string_view, int64_t& count) override {
    to_.natural(static_cast<uint64_t>(count));
  }
  void end() override {}

 private:
  void ref(const Ref& value);
  /// Keep the first reason why no file can hold the plan, with the node of the step.
  void refuse(std::string_view what);

  const Plan& plan_;
  std::span<const OpModule* const> modules_;
  ConstantTable* constants_;
  RecordWriter to_;
  Names kinds_;
  Names kernels_;
  Names classes_;
  std::set<uint32_t> used_;
  int64_t node_ = -1;  ///< of the step that is being written
  Status status_;
};

/// Write type and shape, the start of operands and tensors.
void write_type(RecordWriter* to, DType dtype, const QParams& q, std::span<const int64_t> shape);

}  // namespace rill::plan_file
