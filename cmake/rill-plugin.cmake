# rill_plugin(<target> EXPORTS <function> ...)
# Create a module or shared library that hosts can load and unload, next to other plugins with other versions
# of rill. It exports only the named C functions, and no symbol that would keep it in memory. The package,
# FetchContent and add_subdirectory define this function.

# The file that lists exported functions for the linker of the platform.
function(_rill_export_list path before each_before each_after after)
  set(text "${before}")
  foreach(name IN LISTS ARGN)
    string(APPEND text "${each_before}${name}${each_after}\n")
  endforeach()
  file(CONFIGURE OUTPUT "${path}" CONTENT "${text}${after}" @ONLY)
endfunction()

function(rill_plugin target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "EXPORTS")
  get_target_property(type ${target} TYPE)
  if(NOT type MATCHES "^(MODULE|SHARED)_LIBRARY$")
    message(FATAL_ERROR "rill_plugin(${target}): expected a MODULE or SHARED library, found ${type}")
  endif()
  if(NOT ARG_EXPORTS OR ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "rill_plugin(${target}): expected EXPORTS and the names of functions, found \"${ARGN}\"")
  endif()
  set_target_properties(${target} PROPERTIES C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden
                        VISIBILITY_INLINES_HIDDEN ON)
  # The loader never unloads a library with unique symbols.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>)
  # Visibility flags do not cover templates of the standard library, but a linker list does.
  set(list "${CMAKE_CURRENT_BINARY_DIR}/${target}_exports")
  if(WIN32)
    _rill_export_list("${list}.def" "EXPORTS\n" "  " "" "" ${ARG_EXPORTS})
    target_sources(${target} PRIVATE "${list}.def")
    return()
  endif()
  if(APPLE)
    set(list "${list}.txt")
    _rill_export_list("${list}" "" "_" "" "" ${ARG_EXPORTS})
    target_link_options(${target} PRIVATE "LINKER:-exported_symbols_list,${list}")
  else()
    set(list "${list}.map")
    _rill_export_list("${list}" "{\n  global:\n" "    " ";" "  local: *;\n};\n" ${ARG_EXPORTS})
    target_link_options(${target} PRIVATE "LINKER:--version-script=${list}")
  endif()
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${list}")
endfunction()
