#!/bin/bash
# Unpacks Debian's packages of LLVM's offload runtimes side by side, without installing them (the packages
# conflict with each other). What is there already is not fetched again.
# Usage: fetch-llvm.sh VERSION...        e.g. fetch-llvm.sh 15 16 19 22
# Prints one line for each: VERSION FOLDER-OF-libomptarget.so
# They go to $REX_LLVM_CACHE, default ~/.cache/rex/llvm.
set -euo pipefail
cache=${REX_LLVM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rex/llvm}

# Libraries that the runtimes need and a small machine may lack.
common="libelf1 libffi8 libedit2 libxml2 libtinfo6 libbsd0 libmd0 libzstd1 libicu72 libz3-4"

for version; do
  root=$cache/$version
  if [ ! -e "$root/complete" ]; then
    case $version in
      22) packages="liboffload-22 libomp-22-dev libllvm22 libomp5-19" ;; # LLVM 22 brings no libomp of its own
      *) packages="libomp-$version-dev libomp5-$version libllvm$version" ;;
    esac
    rm -rf "$root" && mkdir -p "$root/packages" && cd "$root/packages"
    # shellcheck disable=SC2086 # lists of packages
    apt-get -qq -o APT::Sandbox::User=root download $packages $common >&2
    for package in *.deb; do dpkg -x "$package" "$root"; done
    cd / && rm -rf "$root/packages"
    # One folder has it all, so that one -L and one -rpath do.
    for library in "$root"/usr/lib/x86_64-linux-gnu/*.so* "$root"/lib/x86_64-linux-gnu/*.so*; do
      link=$root/usr/lib/llvm-$version/lib/${library##*/}
      [ ! -e "$library" ] || [ -e "$link" ] || ln -s "$library" "$link"
    done
    cd "$root/usr/lib/llvm-$version/lib"
    [ -e libomp.so ] || ln -s libomp.so.5 libomp.so
    [ -e libomptarget.so ] || ln -s libomptarget.so.*.* libomptarget.so
    touch "$root/complete"
  fi
  echo "$version $root/usr/lib/llvm-$version/lib"
done
