# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # variables of tests/cli/lib.sh
# What the tests of the sources share, after tests/cli/lib.sh.

# is_clone: the source tree is a clone that git reads
is_clone() {
	have git && git -C "$srcdir" ls-files --error-unmatch configure.ac >/dev/null 2>&1
}

# packed: the names of the files in the tarball, by the Makefile of the build tree
packed() {
	# shellcheck disable=SC2016 # for make
	printf 'packed-names:\n\t@printf "%%s\\n" $(DISTFILES:$(srcdir)/%%=%%)\n' >"$trash/packed.mk"
	env -u MAKEFLAGS -u MFLAGS -u MAKEOVERRIDES -u MAKELEVEL \
		make -s -C "$builddir" -f Makefile -f "$trash/packed.mk" packed-names
}

# sources: the files of the source tree, whatever else lies in it: those that git tracks, or in a
# tarball those that were packed; without what autotools made
sources() {
	if is_clone; then
		git -C "$srcdir" ls-files
	else
		packed | while read -r sources_name; do
			if [ -d "$srcdir/$sources_name" ]; then
				(cd "$srcdir" && find "$sources_name" -type f)
			else
				echo "$sources_name"
			fi
		done | grep -vE '^(build-aux/|configure$|aclocal\.m4$|config\.h\.in$|Makefile\.in$|m4/l(t.*|ibtool)\.m4$)'
	fi | LC_ALL=C sort -u | while read -r sources_name; do
		[ ! -f "$srcdir/$sources_name" ] || echo "$sources_name"
	done
}
