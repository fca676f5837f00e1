# SPDX-License-Identifier: MIT
# GPUMAP_CUDA: the CUDA Toolkit, --with-cuda=auto|yes|no|DIR.
# auto uses it when it works; yes and DIR make it an error when it does not.
# The order is DIR, then NVCC=, then $PATH, then /usr/local/cuda.
#
# Sets have_cuda (yes|no), cuda_why_not, and for make: NVCC, CUDA_ARCH, CUDA_ROOT,
# CUDA_CPPFLAGS, CUDA_LDFLAGS, CUDA_LIBS, HAVE_CUDA. The runtime is linked statically, so that
# what we install runs on a machine without any NVIDIA library.
AC_DEFUN([GPUMAP_CUDA], [
  AC_ARG_WITH([cuda],
    [AS_HELP_STRING([--with-cuda=auto|yes|no|DIR], [CUDA Toolkit @<:@auto@:>@])],
    [], [with_cuda=auto])
  AC_ARG_VAR([NVCC], [CUDA compiler command])
  AC_ARG_VAR([CUDA_ARCH], [GPU architectures, as nvcc -arch takes them @<:@all-major@:>@])
  AC_ARG_VAR([NVCCFLAGS], [CUDA compiler flags @<:@-O2@:>@])
  : "${CUDA_ARCH=all-major}" "${NVCCFLAGS=-O2}"
  CUDA_ROOT= CUDA_CPPFLAGS= CUDA_LDFLAGS= CUDA_LIBS= cuda_why_not=
  AS_CASE([$with_cuda],
    [no], [cuda_why_not='switched off'],
    [_GPUMAP_CUDA_FIND
     AS_IF([test "x$cuda_why_not" = x], [_GPUMAP_CUDA_COMPILE])
     AS_IF([test "x$cuda_why_not" = x], [_GPUMAP_CUDA_LINK])])
  AS_IF([test "x$cuda_why_not" = x],
    [have_cuda=yes
     AC_DEFINE([HAVE_CUDA], [1], [Define to 1 if the CUDA Toolkit is used.])],
    [have_cuda=no
     AS_CASE([$with_cuda], [auto|no], [],
       [AC_MSG_ERROR([--with-cuda=$with_cuda: $cuda_why_not])])])
  AC_SUBST([CUDA_ROOT])
  AC_SUBST([CUDA_CPPFLAGS])
  AC_SUBST([CUDA_LDFLAGS])
  AC_SUBST([CUDA_LIBS])
  AM_CONDITIONAL([HAVE_CUDA], [test "x$have_cuda" = xyes])
])

# Finds nvcc and the toolkit's root. The path of nvcc does not give the root: it may be a
# wrapper script, so nvcc itself is asked.
AC_DEFUN([_GPUMAP_CUDA_FIND], [
  AS_CASE([$with_cuda],
    [auto|yes], [AC_PATH_PROG([NVCC], [nvcc], [], [$PATH$PATH_SEPARATOR/usr/local/cuda/bin])],
    [AS_IF([test ! -d "$with_cuda/include"], [cuda_why_not="$with_cuda has no folder include"],
       [NVCC=$with_cuda/bin/nvcc])])
  AC_MSG_CHECKING([for the CUDA Toolkit])
  AS_IF([test "x$cuda_why_not" != x], [],
    [test "x$NVCC" = x], [cuda_why_not='nvcc is missing'],
    [echo > conftest.cu
     CUDA_ROOT=`$NVCC --dryrun conftest.cu 2>&1 | sed -n 's/^#\\$ TOP=//p'`
     rm -f conftest.cu
     CUDA_ROOT=`test -n "$CUDA_ROOT" && cd "$CUDA_ROOT" 2>/dev/null && pwd -P`
     AS_IF([test "x$CUDA_ROOT" = x], [cuda_why_not="$NVCC does not run or does not name its root"])])
  AS_IF([test "x$cuda_why_not" = x],
    [# A distribution's toolkit has its headers where the compiler looks by itself.
     AS_IF([test -d "$CUDA_ROOT/include"], [CUDA_CPPFLAGS="-I$CUDA_ROOT/include"])
     for dir in lib64 lib; do
       AS_IF([test -z "$CUDA_LDFLAGS" && test -d "$CUDA_ROOT/$dir"],
         [CUDA_LDFLAGS="-L$CUDA_ROOT/$dir"])
     done
     AC_MSG_RESULT([$CUDA_ROOT])],
    [AC_MSG_RESULT([no, $cuda_why_not])])
])

# Compiles a kernel, without running it: build hosts rarely have a GPU. The flags are those
# that a kernel is built with under libtool.
AC_DEFUN([_GPUMAP_CUDA_COMPILE], [
  AC_MSG_CHECKING([whether nvcc compiles a kernel for $CUDA_ARCH])
  echo '__global__ void twice(float *x) { x[[threadIdx.x]] *= 2.0f; }' > conftest.cu
  AS_IF([$NVCC -forward-unknown-to-host-compiler -arch=$CUDA_ARCH -fPIC -fvisibility=hidden \
      -c -o conftest.$ac_objext conftest.cu >&AS_MESSAGE_LOG_FD 2>&1],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     cuda_why_not="$NVCC compiles no kernel for CUDA_ARCH=$CUDA_ARCH; see config.log"])
  rm -f conftest.cu conftest.$ac_objext
])

# Links the runtime into a C program. libstdc++ is for the host stubs that nvcc writes.
AC_DEFUN([_GPUMAP_CUDA_LINK], [
  CUDA_LIBS='-lcudart_static -lstdc++ -lrt -ldl -lpthread'
  GPUMAP_TRY_LINK([the static CUDA runtime], [cuda_runtime_api.h], [cudaGetDeviceCount],
    [$CUDA_CPPFLAGS], [$CUDA_LDFLAGS], [$CUDA_LIBS], [],
    [cuda_why_not="a program with libcudart_static does not link; see config.log"])
])

# GPUMAP_TRY_LINK(WHAT, HEADER, FUNCTION, CPPFLAGS, LDFLAGS, LIBS, IF-YES, IF-NO):
# can a C program include HEADER and use FUNCTION? Leaves no flag changed.
AC_DEFUN([GPUMAP_TRY_LINK], [
  AC_MSG_CHECKING([for $1])
  AC_LANG_PUSH([C])
  gpumap_saved_CPPFLAGS=$CPPFLAGS gpumap_saved_LDFLAGS=$LDFLAGS gpumap_saved_LIBS=$LIBS
  CPPFLAGS="$4 $CPPFLAGS" LDFLAGS="$5 $LDFLAGS" LIBS="$6 $LIBS"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <$2>]], [[void (*volatile f)(void) = (void (*)(void))$3; return !f;]])],
    [gpumap_links=yes], [gpumap_links=no])
  CPPFLAGS=$gpumap_saved_CPPFLAGS LDFLAGS=$gpumap_saved_LDFLAGS LIBS=$gpumap_saved_LIBS
  AC_LANG_POP([C])
  AC_MSG_RESULT([$gpumap_links])
  AS_IF([test "x$gpumap_links" = xyes], [$7], [$8])
])
