# SPDX-License-Identifier: MIT
# bash-completion looks for a file with the name of the command.
nodist_bashcompletion_DATA = completion/gpumap
if HAVE_TRAINER
nodist_bashcompletion_DATA += completion/gpumap-train
endif
EXTRA_DIST += completion/gpumap.bash completion/gpumap-train.bash
CLEANFILES += completion/gpumap completion/gpumap-train

completion/gpumap: completion/gpumap.bash
	$(AM_V_GEN)$(MKDIR_P) completion && cp '$(srcdir)/completion/gpumap.bash' $@

completion/gpumap-train: completion/gpumap-train.bash
	$(AM_V_GEN)$(MKDIR_P) completion && cp '$(srcdir)/completion/gpumap-train.bash' $@
