# SPDX-License-Identifier: MIT
# GPUMAP_HARDENED(NAME, FLAGS, VARIABLE...): adds FLAGS to each VARIABLE and NAME to HARDENING if $CC
# compiles and links with FLAGS and no warning.
AC_DEFUN([GPUMAP_HARDENED], [
  AC_MSG_CHECKING([whether $CC can do $1 ($2)])
  gpumap_saved_CFLAGS=$CFLAGS
  CFLAGS="$CFLAGS -Werror $2"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([@%:@include <stdio.h>], [puts("");])],
    [AC_MSG_RESULT([yes])
     HARDENING="$HARDENING $1"
     m4_foreach_w([gpumap_variable], [$3], [gpumap_variable="$gpumap_variable $2"
     ])],
    [AC_MSG_RESULT([no])])
  CFLAGS=$gpumap_saved_CFLAGS
])

# GPUMAP_HARDENING: unless --disable-hardening, sets for make HARDENING_CFLAGS, HARDENING_LDFLAGS (of
# programs and libraries) and PIE_LDFLAGS (of programs), and HARDENING to the names of what this
# compiler can do: relro (full: all symbols are bound at the start), pie, stack-protector, fortify.
#
# fortify is left out where it checks nothing (without optimisation), and where CFLAGS or CPPFLAGS have a
# level of their own.
#
# A build with sanitizers has none of them: its variables and checks are described by 160,000 relocations of
# gpumap, a seventh of the time of a start, and fortify would hide what a sanitizer sees.
AC_DEFUN([GPUMAP_HARDENING], [
  AC_ARG_ENABLE([hardening],
    [AS_HELP_STRING([--disable-hardening],
      [build without full RELRO, PIE, stack protector and _FORTIFY_SOURCE])],
    [], [enable_hardening=yes])
  AC_LANG_PUSH([C])
  HARDENING= HARDENING_CFLAGS= HARDENING_LDFLAGS= PIE_LDFLAGS=
  AS_IF([test "x$enable_sanitizer" != xno],
    [GPUMAP_HARDENED([no-pie], [-no-pie -Wl,-z,norelro], [PIE_LDFLAGS])
     HARDENING=],
    [test "x$enable_hardening" != xno],
    [GPUMAP_HARDENED([relro], [-Wl,-z,relro,-z,now], [HARDENING_LDFLAGS])
     # libtool adds -fPIC after -fPIE for what goes into libraries.
     GPUMAP_HARDENED([pie], [-fPIE -pie], [PIE_LDFLAGS])
     GPUMAP_HARDENED([stack-protector], [-fstack-protector-strong], [HARDENING_CFLAGS])
     AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
#if !defined(__OPTIMIZE__)
#error nothing would be checked
#endif
]])], [gpumap_fortify=yes], [gpumap_fortify=no])
     AS_CASE(["$gpumap_fortify $CFLAGS $CPPFLAGS"],
       [*_FORTIFY_SOURCE*], [],
       [yes\ *], [GPUMAP_HARDENED([fortify], [-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2], [HARDENING_CFLAGS])])])
  AC_LANG_POP([C])
  AS_CASE([" $HARDENING "], [*' pie '*], [HARDENING_CFLAGS="$HARDENING_CFLAGS -fPIE"])
  HARDENING=${HARDENING# }
  AC_SUBST([HARDENING])
  AC_SUBST([HARDENING_CFLAGS])
  AC_SUBST([HARDENING_LDFLAGS])
  AC_SUBST([PIE_LDFLAGS])
])
