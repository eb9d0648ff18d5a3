# librill.a: all of rill in one archive; librill_run.a: the part that opens and runs compiled models.

# rill_parts(<target> <variable>): the static libraries of rill that a target is made of.
function(rill_parts target variable)
  set(found "")
  set(left ${target})
  while(left)
    list(POP_FRONT left next)
    if(next IN_LIST found)
      continue()
    endif()
    list(APPEND found ${next})
    get_target_property(needed ${next} LINK_LIBRARIES)
    foreach(name IN LISTS needed)
      if(name MATCHES "^rill_" AND NOT name STREQUAL "rill_flags")
        list(APPEND left ${name})
      endif()
    endforeach()
  endwhile()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

# Libraries that apps must link too.
set(rill_needs $<LINK_ONLY:Threads::Threads>)
set(RILL_NEEDS_PACKAGE "")
if(RILL_RUN_ONLY)
  # Compiled models need no reader of archives.
elseif(RILL_ARCHIVE STREQUAL zlib)
  list(APPEND rill_needs $<LINK_ONLY:ZLIB::ZLIB>)
  set(RILL_NEEDS_PACKAGE ZLIB)
elseif(RILL_ARCHIVE STREQUAL libarchive)
  list(APPEND rill_needs $<LINK_ONLY:LibArchive::LibArchive>)
  set(RILL_NEEDS_PACKAGE LibArchive)
endif()

if(RILL_NEEDS_PACKAGE)
  find_package(${RILL_NEEDS_PACKAGE} REQUIRED)
endif()
find_package(Threads REQUIRED)

include(CheckLinkerFlag)
# Templates of the standard library are visible from outside, whatever the compiler options.
check_linker_flag(CXX LINKER:--exclude-libs=librill.a RILL_LINKER_HIDES_ARCHIVES)

# rill_archive(<in the tree> <root> <installed> <file> [<needs> ...]): put the libraries that <root> is made
# of into one archive, and hide their symbols in apps that link the target of the tree.
function(rill_archive in_tree root installed file)
  rill_parts(${root} parts)
  set(objects "")
  set(archives "")
  foreach(part IN LISTS parts)
    list(APPEND objects $<TARGET_OBJECTS:${part}>)
    list(APPEND archives $<TARGET_FILE_NAME:${part}>)
  endforeach()
  if(RILL_LINKER_HIDES_ARCHIVES)
    # One by one, because mold 1.10 hangs on lists.
    list(TRANSFORM archives PREPEND LINKER:--exclude-libs=)
    target_link_options(${in_tree} INTERFACE ${archives})
  endif()
  if(NOT RILL_INSTALL)
    return()
  endif()
  add_library(${installed} STATIC ${objects})
  set_target_properties(${installed} PROPERTIES OUTPUT_NAME ${file} LINKER_LANGUAGE CXX)
  target_include_directories(${installed} INTERFACE
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_definitions(${installed} INTERFACE RILL_STATIC)
  target_link_libraries(${installed} INTERFACE ${ARGN})
  if(RILL_LINKER_HIDES_ARCHIVES)
    target_link_options(${installed} INTERFACE LINKER:--exclude-libs=lib${file}.a)
  endif()
endfunction()

include(GNUInstallDirs)
if(NOT RILL_RUN_ONLY)
  rill_archive(rill rill_api rill_static rill ${rill_needs})
endif()
if(TARGET rill_static)
  add_library(rill::rill_static ALIAS rill_static)
endif()
if(RILL_PLAN_FILES)
  rill_archive(rill_run rill_api_alone rill_run_static rill_run $<LINK_ONLY:Threads::Threads>)
endif()
