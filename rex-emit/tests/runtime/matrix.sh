#!/bin/bash
# The helper files with every offload runtime and every host compiler: builds the programs of this folder
# without a warning, runs them on LLVM's host device, and writes the table of docs/abi.md.
# Usage: matrix.sh [VERSION...]        default: 15 16 19 22, fetched by fetch-llvm.sh
# Ends with 1 when something failed; each failure's output is in the folder that is printed.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
runtime=$here/../../runtime
document=$here/../../../docs/abi.md
[ $# -gt 0 ] || set -- 15 16 19 22
work=$(mktemp -d)
failed=0

# C compiler, C++ compiler, language of the host file.
toolchains=("gcc g++ c" "gcc g++ c++" "clang-19 clang++-19 c" "clang-19 clang++-19 c++")

# Runs a step in the folder of a combination; its output is kept.
step() { "$@" >>log 2>&1; }

flags() { echo "-O1 -fPIC -Wall -Wextra -Werror -DREX_LLVM_ABI=$version -I$runtime -I$here"; }
image() { # NAME SOURCE FLAGS...
  local unique=
  [ "$cxx" = g++ ] && unique=-fno-gnu-unique
  # shellcheck disable=SC2046,SC2086 # lists of flags
  step $cxx -x c++ -std=c++17 -shared $unique -DREX_DEVICE_HOST "-DREX_DEVICE_SOURCE=\"$2\"" $(flags) "${@:3}" \
    "$runtime/rex_nvidia.cu" -Wl,-Bsymbolic -o "$1"
}
register() { # OBJECT FLAGS...
  # shellcheck disable=SC2046
  step $cxx -std=c++17 $(flags) "${@:2}" -c "$runtime/register_cubin.cpp" -o "$1"
}
link() { # PROGRAM OBJECTS-AND-FLAGS...
  step $cxx "${@:2}" -Wl,--no-as-needed "-L$libraries" "-Wl,-rpath-link,$libraries" -lomptarget -lomp -lm -ldl -pthread -o "$1"
}
program() { # NAME LANGUAGE REGISTRATION FLAGS...
  local compiler=$cc standard=c99 source=$here/$1.c
  [ "$2" = c++ ] && compiler=$cxx standard=c++17
  [ -e "$source" ] || source=$here/$1.cpp
  # shellcheck disable=SC2046
  step "$compiler" -x "$2" "-std=$standard" -D_GNU_SOURCE $(flags) "${@:4}" -c "$source" -o "$1.o" && link "$1" "$1.o" "$3"
}
passes() { # PROGRAM ARGUMENTS...
  LD_LIBRARY_PATH=$libraries OMP_TARGET_OFFLOAD=${policy-MANDATORY} timeout 120 "./$1" "${@:2}" >out 2>>log && grep -q PASS out
}

call_shapes() {
  register register.o && image rex_lib_nvidia.cubin kernels.cu && program kernels "$language" register.o && passes kernels
}
life_cycle() {
  register register.o && image rex_lib_nvidia.cubin probe.cu &&
    program lifecycle c register.o && policy=DEFAULT passes lifecycle &&
    program early c++ register.o && passes early &&
    program threads c++ register.o && passes threads
}
library() { # NAME STEP
  image "$1.cubin" probe.cu "-DSTEP=$2" && register "$1-register.o" "-DREX_EMBED_IMAGE=\"$PWD/$1.cubin\"" &&
    step "$cc" $(flags) -c "$here/library.c" -o "$1.o" && link "lib$1.so" -shared "$1.o" "$1-register.o"
}
libraries() {
  register register.o && image rex_lib_nvidia.cubin probe.cu && library tens 10 && library hundreds 100 &&
    program libraries c register.o && policy=DEFAULT passes libraries "$PWD/libtens.so" "$PWD/libhundreds.so"
}

# Runs a check in a folder of its own and prints its cell of the table.
cell() { # CHECK
  local folder=$work/$version-$cc-$language-$1
  mkdir -p "$folder"
  if (cd "$folder" && "$1"); then
    echo -n " yes |"
  else
    echo -n " **no** |"
    echo "failed: $folder/log" >&2
    return 1
  fi
}

{
  echo "| LLVM | gcc, C99 | g++, C++17 | clang 19, C99 | clang 19, C++17 | life cycle, threads | three images |"
  echo "|---|---|---|---|---|---|---|"
} >"$work/table"
while read -r version libraries; do
  row="| $version |"
  for toolchain in "${toolchains[@]}"; do
    read -r cc cxx language <<<"$toolchain"
    text=$(cell call_shapes) || failed=1
    row+=$text
  done
  cc=gcc cxx=g++ language=c
  for check in life_cycle libraries; do
    text=$(cell "$check") || failed=1
    row+=$text
  done
  echo "$row" | tee -a "$work/table"
done < <("$here/fetch-llvm.sh" "$@")

if [ -e "$document" ]; then
  awk -v table="$work/table" '
    /<!-- matrix -->/ { print; print ""; while ((getline line < table) > 0) print line; print ""; skip = 1; next }
    /<!-- end of matrix -->/ { skip = 0 }
    !skip { print }' "$document" >"$work/document" && cp "$work/document" "$document"
fi
[ $failed = 1 ] || rm -rf "$work"
exit $failed
