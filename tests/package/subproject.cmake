# Build rill as a part of another project with difficult settings, and run the result.
#   cmake [-DSCRATCH=FOLDER] [-DJOBS=N] -P tests/package/subproject.cmake
# This compiles all of rill, which takes minutes.

include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")
get_filename_component(RILL "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
set(EXAMPLES "${RILL}/examples")
set(MODELS "${RILL}/tests/models")
if(NOT SCRATCH)
  set(SCRATCH "${RILL}/build/subproject")
endif()
if(NOT JOBS)
  cmake_host_system_information(RESULT JOBS QUERY NUMBER_OF_LOGICAL_CORES)
endif()
find_program(NM nm REQUIRED)

file(REMOVE_RECURSE "${SCRATCH}")
run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/subproject" -B "${SCRATCH}/build" -G Ninja
    "-DRILL=${RILL}" "-DEXAMPLES=${EXAMPLES}" -DRILL_TIERS=scalar)
run("${CMAKE_COMMAND}" --build "${SCRATCH}/build" -j ${JOBS})
check_plugin("${SCRATCH}/build" "${SCRATCH}/build/programs")

# The outer project installs and tests only its own targets.
run("${CMAKE_COMMAND}" --install "${SCRATCH}/build" --prefix "${SCRATCH}/installed")
file(GLOB_RECURSE installed RELATIVE "${SCRATCH}/installed" "${SCRATCH}/installed/*")
if(NOT installed STREQUAL "bin/host")
  message(FATAL_ERROR "expected bin/host alone to be installed, found ${installed}")
endif()
get_filename_component(tools "${CMAKE_COMMAND}" DIRECTORY)
execute_process(COMMAND "${tools}/ctest" --test-dir "${SCRATCH}/build" -N OUTPUT_VARIABLE tests)
if(NOT tests MATCHES "Total Tests: 0")
  message(FATAL_ERROR "expected no tests of rill, found\n${tests}")
endif()
file(GLOB programs RELATIVE "${SCRATCH}/build/programs" "${SCRATCH}/build/programs/*")
if(NOT programs STREQUAL "host")
  message(FATAL_ERROR "expected the program host alone, found ${programs}")
endif()
