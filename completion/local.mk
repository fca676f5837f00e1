# SPDX-License-Identifier: MIT
# bash-completion looks for a file with the name of the command.
nodist_bashcompletion_DATA = completion/gpumap
EXTRA_DIST += completion/gpumap.bash
CLEANFILES += completion/gpumap

completion/gpumap: completion/gpumap.bash
	$(AM_V_GEN)$(MKDIR_P) completion && cp '$(srcdir)/completion/gpumap.bash' $@
