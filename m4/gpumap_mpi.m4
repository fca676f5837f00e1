# SPDX-License-Identifier: MIT
# GPUMAP_MPI: Open MPI, for ranks of the trainer on several machines, --with-mpi=auto|yes|no|DIR,
# as GPUMAP_CUDA. pkg-config knows its flags, or else its compiler wrapper does.
#
# Sets have_mpi (yes|no), mpi_why_not, and for make: MPICC, MPI_CPPFLAGS, MPI_LDFLAGS, MPI_LIBS,
# HAVE_MPI.
AC_DEFUN([GPUMAP_MPI], [
  AC_ARG_WITH([mpi], [AS_HELP_STRING([--with-mpi=auto|yes|no|DIR], [Open MPI @<:@auto@:>@])],
    [], [with_mpi=auto])
  AC_ARG_VAR([MPICC], [Open MPI's compiler wrapper, asked for its flags])
  MPI_CPPFLAGS= MPI_LDFLAGS= MPI_LIBS= mpi_why_not=
  # It is a module that is loaded where it is used.
  AS_CASE([$with_mpi:$enable_shared],
    [no:*], [mpi_why_not='switched off'],
    [*:no], [mpi_why_not='it needs --enable-shared'],
    [auto:*|yes:*],
    [AS_IF([test -z "$MPICC" && $PKG_CONFIG --exists ompi-c 2>&AS_MESSAGE_LOG_FD],
       [MPI_CPPFLAGS=`$PKG_CONFIG --cflags ompi-c`
        MPI_LDFLAGS=`$PKG_CONFIG --libs-only-L --libs-only-other ompi-c`
        MPI_LIBS=`$PKG_CONFIG --libs-only-l ompi-c`],
       [AC_CHECK_PROGS([MPICC], [mpicc], [])
        _GPUMAP_MPI_WRAPPER])],
    [# Or else a wrong DIR would silently find a copy elsewhere.
     MPICC=$with_mpi/bin/mpicc
     AS_IF([test ! -x "$MPICC"], [mpi_why_not="$with_mpi has no bin/mpicc"], [_GPUMAP_MPI_WRAPPER])])
  AS_IF([test "x$mpi_why_not" = x],
    [GPUMAP_TRY_LINK([Open MPI], [mpi.h], [MPI_Ialltoallv], [$MPI_CPPFLAGS], [$MPI_LDFLAGS],
       [$MPI_LIBS], [], [mpi_why_not="a program with mpi.h does not link; see config.log"])])
  AS_IF([test "x$mpi_why_not" = x],
    [have_mpi=yes
     AC_DEFINE([HAVE_MPI], [1], [Define to 1 if Open MPI is used.])],
    [have_mpi=no MPI_CPPFLAGS= MPI_LDFLAGS= MPI_LIBS=
     AS_CASE([$with_mpi], [auto|no], [],
       [AC_MSG_ERROR([--with-mpi=$with_mpi: $mpi_why_not])])])
  AC_SUBST([MPI_CPPFLAGS])
  AC_SUBST([MPI_LDFLAGS])
  AC_SUBST([MPI_LIBS])
  AM_CONDITIONAL([HAVE_MPI], [test "x$have_mpi" = xyes])
])

# Asks $MPICC; other implementations know other words for it.
AC_DEFUN([_GPUMAP_MPI_WRAPPER], [
  AS_IF([test -z "$MPICC"], [mpi_why_not='mpicc is missing'],
    [MPI_CPPFLAGS=`$MPICC --showme:compile 2>&AS_MESSAGE_LOG_FD` &&
       MPI_LIBS=`$MPICC --showme:link 2>&AS_MESSAGE_LOG_FD` ||
       mpi_why_not="$MPICC --showme:compile fails, so it is not Open MPI's"])
])
