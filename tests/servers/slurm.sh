# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # variables of tests/cli/lib.sh
#
# A Slurm of two nodes with 8 GPUs and 16 CPUs each, all of it pretended, on this machine's
# loopback; after tests/cli/lib.sh and lib.sh beside this file:
#
#	slurm_start		starts it, or skips the whole test with the reason
#
# Then srun, sbatch and its other commands work. Everything is in the folder $slurm and ends
# with the test, whatever becomes of that. munge has a key of its own, so no other user has access.

slurm_watchdog=
PATH=$PATH:/usr/sbin # of the daemons

slurm_needs() {
	have slurmctld || cannot 'slurmctld is missing: install slurmctld'
	have slurmd || cannot 'slurmd is missing: install slurmd'
	have srun || cannot 'srun is missing: install slurm-client'
	have munged || cannot 'munged is missing: install munge'
	setpriv --pdeathsig TERM true 2>/dev/null || cannot 'setpriv is missing: install util-linux'
}

slurm_folder() {
	slurm=$trash/slurm
	[ "${#slurm}" -le 70 ] || cannot "$slurm is too long for its sockets, set TMPDIR"
	mkdir "$slurm" "$slurm/state" "$slurm/dev" "$slurm/tmp.node0" "$slurm/tmp.node1" || exit 99
	for slurm_gpu in 0 1 2 3 4 5 6 7; do
		# Slurm asks only whether they are devices.
		ln -s /dev/null "$slurm/dev/nvidia$slurm_gpu"
	done
	head -c 1024 /dev/urandom >"$slurm/munge.key"
	chmod 400 "$slurm/munge.key"
}

# From here on nothing that has SLURM_CONF outlives the test.
slurm_guard() {
	setsid setpriv --pdeathsig TERM sh "$srcdir/tests/servers/watchdog.sh" "$trash" $$ \
		>/dev/null 2>&1 &
	slurm_watchdog=$!
	trap slurm_exit EXIT
	slurm_until test -e "$slurm/guarded" || cannot 'its watchdog did not start'
	SLURM_CONF=$slurm/slurm.conf
	export SLURM_CONF
}

slurm_exit() {
	slurm_status=$?
	slurm_stop
	(exit "$slurm_status")
	at_exit
}

slurm_stop() {
	[ "$slurm_watchdog" ] || return
	kill -USR1 "$slurm_watchdog"
	wait "$slurm_watchdog"
	slurm_watchdog=
}

# slurm_until COMMAND...: tries until it holds, or a daemon has given up
slurm_until() {
	until_true slurm_settled "$@" && "$@" >/dev/null 2>&1
}
slurm_settled() {
	"$@" || grep -qs 'fatal:' "$slurm"/*.log
}

# The first of three ports, below those that the kernel chooses by itself.
slurm_port() {
	echo $((20000 + $(od -An -N2 -tu2 /dev/urandom) % 4000 * 3))
}

# slurm_configure PORT
slurm_configure() {
	slurm_host=$(uname -n | cut -d. -f1)
	# The daemons listen where the machine's own name leads. Elsewhere than on the loopback
	# they would not find each other: then they listen everywhere.
	case $(getent ahostsv4 "$slurm_host") in
	127.0.0.1*) slurm_listen=NoInAddrAny,NoCtldInAddrAny ;;
	*) slurm_listen=NoAddrCache ;;
	esac
	cat >"$SLURM_CONF" <<CONF
ClusterName=gpumaptest
SlurmctldHost=$slurm_host(127.0.0.1)
CommunicationParameters=$slurm_listen
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$slurm/munge
CredType=cred/munge
SlurmctldPort=$1
SlurmctldPidFile=$slurm/slurmctld.pid
SlurmctldLogFile=$slurm/slurmctld.log
StateSaveLocation=$slurm/state
SlurmdPidFile=$slurm/slurmd.%n.pid
SlurmdLogFile=$slurm/slurmd.%n.log
SlurmdSpoolDir=$slurm/spool.%n
TmpFS=$slurm/tmp.%n
SlurmdParameters=config_overrides
ReturnToService=2
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,batch_sched_delay=0,bf_interval=1
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MailProg=/bin/true
KillWait=2
MinJobAge=10
GresTypes=gpu
NodeName=DEFAULT Sockets=2 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=1000 Gres=gpu:8
NodeName=node0 NodeHostname=$slurm_host NodeAddr=127.0.0.1 Port=$(($1 + 1))
NodeName=node1 NodeHostname=$slurm_host NodeAddr=127.0.0.1 Port=$(($1 + 2))
PartitionName=test Nodes=node[0-1] Default=YES MaxTime=INFINITE State=UP
CONF
	cat >"$slurm/gres.conf" <<CONF
NodeName=node[0-1] Name=gpu File=$slurm/dev/nvidia[0-7]
CONF
	cat >"$slurm/cgroup.conf" <<CONF
CgroupPlugin=cgroup/v1
ConstrainDevices=no
CONF
}

slurm_controls() {
	scontrol ping | grep -q 'UP$'
}

slurm_has_nodes() {
	[ "$(sinfo -h -o '%T %D')" = 'idle 2' ]
}

# slurm_try PORT
slurm_try() {
	slurm_configure "$1"
	munged --force --socket="$slurm/munge" --key-file="$slurm/munge.key" \
		--pid-file="$slurm/munged.pid" --log-file="$slurm/munged.log" \
		--seed-file="$slurm/munged.seed" --num-threads=2 &&
		slurmctld -c && slurm_until slurm_controls &&
		slurmd -c -N node0 && slurmd -c -N node1 && slurm_until slurm_has_nodes
}

slurm_start() {
	slurm_needs
	# Another program may have one of its ports.
	for slurm_attempt in 1 2 3; do
		slurm_folder
		slurm_guard
		slurm_try "${slurm_first_port:-$(slurm_port)}" >"$slurm/start.log" 2>&1 && return
		slurm_first_port=
		tail -n 5 "$slurm"/*.log | cut -c1-200 | comment
		unset SLURM_CONF
		slurm_stop
	done
	cannot "it does not start here, $slurm_attempt times"
}
