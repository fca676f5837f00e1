# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# Sourced after lib.sh: mpirun as these tests need it, or the whole test is skipped.
PATH=$PATH:/usr/lib64/openmpi/bin # Fedora's
have mpirun || cannot 'mpirun is missing: install openmpi-bin'
mpirun --version 2>/dev/null | grep -q 'Open MPI' || cannot 'mpirun is not that of Open MPI'

# More ranks than cores, on this machine alone, and also as root in a container.
OMPI_ALLOW_RUN_AS_ROOT=1
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
OMPI_MCA_rmaps_base_oversubscribe=1
OMPI_MCA_hwloc_base_binding_policy=none
OMPI_MCA_oob_tcp_if_include=lo
OMPI_MCA_btl_tcp_if_include=lo
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_rmaps_base_oversubscribe \
	OMPI_MCA_hwloc_base_binding_policy OMPI_MCA_oob_tcp_if_include OMPI_MCA_btl_tcp_if_include
