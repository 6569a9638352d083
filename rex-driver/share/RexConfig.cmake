# OpenMP offloading through rex for chosen targets; the compiler stays what it is.
#
#   find_package(Rex REQUIRED)
#   rex_target(<target>... [DEVICE host|nvptx] [ARCH sm_90] [OPTIONS <flag>...])
#
# Call rex_target for every target with device code, and for every program and shared library that links a
# static library with device code. OPTIONS are flags that rex-driver cc understands.
#
# Variables: Rex_DRIVER, Rex_CC, Rex_CXX (the programs), Rex_RUNTIME_DIR (the helper files' sources).

include_guard(GLOBAL)

get_filename_component(Rex_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(Rex_DRIVER "${Rex_PREFIX}/bin/rex-driver")
set(Rex_CC "${Rex_PREFIX}/bin/rexcc")
set(Rex_CXX "${Rex_PREFIX}/bin/rexc++")
set(Rex_RUNTIME_DIR "${Rex_PREFIX}/share/rex/runtime")

if(CMAKE_VERSION VERSION_LESS 3.21)
  set(Rex_FOUND FALSE)
  set(Rex_NOT_FOUND_MESSAGE "rex_target needs CMake 3.21 or later; the toolchain file RexToolchain.cmake does not")
  return()
endif()

function(rex_target)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "DEVICE;ARCH" "OPTIONS")
  set(words -fopenmp)
  if(arg_DEVICE)
    list(APPEND words "--rex-device=${arg_DEVICE}")
  endif()
  if(arg_ARCH)
    list(APPEND words "--offload-arch=${arg_ARCH}")
  endif()
  list(APPEND words ${arg_OPTIONS})
  if(NOT arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "rex_target: no target is named")
  endif()
  foreach(target IN LISTS arg_UNPARSED_ARGUMENTS)
    if(NOT TARGET "${target}")
      message(FATAL_ERROR "rex_target: ${target} is not a target")
    endif()
    foreach(language IN ITEMS C CXX)
      set_property(TARGET "${target}" APPEND PROPERTY ${language}_COMPILER_LAUNCHER "${Rex_DRIVER}" launch)
      set_property(TARGET "${target}" APPEND PROPERTY ${language}_LINKER_LAUNCHER "${Rex_DRIVER}" launch)
      target_compile_options("${target}" PRIVATE "$<$<COMPILE_LANGUAGE:${language}>:${words}>")
    endforeach()
    target_link_options("${target}" PRIVATE ${words})
  endforeach()
endfunction()
