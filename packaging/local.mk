# SPDX-License-Identifier: MIT
# Builds of gpumap that others install.
EXTRA_DIST += packaging/ABOUT.md packaging/Containerfile packaging/deb packaging/portable packaging/README.md
EXTRA_DIST += debian/changelog debian/control debian/copyright debian/gpumap-train.install debian/gpumap.docs \
	debian/gpumap.install debian/gpumap.postrm debian/libgpumap-dev.examples debian/libgpumap-dev.install \
	debian/libgpumap1.install debian/libgpumap1.symbols debian/not-installed debian/rules debian/source/format \
	debian/source/lintian-overrides

# For these processors, with zig; packaging/portable tells what it needs.
PORTABLE_ARCHS = x86_64 aarch64
portable:
	for arch in $(PORTABLE_ARCHS); do '$(srcdir)/packaging/portable' '$(srcdir)' "$$arch" || exit; done

# For this Debian, from the tarball: debian/ tells what it needs.
deb: dist
	'$(srcdir)/packaging/deb' '$(distdir).tar.xz'

.PHONY: deb portable
