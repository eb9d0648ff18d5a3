# Rooms on arrays and on elements, and softmax.

include(dialect.cmake)

rill_op(array/axis_ops)
rill_op(array/broadcast)
rill_op(array/cast STEP)
rill_op(array/concat)
rill_op(array/gather STEP)
rill_op(array/one_hot)
rill_op(array/pad STEP)
rill_op(array/range)
rill_op(array/reshape)
rill_op(array/slice)
rill_op(array/topk)
rill_op(array/trilu)
rill_op(math/binary STEP)
rill_op(math/cumsum STEP)
rill_op(math/pow_const)
rill_op(math/reduce STEP)
rill_op(math/select STEP)
rill_op(math/tally STEP)
rill_op(math/unary STEP)
rill_op(math/whole STEP)
rill_op(nn/softmax STEP)

# What several rooms share.
target_sources(rill_ops PRIVATE
  array/common.cpp
  array/extend_stream.cpp
  array/gather_slices.cpp
  array/gather_holds.cpp
  array/gather_windows.cpp
  array/groups.cpp
  array/index_run.cpp
  array/indices.cpp
  array/nearest_upsample.cpp
  array/slice_narrow.cpp
  array/symbolic.cpp
  math/dims.cpp
  math/fuse_elementwise.cpp
  math/f16_operands.cpp
  math/pointwise.cpp
  math/program.cpp
  math/promote.cpp
  math/reduce_lower.cpp
  math/sizes.cpp
  nn/masked_rows.cpp
)

if(RILL_TESTS AND NOT RILL_OPS)
  rill_library(rill_ops_testing SOURCES math/test_support.cpp DEPENDS rill_ops rill_nnef rill_pulse)
  target_link_libraries(rill_ops_testing PUBLIC GTest::gtest)
  set(tests
    array/axis_ops_test.cpp
    array/broadcast_test.cpp
    array/cast_test.cpp
    array/concat_test.cpp
    array/gather_test.cpp
    array/pad_test.cpp
    array/range_test.cpp
    array/nearest_upsample_test.cpp
    array/reshape_test.cpp
    array/slice_test.cpp
    array/trilu_test.cpp
    math/any_input_test.cpp
    math/binary_groups_test.cpp
    math/binary_test.cpp
    math/cumsum_test.cpp
    math/known_answers_test.cpp
    math/pointwise_test.cpp
    math/reduce_test.cpp
    math/select_test.cpp
    math/unary_test.cpp
    nn/blocks_test.cpp
    nn/f16_product_test.cpp
    nn/few_bits_test.cpp
    quant/byte_product_test.cpp
    quant/byte_table_test.cpp
    nn/dialect_errors_test.cpp
    nn/sdpa_test.cpp
    onnx/random_test.cpp
    transformers/kv_cache_test.cpp
    nn/softmax_test.cpp
    vision/grid_sample_test.cpp
    nn/masked_rows_test.cpp
  )
  rill_test(ops_array_test SOURCES ${tests} DEPENDS rill_ops_testing LABELS ops)
  # Ops derive from a class without type information.
  set_source_files_properties(${tests} PROPERTIES COMPILE_OPTIONS -fno-rtti)
endif()
