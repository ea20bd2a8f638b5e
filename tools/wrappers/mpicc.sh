#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# mpicc, mpicxx (also mpic++): calls the compiler with what MPI programs need. Installed under each of those names.
# Always holds: the prefix is found from this file's own place, so an installation may be moved.
set -eu
self=$0
while [ -L "$self" ]; do
    link=$(readlink "$self")
    case $link in /*) self=$link ;; *) self=$(dirname "$self")/$link ;; esac
done
prefix=$(cd "$(dirname "$self")/.." && pwd)
name=$(basename "$0")
case $name in
    mpicxx | mpic++ | mpiCC) compiler=${UNISONO_CXX:-${MPICXX_CXX:-${MPICH_CXX:-${OMPI_CXX:-c++}}}} ;;
    *) compiler=${UNISONO_CC:-${MPICC_CC:-${MPICH_CC:-${OMPI_CC:-cc}}}} ;;
esac
include=$prefix/include
lib=$prefix/lib

usage() {
    cat <<TEXT
$name: compile and link MPI programs with Unisono. All other options go to the compiler.
  -show, -showme        print the command instead of running it
  -compile_info, -link_info           the command for compiling, for linking
  -showme:compile, -showme:link       the flags alone
  -showme:incdirs, -showme:libdirs, -showme:libs, -showme:command, -showme:version
  -cc=PROGRAM, -cxx=PROGRAM           use another compiler (or UNISONO_CC, UNISONO_CXX in the environment)
The compiler is $compiler, the prefix $prefix. Manual: man $name.
TEXT
}

# One argument as the shell reads it back. Quotes follow the option letter, where CMake's FindMPI looks for them.
quote() {
    case $1 in
        '' | *[!A-Za-z0-9_./:=,+@%-]*) ;;
        *) printf %s "$1"; return ;;
    esac
    case $1 in
        -I* | -L*) rest=${1#-?} ;;
        -Wl,*) rest=${1#-Wl,} ;;
        *) rest=$1 ;;
    esac
    printf '%s"%s"' "${1%"$rest"}" "$(printf %s "$rest" | sed 's/[\\"$`]/\\&/g')"
}

show() {
    gap=
    for word in "$@"; do printf %s "$gap"; quote "$word"; gap=' '; done
    printf '\n'
}

mode=run link=yes inputs=no
for arg in "$@"; do
    case $arg in
        -show | --show | -showme | --showme | -show:* ) mode=show ;;
        -showme:* | --showme:*) mode=${arg#*:} ;;
        -compile_info | -compile-info) mode=compile_info ;;
        -link_info | -link-info) mode=link_info ;;
        -cc=* | -cxx=*) compiler=${arg#*=} ;;
        -help | --help-mpi) usage; exit 0 ;;
        -c | -S | -E | -M | -MM | -fsyntax-only) link=no; inputs=yes ;;
        -*) ;;
        *) inputs=yes ;;
    esac
done
# What is for us leaves the argument list.
count=$#
while [ "$count" -gt 0 ]; do
    arg=$1
    shift
    count=$((count - 1))
    case $arg in
        -show | --show | -showme | --showme | -show:* | -showme:* | --showme:*) ;;
        -compile_info | -compile-info | -link_info | -link-info | -cc=* | -cxx=*) ;;
        *) set -- "$@" "$arg" ;;
    esac
done

case $mode in
    compile) show "-I$include"; exit 0 ;;
    link) show "-L$lib" "-Wl,-rpath,$lib" "-Wl,--enable-new-dtags" -lmpi_abi; exit 0 ;;
    incdirs) show "$include"; exit 0 ;;
    libdirs) show "$lib"; exit 0 ;;
    libs) echo mpi_abi; exit 0 ;;
    command) echo "$compiler"; exit 0 ;;
    version) echo "$name: Unisono @VERSION@ (MPI 5.0)"; exit 0 ;;
    run | show | compile_info | link_info) ;;
    *)
        echo "$name: -showme:$mode is unknown; one of command, compile, link, incdirs, libdirs, libs, version" >&2
        exit 2
        ;;
esac
[ "$mode" != compile_info ] || link=no
[ "$inputs" = yes ] || [ "$mode" != run ] || link=no
[ "$mode" != link_info ] || link=yes
[ "$link" = no ] || set -- "$@" "-L$lib" "-Wl,-rpath,$lib" -Wl,--enable-new-dtags -lmpi_abi
set -- "-I$include" "$@"
# The compiler may be several words (`ccache gcc`).
if [ "$mode" = run ]; then exec $compiler "$@"; fi
# shellcheck disable=SC2086
show $compiler "$@"
