#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds and tests a clone of this tree on a bare system. --help tells more.
set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P) || exit 1
folder=/var/tmp/gpumap-systems
container='' mirror='' brought='' suite='' root='' group='' failed=0

usage() {
	cat <<'END'
usage: tests/systems/bare-root.sh [OPTIONS] SUITE [-- COMMAND...]

Makes a root of this Debian SUITE (bullseye, bookworm, ...) that has only what
debootstrap installs, copies the last commit into it, and runs COMMAND there as
root: by default ./dev demo, then ./dev test. So it shows packages that ./dev
does not install, and compiles against the headers of that suite.

  --container      in namespaces of its own, as in a container: the command is
                   process 1, /sys is read-only, and /dev/shm has 64 MB
  --bring FOLDER   copies this folder to /brought in the root
  --folder FOLDER  where the roots are [/var/tmp/gpumap-systems]. A suite is
                   downloaded once; remove FOLDER/SUITE for a newer one.
  --mirror URL     where debootstrap gets the packages

It needs root, debootstrap and 5 GB. If a command fails, its root remains, with
the logs in src/_build. The exit status is 1 then.

Example: tests/systems/bare-root.sh --container trixie
END
}

die() {
	printf 'bare-root.sh: %s\n' "$*" >&2
	exit 2
}

at_exit() {
	[ -z "$group" ] || kill -KILL -- "-$group"
	# The mounts were those of a namespace, and have ended with its processes.
	[ -z "$root" ] || [ "$failed" -ne 0 ] || rm -rf "$root"
} 2>/dev/null
trap at_exit EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# in_group COMMAND...: so that an interrupt ends all of it
in_group() {
	local status

	set -m
	"$@" </dev/null &
	group=$!
	set +m
	wait "$group"
	status=$?
	group=
	return "$status"
}

new_root() {
	{ root=$(mktemp -d "$folder/$suite.XXXXXX") && chmod 755 "$root"; } ||
		die "cannot write to $folder; --folder names another"
}

# make_base: a root with what debootstrap installs, which the runs copy
make_base() {
	[ ! -d "$folder/$suite" ] || return 0
	command -v debootstrap >/dev/null || die 'debootstrap is missing: apt-get install debootstrap'
	new_root
	# It mounts too.
	in_group unshare --mount debootstrap --variant=minbase "$suite" "$root" ${mirror:+"$mirror"} \
		>"$folder/$suite.log" 2>&1 ||
		die "debootstrap failed; see $folder/$suite.log"
	mv "$root" "$folder/$suite" && root=
}

# What runs in the namespaces: $1 is the root, the rest a command. The root becomes that of the mount namespace, so that
# tests can make and enter namespaces there.
# shellcheck disable=SC2016 # the shell there expands it
enter='cd "$1" && shift && mount --bind . . && cd "$PWD" && mount -t proc proc proc && mount --rbind /dev dev || exit 125
if [ "$$" -eq 1 ]; then
	mount -t sysfs -o ro sysfs sys && mount -t tmpfs -o size=64m tmpfs dev/shm
else
	mount --rbind /sys sys
fi && pivot_root . . && umount -l . || exit 125
exec chroot . /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb \
	sh -c "cd /src && exec \"\$@\"" sh "$@"'

# run COMMAND...: in the root
run() {
	local namespaces=(--mount)

	[ -z "$container" ] || namespaces+=(--pid --fork --kill-child --ipc --uts --cgroup)
	printf '\n%s%s: %s\n' "$suite" "${container:+, as in a container}" "$*"
	if ! in_group unshare "${namespaces[@]}" sh -c "$enter" sh "$root" "$@"; then
		failed=1
		printf 'bare-root.sh: %s failed; see %s/src/_build\n' "$*" "$root"
	fi
}

while [ $# -gt 0 ]; do
	case $1 in
	--container) container=yes ;;
	--bring | --folder | --mirror)
		[ $# -gt 1 ] || die "$1 takes a value; see --help"
		case $1 in
		--bring) brought=$2 ;;
		--folder) folder=$2 ;;
		--mirror) mirror=$2 ;;
		esac
		shift
		;;
	-h | --help)
		usage
		exit 0
		;;
	--) break ;;
	-*) die "there is no option '$1'; see --help" ;;
	*)
		[ -z "$suite" ] || die "one suite, not '$suite' and '$1'; see --help"
		suite=$1
		;;
	esac
	shift
done
[ $# -eq 0 ] || shift
[ -n "$suite" ] || die 'which suite? bullseye, bookworm, trixie or sid; see --help'
[ "$(id -u)" -eq 0 ] || die "this needs root: sudo $0 $suite"
mkdir -p "$folder" || die "cannot write to $folder; --folder names another"
make_base
new_root
cp -a --reflink=auto "$folder/$suite/." "$root" || die "cannot copy $folder/$suite to $root"
git clone -q --no-hardlinks "$top" "$root/src" || die "cannot clone $top"
[ -z "$brought" ] || cp -RL "$brought" "$root/brought" || die "cannot copy $brought to $root"
if [ $# -gt 0 ]; then
	run "$@"
else
	run ./dev demo
	run ./dev test
fi
[ "$failed" -eq 0 ]
