# Tests that need the whole library.

rill_library(rill_test_runs SOURCES support/array.cpp support/models.cpp support/runs.cpp)
target_link_libraries(rill_test_runs PUBLIC rill)
rill_define_source_dir(support/models.cpp)
rill_library(rill_test_bundles SOURCES support/bundle.cpp DEPENDS rill_test_runs rill_npz)

set(whole_library last_error late_ends models session_calls session_states sessions streams threads verify)
if(RILL_EXCEPTIONS)
  list(APPEND whole_library faults)  # expects refused memory requests
endif()
foreach(name IN LISTS whole_library)
  rill_test(${name}_test SOURCES ${name}_test.cpp DEPENDS rill_test_bundles LABELS models)
endforeach()
rill_test(shapes_test SOURCES ${PROJECT_SOURCE_DIR}/api/src/hints_test.cpp
                               ${PROJECT_SOURCE_DIR}/api/src/shapes_test.cpp
          DEPENDS rill_test_bundles LABELS models)
rill_test(stacks_test SOURCES stacks_test.cpp support/grown.cpp support/small_stack.cpp
          DEPENDS rill_test_runs LABELS models)
rill_test(growth_test
          SOURCES growth_test.cpp support/grown.cpp support/heap_calls.cpp support/small_stack.cpp
          DEPENDS rill_test_runs LABELS models)
rill_test(moves_test SOURCES moves_test.cpp DEPENDS rill_test_bundles rill_property rill_nnef
          rill_ops LABELS models)
rill_test(parts_test SOURCES parts_test.cpp DEPENDS rill_test_bundles rill_property rill_nnef rill_ops
          LABELS models)
rill_test(session_fuzz_test
          SOURCES session_fuzz/session_fuzz_test.cpp session_fuzz/layout.cpp session_fuzz/subject.cpp
                  session_fuzz/wander.cpp session_fuzz/wander_streams.cpp
          DEPENDS rill_test_bundles rill_property rill_nnef rill_ops LABELS models)
# They interpose on malloc, so each is a separate program.
foreach(name realtime soak memory progress)
  rill_test(${name}_test SOURCES ${name}_test.cpp support/heap_calls.cpp DEPENDS rill_test_bundles
            LABELS models)
endforeach()
rill_define_source_dir(progress_test.cpp)
if(RILL_PLAN_FILES)
  rill_test(compile_test SOURCES compile_test.cpp DEPENDS rill_test_bundles LABELS models)
  rill_test(index_inputs_test SOURCES index_inputs_test.cpp DEPENDS rill_test_runs LABELS models)
  rill_test(computed_indices_test SOURCES computed_indices_test.cpp DEPENDS rill_test_runs
            LABELS models)
endif()
rill_test(refusals_test SOURCES refusals_test.cpp support/heap_calls.cpp
          DEPENDS rill_test_bundles rill_plan_files_testing LABELS models)
if(RILL_ONNX)
  rill_test(sequence_lengths_test
            SOURCES sequence_lengths_test.cpp ${PROJECT_SOURCE_DIR}/onnx_loader/test_file.cpp
            DEPENDS rill_test_runs LABELS models)
  rill_test(onnx_small_memory_test
            SOURCES onnx_small_memory_test.cpp ${PROJECT_SOURCE_DIR}/onnx_loader/test_file.cpp
                    support/heap_calls.cpp support/small_stack.cpp
            DEPENDS rill_test_runs LABELS models)
endif()
rill_test(surroundings_test SOURCES surroundings_test.cpp support/heap_calls.cpp
          DEPENDS rill_test_bundles LABELS models)
if(TARGET surroundings_test)
  add_dependencies(surroundings_test rill_shared)
  target_compile_definitions(surroundings_test
                             PRIVATE RILL_SHARED_LIBRARY="$<TARGET_FILE:rill_shared>")
  target_link_libraries(surroundings_test PRIVATE ${CMAKE_DL_LIBS})
endif()
rill_test(audio_test SOURCES audio/audio_c_test.cpp audio/audio_reference_test.cpp audio/audio_test.cpp
                             audio/resampler_test.cpp
          DEPENDS rill_test_bundles rill_audio LABELS models)
rill_test(audio_worker_test
          SOURCES audio/audio_worker_test.cpp support/heap_calls.cpp support/lock_calls.cpp
          DEPENDS rill_test_bundles rill_audio LABELS models)
rill_test(audio_realtime_test
          SOURCES audio/audio_realtime_test.cpp support/heap_calls.cpp support/lock_calls.cpp
                  support/system_calls.cpp
          DEPENDS rill_test_bundles LABELS models)
rill_test(placed_sessions_test SOURCES placed_sessions_test.cpp support/heap_calls.cpp
          DEPENDS rill_test_bundles LABELS models)
# 100 000 steps of every model: half a minute for each of the largest.
rill_test(realtime_steps_test
          SOURCES realtime_steps_test.cpp support/heap_calls.cpp support/lock_calls.cpp
                  support/system_calls.cpp
          DEPENDS rill_test_bundles LABELS models slow)
if(TARGET realtime_steps_test)
  set_tests_properties(realtime_steps_test PROPERTIES TIMEOUT 3600)
endif()

# The misuse test and the C example are C99, and are linked like an app in C.
add_executable(api_misuse_test api_misuse_test.c)
set_target_properties(api_misuse_test PROPERTIES C_STANDARD 99 LINKER_LANGUAGE CXX)
target_link_libraries(api_misuse_test PRIVATE rill rill_flags)
add_test(NAME api_misuse_test COMMAND api_misuse_test "${models}" "${CMAKE_CURRENT_BINARY_DIR}")

# Run from flash, without a heap, under an emulator. Skipped without the emulator or the compiler.
if(TARGET rill_program AND NOT CMAKE_CROSSCOMPILING)
  foreach(board mps2-an500 mps3-an547)
    add_test(NAME mcu_${board}
             COMMAND Python3::Interpreter -B "${PROJECT_SOURCE_DIR}/examples/mcu/run.py"
                     "$<TARGET_FILE:rill_program>" --board ${board})
    set_tests_properties(mcu_${board} PROPERTIES LABELS models SKIP_RETURN_CODE 77 TIMEOUT 900)
  endforeach()
endif()

# Size limits of the run library, built for small programs, for this machine, and for aarch64 if the compiler
# is installed.
if(TARGET rill_program AND NOT CMAKE_CROSSCOMPILING AND NOT RILL_SANITIZE
   AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  add_test(NAME run_sizes
           COMMAND Python3::Interpreter -B "${PROJECT_SOURCE_DIR}/scripts/run_sizes.py"
                   "$<TARGET_FILE:rill_program>")
  set_tests_properties(run_sizes PROPERTIES LABELS size TIMEOUT 900)
endif()

# The ABI that existing programs rely on.
if(CMAKE_SIZEOF_VOID_P EQUAL 8 AND NOT CMAKE_CROSSCOMPILING)
  add_test(NAME abi
           COMMAND Python3::Interpreter -B "${CMAKE_CURRENT_SOURCE_DIR}/abi/check.py"
                   "${PROJECT_SOURCE_DIR}" "${CMAKE_C_COMPILER}")
  set_tests_properties(abi PROPERTIES LABELS lint)
endif()

# Random calls of the shared library compared with NumPy, with memory refused; skipped if Python has
# no NumPy.
if(TARGET rill_shared AND RILL_EXCEPTIONS AND CMAKE_SYSTEM_NAME STREQUAL Linux AND NOT RILL_SANITIZE)
  add_library(rill_refuse SHARED session_oracle/refuse.cpp)
  target_link_libraries(rill_refuse PRIVATE rill_flags ${CMAKE_DL_LIBS})
  add_test(NAME session_oracle
           COMMAND ${CMAKE_COMMAND} -E env "LD_PRELOAD=$<TARGET_FILE:rill_refuse>"
                   "${Python3_EXECUTABLE}" -B "${CMAKE_CURRENT_SOURCE_DIR}/session_oracle/oracle.py"
                   "${PROJECT_SOURCE_DIR}" "$<TARGET_FILE:rill_shared>"
                   "$<TARGET_FILE:rill_refuse>")
  set_tests_properties(session_oracle PROPERTIES LABELS models SKIP_RETURN_CODE 77)
endif()

add_subdirectory("${PROJECT_SOURCE_DIR}/examples" examples)
if(TARGET rill_program)
  include(cases/cases.cmake)
  # Exports by the current exporter; skipped where Python has no torch_to_nnef.
  add_test(NAME exporter
           COMMAND Python3::Interpreter -B "${CMAKE_CURRENT_SOURCE_DIR}/exporter/check_io.py"
                   "$<TARGET_FILE:rill_tract_program>")
  # Hostile names through every command, and in pages and pictures.
  add_test(NAME hostile_names
           COMMAND Python3::Interpreter -B "${CMAKE_CURRENT_SOURCE_DIR}/names/names.py"
                   "$<TARGET_FILE:rill_program>" "$<TARGET_FILE:rill_tract_program>")
  set_tests_properties(hostile_names PROPERTIES LABELS models TIMEOUT 900)
  # Compare commands on compiled models with those on their models.
  add_test(NAME compiled_commands
           COMMAND Python3::Interpreter -B "${CMAKE_CURRENT_SOURCE_DIR}/compiled/commands.py"
                   "$<TARGET_FILE:rill_program>" "${models}")
  set_tests_properties(compiled_commands PROPERTIES LABELS models TIMEOUT 300)
  # Each limit of the command line, on models and on compiled models.
  add_test(NAME limits_of_commands
           COMMAND Python3::Interpreter -B "${CMAKE_CURRENT_SOURCE_DIR}/limits/limits.py"
                   "$<TARGET_FILE:rill_program>" "${models}" "${CMAKE_CURRENT_SOURCE_DIR}/pages")
  set_tests_properties(limits_of_commands PROPERTIES LABELS models TIMEOUT 300)
  # Pages of profiles in a browser; skipped where there is none.
  add_test(NAME profile_page
           COMMAND Python3::Interpreter -B "${CMAKE_CURRENT_SOURCE_DIR}/profile/page.py"
                   "$<TARGET_FILE:rill_program>" "${models}")
  set_tests_properties(profile_page PROPERTIES LABELS peers SKIP_RETURN_CODE 77)
  # Written archives in the other engine; skipped where it is not installed.
  add_test(NAME tract_reads_written
           COMMAND Python3::Interpreter -B "${CMAKE_CURRENT_SOURCE_DIR}/tract/written.py"
                   "$<TARGET_FILE:rill_tract_program>" "${models}")
  # Small graphs that stream in both programs, and the results of each.
  add_test(NAME tract_defects
           COMMAND Python3::Interpreter -B "${CMAKE_CURRENT_SOURCE_DIR}/tract/defects.py"
                   "$<TARGET_FILE:rill_program>")
  set_tests_properties(exporter tract_reads_written tract_defects
                       PROPERTIES LABELS peers SKIP_RETURN_CODE 77 TIMEOUT 1800)
endif()

include(readme.cmake)
include(size/size.cmake)
if(RILL_ONNX)
  rill_size_test(size 4352)
else()
  rill_size_test(size 3072)
endif()

# Proves that steps do not block; skipped where there is no Clang 20.
add_test(NAME nonblocking
         COMMAND "${PROJECT_SOURCE_DIR}/scripts/check_nonblocking.sh")
set_tests_properties(nonblocking PROPERTIES LABELS peers SKIP_RETURN_CODE 77 TIMEOUT 1800)

# An app would need to be built with the sanitizers too.
if(NOT RILL_SANITIZE)
  set(app "-DGENERATOR=${CMAKE_GENERATOR}" "-DC_COMPILER=${CMAKE_C_COMPILER}"
      "-DCXX_COMPILER=${CMAKE_CXX_COMPILER}" "-DMODELS=${models}" "-DNM=${CMAKE_NM}"
      "-DEXAMPLES=${PROJECT_SOURCE_DIR}/examples")
  add_test(NAME package
           COMMAND "${CMAKE_COMMAND}" "-DBUILD=${PROJECT_BINARY_DIR}" "-DCONFIG=$<CONFIG>" ${app}
                   "-DSCRATCH=${CMAKE_CURRENT_BINARY_DIR}/package"
                   -P "${CMAKE_CURRENT_SOURCE_DIR}/package/check.cmake")
  set_tests_properties(package PROPERTIES LABELS examples TIMEOUT 1800)
endif()
include(field/field.cmake)
include(onnx/onnx.cmake)
