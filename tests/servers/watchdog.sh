#!/bin/sh
# SPDX-License-Identifier: MIT
# watchdog.sh FOLDER PARENT: started by slurm.sh, in a session of its own. Ends every process
# that has FOLDER's Slurm in its environment: with SIGUSR1 when the test is done, with SIGTERM
# when the test has died for any reason.
folder=$1
waiting=

finish() {
	kill -9 "$waiting" 2>/dev/null
	rounds=100
	while [ "$rounds" -gt 0 ]; do
		# Those that are killed may have started others.
		left=$(grep -lszxF "SLURM_CONF=$folder/slurm/slurm.conf" /proc/[0-9]*/environ | tr -dc '0-9\n')
		[ "$left" ] || break
		# shellcheck disable=SC2086 # several words
		kill -9 $left 2>/dev/null
		rounds=$((rounds - 1))
		sleep 0.01
	done
	rm -rf "$1"
	exit
}
trap 'finish "$folder/slurm"' USR1
trap 'finish "$folder"' TERM
trap '' HUP INT
sleep 100000 &
waiting=$!
# The parent may have died before the signal of its death was asked for.
[ "$PPID" = "$2" ] || finish "$folder"
: >"$folder/slurm/guarded"
wait "$waiting"
