# SPDX-License-Identifier: MIT
# bash-completion and zsh look for a file with the name of the command. gpumap prints the same scripts.
zshcompletiondir = $(datadir)/zsh/site-functions
fishcompletiondir = $(datadir)/fish/vendor_completions.d
nodist_bashcompletion_DATA = completion/gpumap
if HAVE_TRAINER
nodist_bashcompletion_DATA += completion/gpumap-train
endif
nodist_zshcompletion_DATA = completion/_gpumap
dist_fishcompletion_DATA = completion/gpumap.fish
completion_scripts = completion/gpumap.bash completion/gpumap.zsh completion/gpumap.fish
EXTRA_DIST += $(completion_scripts) completion/gpumap-train.bash
CLEANFILES += completion/gpumap completion/_gpumap completion/gpumap-train completion/scripts.h

completion/gpumap: completion/gpumap.bash
	$(AM_V_GEN)$(MKDIR_P) completion && cp '$(srcdir)/completion/gpumap.bash' $@

completion/_gpumap: completion/gpumap.zsh
	$(AM_V_GEN)$(MKDIR_P) completion && cp '$(srcdir)/completion/gpumap.zsh' $@

completion/gpumap-train: completion/gpumap-train.bash
	$(AM_V_GEN)$(MKDIR_P) completion && cp '$(srcdir)/completion/gpumap-train.bash' $@

# The scripts as strings.
completion/scripts.h: $(completion_scripts)
	$(AM_V_GEN)$(MKDIR_P) completion && cd '$(srcdir)/completion' && \
		for shell in bash zsh fish; do \
			echo "static const char completion_$$shell[] =" && \
			sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' gpumap.$$shell && echo ';' || exit; \
		done >'$(abs_builddir)/$@'

$(libcommand_la_OBJECTS): completion/scripts.h
