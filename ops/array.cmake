# Rooms on arrays and on elements, and softmax.

rill_op(array/axis_ops)
rill_op(array/broadcast)
rill_op(array/cast)
rill_op(array/concat)
rill_op(array/gather)
rill_op(array/one_hot)
rill_op(array/pad)
rill_op(array/range)
rill_op(array/reshape)
rill_op(array/scatter)
rill_op(array/slice)
rill_op(array/topk)
rill_op(array/trilu)
rill_op(math/binary)
rill_op(math/cumsum)
rill_op(math/reduce)
rill_op(math/select)
rill_op(math/unary)
rill_op(nn/softmax)

# What several rooms share.
target_sources(rill_ops PRIVATE
  array/common.cpp
  array/extend_stream.cpp
  array/groups.cpp
  array/indices.cpp
  math/dims.cpp
  math/fuse_elementwise.cpp
  math/pointwise.cpp
  math/program.cpp
  math/promote.cpp
  math/reduce_lower.cpp
)

if(RILL_TESTS)
  rill_library(rill_ops_testing SOURCES math/test_support.cpp DEPENDS rill_ops rill_nnef rill_pulse)
  target_link_libraries(rill_ops_testing PUBLIC GTest::gtest)
  rill_test(ops_array_test
    SOURCES
      math/known_answers_test.cpp
    DEPENDS rill_ops_testing
    LABELS ops)
endif()
