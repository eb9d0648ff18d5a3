# Apps with most compiler warnings on can include the public headers without a warning, even twice.

file(GLOB headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/api/include"
     "${PROJECT_SOURCE_DIR}/api/include/rill/*.h*")
set(sources)
foreach(header IN LISTS headers)
  set(code "#include \"${header}\"\n#include \"${header}\"\n")
  foreach(language c cpp)
    if(language STREQUAL "c" AND header MATCHES "hpp$")
      continue()
    endif()
    string(MAKE_C_IDENTIFIER "${header}" name)
    file(CONFIGURE OUTPUT "generated/headers/${name}.${language}" CONTENT "${code}" @ONLY)
    list(APPEND sources "${CMAKE_CURRENT_BINARY_DIR}/generated/headers/${name}.${language}")
  endforeach()
endforeach()

add_library(rill_headers OBJECT ${sources})
set_target_properties(rill_headers PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF CXX_STANDARD 17
                      CXX_EXTENSIONS OFF)
target_compile_options(rill_headers PRIVATE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wdouble-promotion
  -Wfloat-equal -Wcast-align -Wundef -Wformat=2 -Wswitch-enum
  $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast -Wnon-virtual-dtor -Woverloaded-virtual
  -Wmissing-declarations> -Werror)
target_include_directories(rill_headers PRIVATE "${PROJECT_SOURCE_DIR}/api/include")

find_program(RILL_CLANG NAMES clang clang-19 clang-16 clang-14)
mark_as_advanced(RILL_CLANG)
if(RILL_CLANG)
  add_test(NAME msvc_headers
           COMMAND Python3::Interpreter -B "${CMAKE_CURRENT_SOURCE_DIR}/package/msvc_headers.py" "${RILL_CLANG}"
                   "${PROJECT_SOURCE_DIR}/api/include")
  set_tests_properties(msvc_headers PROPERTIES LABELS examples)
endif()
