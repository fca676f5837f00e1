# SPDX-License-Identifier: MIT
# GPUMAP_DEFAULT_CFLAGS: call before AC_PROG_CC; remembers whether CFLAGS are the user's.
AC_DEFUN([GPUMAP_DEFAULT_CFLAGS], [
  AC_PROVIDE_IFELSE([AC_PROG_CC], [m4_fatal([AC_PROG_CC has set CFLAGS already])])
  gpumap_user_CFLAGS=${CFLAGS+yes}
])

# GPUMAP_TRY_FLAGS(WHAT, FLAGS): an error unless $CC compiles and links with FLAGS.
AC_DEFUN([GPUMAP_TRY_FLAGS], [
  AC_MSG_CHECKING([whether $CC can do $1])
  AC_LANG_PUSH([C])
  gpumap_saved_CFLAGS=$CFLAGS
  CFLAGS="$CFLAGS -Werror $2"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_FAILURE([$CC cannot do $1 ($2)])])
  CFLAGS=$gpumap_saved_CFLAGS
  AC_LANG_POP([C])
])

# GPUMAP_SANITIZER: --enable-sanitizer=LIST sets SANITIZER_CFLAGS, for compiling and linking,
# and COMPUTING_CFLAGS, for the trainer.
AC_DEFUN([GPUMAP_SANITIZER], [
  AC_ARG_ENABLE([sanitizer],
    [AS_HELP_STRING([--enable-sanitizer@<:@=LIST@:>@],
      [instrument with -fsanitize=LIST, such as thread @<:@address,undefined@:>@])],
    [], [enable_sanitizer=no])
  AS_IF([test "x$enable_sanitizer" = xyes], [enable_sanitizer=address,undefined])
  SANITIZER_CFLAGS= COMPUTING_CFLAGS=
  AS_IF([test "x$enable_sanitizer" != xno],
    [SANITIZER_CFLAGS="-fsanitize=$enable_sanitizer -fno-omit-frame-pointer"
     AS_CASE([,$enable_sanitizer,], [*,undefined,*],
       [SANITIZER_CFLAGS="$SANITIZER_CFLAGS -fno-sanitize-recover=undefined"])
     GPUMAP_TRY_FLAGS([--enable-sanitizer=$enable_sanitizer], [$SANITIZER_CFLAGS])
     # A fifth of the time that compiling with -O1 takes. What computes is compiled with it all the same.
     AS_IF([test "x$gpumap_user_CFLAGS" = x], [CFLAGS=-g COMPUTING_CFLAGS=-O1])])
  AC_SUBST([SANITIZER_CFLAGS])
  AC_SUBST([COMPUTING_CFLAGS])
])

# GPUMAP_COVERAGE: --enable-coverage sets COVERAGE_CFLAGS and enables 'make coverage'.
AC_DEFUN([GPUMAP_COVERAGE], [
  AC_ARG_ENABLE([coverage],
    [AS_HELP_STRING([--enable-coverage], [count executed lines; see 'make coverage'])],
    [], [enable_coverage=no])
  COVERAGE_CFLAGS=
  AS_IF([test "x$enable_coverage" != xno],
    [COVERAGE_CFLAGS='--coverage -fno-inline'
     GPUMAP_TRY_FLAGS([--enable-coverage], [$COVERAGE_CFLAGS])
     AC_CHECK_PROG([GCOVR], [gcovr], [gcovr], [no])
     AS_IF([test "x$GCOVR" = xno], [AC_MSG_ERROR([gcovr is missing: install gcovr])])
     # gcov of the compiler's own version, or the counters cannot be read.
     AS_CASE([$CC], [*clang*],
       [AC_CHECK_PROGS([LLVM_COV], [llvm-cov llvm-cov-${CC@%:@@%:@*-} llvm-cov-14], [no])
        GCOV="$LLVM_COV gcov"],
       [GCOV=gcov])
     AS_IF([test "x$gpumap_user_CFLAGS" = x], [CFLAGS='-g -O0'])])
  AC_SUBST([COVERAGE_CFLAGS])
  AC_SUBST([GCOV])
  AM_CONDITIONAL([ENABLE_COVERAGE], [test "x$enable_coverage" != xno])
])
