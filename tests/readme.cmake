# Compile the first C++ snippets of README.md and docs/sessions.md like an app's code, and run them.

foreach(piece IN ITEMS streamer:README.md session:docs/sessions.md)
  string(REGEX REPLACE "^(.*):(.*)$" "\\1;\\2" piece "${piece}")
  list(GET piece 0 name)
  list(GET piece 1 page)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${page}")
  file(READ "${PROJECT_SOURCE_DIR}/${page}" text)
  string(FIND "${text}" "```cpp\n" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "${page}: expected a piece of C++")
  endif()
  math(EXPR at "${at} + 7")
  string(SUBSTRING "${text}" ${at} -1 text)
  string(FIND "${text}" "```" end)
  string(SUBSTRING "${text}" 0 ${end} code)
  # The test includes the headers at its top.
  string(REGEX REPLACE "#include[^\n]*\n" "" code "${code}")
  file(CONFIGURE OUTPUT "generated/readme/${name}.inc" CONTENT "${code}" @ONLY)
endforeach()

add_executable(readme_test readme_test.cpp)
set_target_properties(readme_test PROPERTIES CXX_STANDARD 17 CXX_EXTENSIONS OFF)
target_compile_options(readme_test PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Werror)
rill_define_source_dir(readme_test.cpp)
target_include_directories(readme_test PRIVATE "${CMAKE_CURRENT_BINARY_DIR}/generated")
target_link_libraries(readme_test PRIVATE rill::rill GTest::gtest_main)
if(RILL_SANITIZE)
  target_link_options(readme_test PRIVATE -fsanitize=${RILL_SANITIZE})
endif()
add_test(NAME readme_test COMMAND readme_test)
set_tests_properties(readme_test PROPERTIES LABELS examples)

# The commands of README.md and docs/ run as printed.
if(TARGET rill_program AND RILL_ONNX)
  add_test(NAME page_commands
           COMMAND Python3::Interpreter -B "${CMAKE_CURRENT_LIST_DIR}/pages/commands.py"
                   "${PROJECT_SOURCE_DIR}" "$<TARGET_FILE:rill_program>")
  set_tests_properties(page_commands PROPERTIES LABELS examples)
endif()
