# Makes rex the C and C++ compiler of a whole project:
#
#   cmake -DCMAKE_TOOLCHAIN_FILE=<prefix>/lib/cmake/Rex/RexToolchain.cmake ..
#
# The host compiler is what CC and CXX name, else gcc.

get_filename_component(_rex_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(CMAKE_C_COMPILER "${_rex_prefix}/bin/rexcc")
set(CMAKE_CXX_COMPILER "${_rex_prefix}/bin/rexc++")
unset(_rex_prefix)
