# SPDX-License-Identifier: MIT
# Builds of gpumap that others install.
EXTRA_DIST += packaging/Containerfile packaging/portable packaging/README.md

# For these processors, with zig; packaging/portable tells what it needs.
PORTABLE_ARCHS = x86_64 aarch64
portable:
	for arch in $(PORTABLE_ARCHS); do '$(srcdir)/packaging/portable' '$(srcdir)' "$$arch" || exit; done

.PHONY: portable
