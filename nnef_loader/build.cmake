rill_library(rill_nnef
  SOURCES
    build/builder.cpp
    build/call.cpp
    build/eval.cpp
    build/load.cpp
    build/names.cpp
    build/op_index.cpp
    build/properties.cpp
    build/resources.cpp
    build/sources.cpp
    build/stack.cpp
    build/statements.cpp
    build/stdlib.cpp
    build/values.cpp
  DEPENDS rill_core rill_nnef_files)

rill_test(rill_nnef_test
  SOURCES
    build/builder_test.cpp
    build/test_ops.cpp
  DEPENDS rill_nnef)

# Ops derive from a class without type information.
set_source_files_properties(build/test_ops.cpp PROPERTIES COMPILE_OPTIONS -fno-rtti)
