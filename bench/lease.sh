#!/bin/sh
# SPDX-License-Identifier: MIT
# lease.sh GPUMAP USAGE HOLDER [PICKS]: what gpumap pick costs on a pretended machine of 8 GPUs, how soon a job that
# waits gets a GPU that becomes free, and PICKS (10,000) picks that race, a tenth of them killed. As root the race is
# between two users, a pid namespace, and a network namespace with a sysfs of its own. USAGE is the program made of
# usage.c, HOLDER that of tests/lease/holder.c.
set -eu
gpumap=$(realpath "$1") usage=$(realpath "$2") holder=$(realpath "$3") picks=${4:-10000}
tests=$(realpath "$(dirname "$0")")/../tests/lease
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
umask 0
chmod 755 .
PATH=/usr/bin:/bin:$PATH
GPUMAP_LEASES=$folder/leases
export GPUMAP_LEASES
mkdir -m 1777 leases
mkdir held
: >held/records

on() {
	"$gpumap" pretend --inventory 8xH100 -- "$@"
}

# --- one job, and one that waits ---------------------------------------------------------------
for words in 'pick 1 -- true' 'pick 8 -- true' 'pick 4 --near -- true'; do
	# shellcheck disable=SC2086 # words
	measured=$(on "$usage" 201 "$gpumap" $words)
	printf '%-28s CPU %s us, %s KiB\n' "gpumap $words" "${measured% *}" "${measured#* }"
done
on python3 "$(dirname "$tests")/../bench/wake.py" "$gpumap" "$holder" 200

# --- the race ------------------------------------------------------------------------------------
for gpu in 1 2 3 4 5 6 7 8; do
	mkdir -p "leases/pretended/0000:0$gpu:00.0"
	echo 0x10de >"leases/pretended/0000:0$gpu:00.0/vendor"
done
cat >net <<'END'
#!/bin/sh
mount -t sysfs sysfs /sys && mount -t tmpfs tmpfs "$GPUMAP_LEASES/pretended" || exit 77
for gpu in 1 2 3 4 5 6 7 8; do
	mkdir "$GPUMAP_LEASES/pretended/0000:0$gpu:00.0"
	echo 0x10de >"$GPUMAP_LEASES/pretended/0000:0$gpu:00.0/vendor"
done
exec "$@"
END
chmod +x net
set -- env
# shellcheck disable=SC2016 # the inner shell expands it
for prefix in 'setpriv --reuid=65534 --regid=65534 --clear-groups' 'unshare -p -f --mount-proc' \
	"unshare -n -m $folder/net"; do
	# shellcheck disable=SC2086 # words
	! $prefix sh -c 'python3 -c "" && test -x "$0"' "$gpumap" 2>/dev/null || set -- "$@" "$prefix"
done
kinds=$# most=$((24 / $#)) pids=
begin=$(date +%s)
mkfifo looks
python3 "$tests/witness.py" leases <looks >seen &
witness=$!
exec 7>looks
for prefix in "$@"; do
	# shellcheck disable=SC2086 # words
	on $prefix python3 "$tests/race.py" "$gpumap" "$holder" $((picks / kinds)) 8 "$most" 7>&- >"result.$#" &
	pids="$pids $!"
	shift
done
# shellcheck disable=SC2086 # words
wait $pids
on "$gpumap" pick 8 --wait -- true
echo "race of $picks picks, kinds of jobs: $kinds, $(($(date +%s) - begin)) s"
exec 7>&-
wait $witness
awk '{ sum[$1] += $2 } END { print "jobs " sum["jobs"] ", killed " sum["killed"] ", waited " sum["waited"] ", failed " sum["bad"] }' result.*
cat seen
python3 "$tests/records.py" held
echo "tickets left $(find leases -name 'ticket-0*' | wc -l)"
