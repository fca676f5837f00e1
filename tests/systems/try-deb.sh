#!/bin/sh
# SPDX-License-Identifier: MIT
# try-deb.sh: builds the Debian packages in a bare root, and installs, uses, upgrades and purges them in a copy of that
# root as it was before:
#	tests/systems/bare-root.sh bookworm -- tests/systems/try-deb.sh
# try-deb.sh FOLDER: tries the packages in FOLDER/older, FOLDER/now and FOLDER/newer in this root.
set -eu
LC_ALL=C DEBIAN_FRONTEND=noninteractive
export LC_ALL DEBIAN_FRONTEND

expect() {
	case $2 in
	*"$1"*) echo "ok - $1" ;;
	*)
		printf 'not ok - %s: %s\n' "$1" "$2"
		exit 1
		;;
	esac
}

# quietly COMMAND...: its output only if it fails
quietly() {
	"$@" >/tmp/quietly 2>&1 </dev/null && return
	tail -n 40 /tmp/quietly
	echo "not ok - $*"
	exit 1
}

# --- building ----------------------------------------------------------------------------------------

# also VERSION NAME: what was built, once more with a changelog of this version, in the folder NAME
also() {
	mkdir "$2"
	(
		cd deb/source
		sed -i "1s/(.*)/($1)/" debian/changelog
		quietly debian/rules binary
	)
	mv deb/*"_$1_"*.deb "$2"
}

build() {
	clean=/clean
	mkdir "$clean"
	tar -C / --one-file-system --exclude ./src --exclude "./${clean#/}" -cf - . | tar -C "$clean" -xf -
	quietly apt-get update
	quietly apt-get build-dep -y "$PWD"
	quietly apt-get install -y lintian
	quietly autoreconf -fi
	mkdir -p _build/try "$clean/packages/now"
	cd _build/try
	quietly ../../configure --without-cuda --without-trainer
	quietly make deb
	grep -E '^# (TOTAL|PASS|FAIL|SKIP)' deb/build.log
	echo 'lintian:'
	lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs deb/*.changes
	echo 'lintian has no errors and no warnings'
	version=$(dpkg-parsechangelog -l deb/source/debian/changelog -S Version)
	for package in deb/*"_${version}_"*.deb; do
		case $package in *-dbgsym*) continue ;; esac
		echo "$package: $(wc -c <"$package") bytes"
		dpkg-deb -c "$package" | grep -v '/$'
	done
	mv deb/*.deb "$clean/packages/now"
	also "$version~1" "$clean/packages/older"
	also "$version+1" "$clean/packages/newer"
	rm -f "$clean"/packages/*/*-dbgsym*
	cp "../../tests/systems/try-deb.sh" "$clean/packages/"
	mount --bind "$clean" "$clean"
	mount -t proc proc "$clean/proc"
	mount --rbind /dev "$clean/dev"
	mount --rbind /sys "$clean/sys"
	exec chroot "$clean" /packages/try-deb.sh /packages
}

# --- trying ------------------------------------------------------------------------------------------

as_ann() {
	runuser -u ann -- sh -ec "cd '$work'; $*"
}

# Without what dpkg and apt keep of every package, and what the test itself makes.
files() {
	find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /packages -o -path /src \
		-o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache -o -path /var/log \) -prune \
		-o -printf '%p %y %m %u\n' | sort
}

# shellcheck disable=SC2016 # the shell of ann expands it
use() {
	expect 'cuda:1 is physical GPU 3' "$(as_ann gpumap --visible 2,3,4,5 --device 1)"
	expect '8 GPUs, from nvml' "$(as_ann gpumap pretend --inventory 8xH100 -- gpumap inventory)"
	expect 'leased 0,1' "$(as_ann 'gpumap pretend --inventory 8xH100 -- gpumap pick 2 -- sh -c "echo leased \$CUDA_VISIBLE_DEVICES"')"
	expect 'a.py:1' "$(as_ann 'echo "import torch; x = torch.zeros(1).cuda(7)" >a.py; gpumap lint --inventory 4 a.py 2>&1 || true')"
	expect 'physical GPU 5' "$(as_ann 'cc /usr/share/doc/libgpumap-dev/examples/which-gpu.c -o which-gpu $(pkg-config --cflags --libs libgpumap)
		CUDA_VISIBLE_DEVICES=4,5 ./which-gpu 8xH100 1')"
	set -- --visible 2,3 --device 1 --model net28 --samples 32 --test-samples 16 --epochs 1 --global-batch 16 --progress none
	expect '  0     0      cuda:1  3 ' "$(as_ann gpumap-train "$@")"
	expect 'install Open MPI (openmpi-bin)' "$(as_ann 'gpumap-train --inventory 2 --mode ddp --collective mpi 2>&1 || true')"
}

# install NAME: the packages of this folder
install() {
	quietly apt-get install -y "$folder/$1"/*.deb
	version=$(dpkg-deb -f "$(ls "$folder/$1"/gpumap_*.deb)" Version)
	for package in gpumap gpumap-train libgpumap1 libgpumap-dev; do
		expect "$package installed $version" \
			"$(dpkg-query -W -f '${Package} ${db:Status-Status} ${Version}' "$package")"
	done
}

# try TMPFILES: where systemd-tmpfiles is (yes), or not (no)
try() {
	files >/tmp/before
	install older
	folder_of_leases=$([ "$1" = no ] || stat -c '%a %U' /run/lock/gpumap)
	expect "the folder of leases: $([ "$1" = no ] || echo '1777 root')" "the folder of leases: $folder_of_leases"
	use
	mkfifo -m 666 "$work/end"
	as_ann 'exec gpumap pretend --inventory 2xH100 -- gpumap pick 2 -- sh -c "echo held >held; read -r x <end"' &
	job=$!
	until [ -s "$work/held" ]; do sleep 0.1; done
	install now
	expect 'GPU 0 is leased' "$(as_ann 'gpumap pretend --inventory 2xH100 -- gpumap pick 1 -- true 2>&1 || true')"
	echo >"$work/end"
	wait "$job"
	rm "$work/end" "$work/held"
	use
	install newer
	use
	quietly apt-get purge -y --auto-remove gpumap gpumap-train libgpumap1 libgpumap-dev
	files >/tmp/after
	if ! diff /tmp/before /tmp/after; then
		echo 'not ok - purged, nothing is left'
		exit 1
	fi
	echo 'ok - purged, nothing is left'
}

[ $# -gt 0 ] || build
folder=$1
quietly apt-get update
quietly apt-get install -y gcc libc6-dev pkgconf
useradd --create-home ann
work=$(mktemp -d)
chown ann "$work"
try no
quietly apt-get install -y systemd-standalone-tmpfiles
try yes
