# Random graphs streamed by the shared library, with NumPy in place of the whole run, if NumPy is installed.

if(RILL_SANITIZE)  # an interpreter without the sanitizer cannot load the library
  return()
endif()
add_test(NAME oracle_streams
         COMMAND Python3::Interpreter -B "${CMAKE_CURRENT_LIST_DIR}/campaign.py"
                 "$<TARGET_FILE:rill_shared>" --seed 1 --graphs 60)
set_tests_properties(oracle_streams PROPERTIES LABELS property SKIP_RETURN_CODE 77 TIMEOUT 600)
