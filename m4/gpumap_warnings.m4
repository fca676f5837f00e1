# SPDX-License-Identifier: MIT
# GPUMAP_WARNINGS: sets WARN_CFLAGS to the warnings that this compiler knows, and NVCC_WARN_FLAGS to
# nvcc's; with --enable-werror they are errors.
AC_DEFUN([GPUMAP_WARNINGS], [
  AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [make warnings errors])],
    [], [enable_werror=no])
  AC_LANG_PUSH([C])
  WARN_CFLAGS=
  # A function of a table need not use all of its parameters.
  for flag in -Wall -Wextra -Wno-unused-parameter -Wshadow -Wstrict-prototypes \
      -Wmissing-prototypes -Wold-style-definition -Wpointer-arith -Wwrite-strings -Wundef \
      -Wformat=2 -Wvla -Wimplicit-fallthrough -Wcast-qual -Wconversion -Wno-sign-conversion; do
    AC_MSG_CHECKING([whether $CC takes $flag])
    gpumap_saved_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -Werror $flag"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
      [AC_MSG_RESULT([yes]); WARN_CFLAGS="$WARN_CFLAGS $flag"],
      [AC_MSG_RESULT([no])])
    CFLAGS=$gpumap_saved_CFLAGS
  done
  AC_LANG_POP([C])
  # Not -Xcompiler, which libtool takes for itself.
  NVCC_WARN_FLAGS=--compiler-options=-Wall,-Wextra,-Wno-unused-parameter
  AS_IF([test "x$enable_werror" != xno],
    [WARN_CFLAGS="$WARN_CFLAGS -Werror"
     NVCC_WARN_FLAGS="$NVCC_WARN_FLAGS,-Werror -Werror all-warnings"])
  AC_SUBST([WARN_CFLAGS])
  AC_SUBST([NVCC_WARN_FLAGS])
])
