/* SPDX-License-Identifier: MIT */
/*
 * The script around the ranks. Each rank runs in a session of its own, under a shell that writes
 * its status into a pipe: nothing polls, and when the pipe ends all have ended. Names begin with
 * gm_, because any other exported name belongs to the ranks.
 */
#include "emit/shell.h"

#include <signal.h>

#include "signal_name.h"

static const char starting[] =
	"set -u\n"
	"for gm_tool in env mkfifo mktemp setsid taskset; do\n"
	"\tcommand -v \"$gm_tool\" >/dev/null || {\n"
	"\t\techo \"$0: $gm_tool is missing\" >&2\n"
	"\t\texit 125\n"
	"\t}\n"
	"done\n"
	"gm_folder=$(mktemp -d) || exit 125\n"
	"trap 'rm -rf \"$gm_folder\"' EXIT\n"
	"mkfifo \"$gm_folder/ended\" || exit 125\n"
	"# shellcheck disable=SC2094\n"
	"exec 8<>\"$gm_folder/ended\" 9>\"$gm_folder/ended\"\n"
	"gm_groups='' gm_told='' gm_timers='' gm_stopping='' gm_signalled='' gm_first=''\n"
	"gm_count=0 gm_ended=0 gm_status=0\n"
	"# Commands in the background ignore these, and what they start would too.\n"
	"gm_reset=\n"
	"env --default-signal=INT,QUIT true 2>/dev/null && "
	"gm_reset='env --default-signal=INT,QUIT'\n"
	"\n"
	"# Reports that the rank can get signals now; the shell of a rank reports how it ended.\n"
	"# shellcheck disable=SC2016\n"
	"gm_inner='echo \"$0 begun $1\" >&9; shift; exec \"$@\" 2>&6 6>&- 9>&-'\n"
	"\n"
	"# gm_begin RANK FOLDER COMMAND...\n"
	"gm_begin() {\n"
	"\t(\n"
	"\t\tcd -- \"$2\" || {\n"
	"\t\t\techo \"$1 125\" >&9\n"
	"\t\t\texit\n"
	"\t\t}\n"
	"\t\tgm_rank=$1\n"
	"\t\tshift 2\n"
	"\t\t# shellcheck disable=SC2086,SC2016\n"
	"\t\texec 6>&2 8>&- $gm_reset setsid sh -c 'trap : '\"$gm_kept\"'\n"
	"\t\t\tgm_inner=$1\n"
	"\t\t\tshift\n"
	"\t\t\tsh -c \"$gm_inner\" \"$0\" \"$$\" \"$@\"\n"
	"\t\t\techo \"$0 $?\" >&9' \"$gm_rank\" \"$gm_inner\" \"$@\" 2>/dev/null\n"
	"\t) &\n"
	"\tgm_count=$((gm_count + 1))\n"
	"}\n"
	"\n"
	"# gm_begun GROUP: it gets the signals that came before; too late when the others are "
	"ended already\n"
	"gm_begun() {\n"
	"\tgm_groups=\"$gm_groups -$1\" gm_missed=$gm_told\n"
	"\t[ -z \"$gm_stopping\" ] || gm_missed=KILL\n"
	"\tfor gm_name in $gm_missed; do\n"
	"\t\tkill -s \"$gm_name\" -- \"-$1\" 2>/dev/null\n"
	"\tdone\n"
	"}\n"
	"\n"
	"# gm_tell SIGNAL: to all ranks and what they started\n"
	"gm_tell() {\n"
	"\tgm_told=\"$gm_told $1\"\n"
	"\tfor gm_group in $gm_groups; do\n"
	"\t\tkill -s \"$1\" -- \"$gm_group\" 2>/dev/null\n"
	"\tdone\n"
	"}\n"
	"\n"
	"# gm_after SECONDS COMMAND...\n"
	"gm_after() {\n"
	"\t# shellcheck disable=SC2016\n"
	"\tsetsid sh -c 'sleep \"$1\"; shift; \"$@\"' sh \"$@\" >/dev/null 2>&1 7<&- 8>&- 9>&- &\n"
	"\tgm_timers=\"$gm_timers -$!\"\n"
	"}\n"
	"\n"
	"# gm_stop STATUS: ends the ranks; a second time, at once\n"
	"gm_stop() {\n"
	"\tgm_signalled=yes\n"
	"\tif [ \"$gm_stopping\" ]; then\n"
	"\t\tgm_tell KILL\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tgm_stopping=yes\n"
	"\tgm_status=$1\n"
	"\tgm_tell \"$gm_signal\"\n"
	"\t# shellcheck disable=SC2086\n"
	"\t[ -z \"$gm_groups\" ] || gm_after \"$gm_grace\" kill -s KILL -- $gm_groups\n"
	"}\n"
	"\n"
	"# gm_failed RANK STATUS\n"
	"gm_failed() {\n"
	"\t[ -z \"$gm_stopping\" ] || return 0\n"
	"\techo \"$0: rank $1 ended with status $2\" >&2\n"
	"\tif [ \"$gm_wait\" ]; then\n"
	"\t\t[ \"$gm_first\" ] && [ \"$gm_first\" -lt \"$1\" ] && return 0\n"
	"\t\tgm_first=$1\n"
	"\t\tgm_status=$2\n"
	"\telse\n"
	"\t\tgm_stop \"$2\"\n"
	"\tfi\n"
	"}\n"
	"\n";

static const char waiting[] =
	"\n"
	"exec 7<\"$gm_folder/ended\" 8>&- 9>&-\n"
	"rm -rf \"$gm_folder\"\n"
	"while :; do\n"
	"\tif read -r gm_rank gm_code gm_group <&7; then\n"
	"\t\tcase $gm_code in\n"
	"\t\tbegun) gm_begun \"$gm_group\" ;;\n"
	"\t\t0) gm_ended=$((gm_ended + 1)) ;;\n"
	"\t\t*)\n"
	"\t\t\tgm_ended=$((gm_ended + 1))\n"
	"\t\t\tgm_failed \"$gm_rank\" \"$gm_code\"\n"
	"\t\t\t;;\n"
	"\t\tesac\n"
	"\telif [ \"$gm_signalled\" ]; then\n"
	"\t\tgm_signalled= # it interrupted\n"
	"\telse\n"
	"\t\tbreak\n"
	"\tfi\n"
	"done\n"
	"for gm_group in $gm_timers; do\n"
	"\t# It may be about to become a group.\n"
	"\tkill -s KILL -- \"$gm_group\" || kill -s KILL \"${gm_group#-}\"\n"
	"done 2>/dev/null\n"
	"wait 2>/dev/null\n"
	"# The shell of a rank was killed.\n"
	"[ \"$gm_ended\" -eq \"$gm_count\" ] || [ \"$gm_status\" -ne 0 ] || gm_status=137\n"
	"exit \"$gm_status\"\n";

/* The shell of a rank ignores all signals that a rank may get, so that it can report the rank's
 * status. */
static void put_kept(struct emitter *e, const char *kill_signal)
{
	emit_printf(e, "gm_kept='HUP INT QUIT TERM USR1 USR2 %s", kill_signal);
	for (int i = 1; i < NSIG; i++)
		if (emit_forwards(e, i))
			emit_printf(e, " %s", signal_name(i));
	emit_puts(e, "'\n");
}

static void put_traps(struct emitter *e)
{
	static const int ending[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};

	for (size_t i = 0; i < ARRAY_SIZE(ending); i++)
		if (!emit_forwards(e, ending[i]))
			emit_printf(e, "trap 'gm_stop %d' %s\n", 128 + ending[i],
				    signal_name(ending[i]));
	for (int i = 1; i < NSIG; i++)
		if (emit_forwards(e, i))
			emit_printf(e, "trap 'gm_signalled=yes; gm_tell %s' %s\n", signal_name(i),
				    signal_name(i));
}

void shell_begin(struct emitter *e)
{
	const char *kill_signal = signal_name((int)e->plan->settings.kill_signal.number);
	bool wait = emit_on_fail(e) == PLAN_ON_FAIL_WAIT;
	long long limit = emit_seconds(e, PKEY_PROFILE_timeout);

	emit_puts(e, starting);
	emit_printf(e, "gm_signal=%s gm_grace=%lld gm_wait=%s\n", kill_signal,
		    emit_seconds(e, PKEY_PROFILE_kill_grace), wait ? "yes" : "''");
	put_kept(e, kill_signal);
	put_traps(e);
	if (limit) {
		emit_printf(e, "trap 'gm_stop 124' ALRM\ngm_after %lld kill -s ALRM $$\n", limit);
	}
	emit_puts(e, "\n");
}

void shell_end(struct emitter *e)
{
	emit_puts(e, waiting);
}
