rill_library(rill_nnef SMALL
  SOURCES
    build/builder.cpp
    build/call.cpp
    build/eval.cpp
    build/eval_tall.cpp
    build/fields.cpp
    build/literals.cpp
    build/load.cpp
    build/names.cpp
    build/nested.cpp
    build/submodel.cpp
    build/node_writer.cpp
    build/op_index.cpp
    build/patch.cpp
    build/properties.cpp
    build/property_list.cpp
    build/real_sizes.cpp
    build/resources.cpp
    build/save.cpp
    build/sources.cpp
    build/stack.cpp
    build/statements.cpp
    build/stdlib.cpp
    build/streaming.cpp
    build/taken.cpp
    build/values.cpp
    build/whole_call.cpp
    build/writer.cpp
  DEPENDS rill_core rill_nnef_files)
# Nested models, and texts next to the graph: a module of the loader itself.
if(RILL_OPS AND NOT nested IN_LIST RILL_OPS)
  target_compile_definitions(rill_nnef PRIVATE RILL_WITHOUT_NESTED)
endif()
set_source_files_properties(build/save.cpp PROPERTIES
  COMPILE_DEFINITIONS "RILL_VERSION=\"${PROJECT_VERSION}\"")

rill_test(rill_nnef_test
  SOURCES
    build/builder_test.cpp
    build/limits_test.cpp
    build/nested_test.cpp
    build/resources_test.cpp
    build/streaming_test.cpp
    build/test_documents.cpp
    build/test_ops.cpp
    build/writer_test.cpp
  DEPENDS rill_nnef)

# Ops derive from a class without type information.
set_source_files_properties(build/test_ops.cpp PROPERTIES COMPILE_OPTIONS -fno-rtti)

if(TARGET rill_ops)
  rill_test(rill_nnef_models_test
    SOURCES build/models_test.cpp
    DEPENDS rill_nnef rill_ops)
endif()
