# SPDX-License-Identifier: MIT
# GPUMAP_CUDA_BACKEND: whether gpumap-train computes on GPUs: the trainer, the CUDA Toolkit, cuDNN
# and cuBLASLt. NCCL is for several of them, and optional.
#
# Sets have_cuda_backend (yes|no), cuda_backend_why_not (empty where there is no trainer), and for
# make: CUDA_BACKEND_CPPFLAGS, HAVE_CUDA_BACKEND. The libraries' headers are a system's, so that our
# warnings are of our code.
AC_DEFUN([GPUMAP_CUDA_BACKEND], [
  AC_REQUIRE([GPUMAP_TRAINER])
  have_cuda_backend=no cuda_backend_why_not= CUDA_BACKEND_CPPFLAGS=
  AS_IF([test "x$with_trainer" != xyes], [],
    [test "x$have_cuda" = xno], [cuda_backend_why_not="it needs CUDA"],
    [test "x$have_cudnn" = xno], [cuda_backend_why_not="it needs cuDNN"],
    [test "x$have_cublaslt" = xno], [cuda_backend_why_not="it needs cuBLASLt"],
    [have_cuda_backend=yes
     AC_DEFINE([HAVE_CUDA_BACKEND], [1], [Define to 1 if gpumap-train computes on GPUs.])])
  AS_IF([test "x$have_cuda_backend" = xyes],
    [for flag in $CUDNN_CPPFLAGS $CUBLASLT_CPPFLAGS $NCCL_CPPFLAGS; do
       flag="-isystem ${flag#-I}"
       AS_CASE([" $CUDA_BACKEND_CPPFLAGS "], [*" $flag "*], [],
         [CUDA_BACKEND_CPPFLAGS="$CUDA_BACKEND_CPPFLAGS $flag"])
     done])
  AC_SUBST([CUDA_BACKEND_CPPFLAGS])
  AM_CONDITIONAL([HAVE_CUDA_BACKEND], [test "x$have_cuda_backend" = xyes])
])
