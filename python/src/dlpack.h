#pragma once

#include <cstdint>

// The part of the DLPack ABI (version 1.3) that reads a tensor without a copy or a reference,
// instead of its header: https://dmlc.github.io/dlpack/latest/c_api.html.

namespace rill::python::dlpack {

struct Tensor {
  void* data;
  int32_t device_type;  ///< kCpu or kPinned, else memory that the CPU cannot read
  int32_t device_id;
  int32_t ndim;
  struct {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
  } dtype;
  int64_t* shape;
  int64_t* strides;  ///< in elements; null, before version 1.2, for row-major elements
  uint64_t byte_offset;
};

constexpr int32_t kCpu = 1;
constexpr int32_t kPinned = 3;
enum Code : uint8_t { kInt = 0, kUint = 1, kFloat = 2, kBool = 6 };

/// The name of the capsule in the attribute __dlpack_c_exchange_api__ of a type.
constexpr char kCapsule[] = "dlpack_exchange_api";
struct ExchangeApi {
  uint32_t major, minor;
  const ExchangeApi* previous;
  void* allocate;
  void* managed_from_object;
  void* object_from_managed;
  /// May be null. Returns 0, or -1 with an exception of Python.
  int (*tensor_from_object)(void* object, Tensor* out);
  void* current_stream;
};

}  // namespace rill::python::dlpack
