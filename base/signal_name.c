/* SPDX-License-Identifier: MIT */
/* See signal_name.h. */
#include "signal_name.h"

#include <signal.h>
#include <stdio.h>

static const struct {
	int number;
	const char *name;
} signals[] = {
	{SIGHUP, "HUP"},   {SIGINT, "INT"},     {SIGQUIT, "QUIT"},     {SIGILL, "ILL"},
	{SIGTRAP, "TRAP"}, {SIGABRT, "ABRT"},   {SIGBUS, "BUS"},       {SIGFPE, "FPE"},
	{SIGKILL, "KILL"}, {SIGUSR1, "USR1"},   {SIGSEGV, "SEGV"},     {SIGUSR2, "USR2"},
	{SIGPIPE, "PIPE"}, {SIGALRM, "ALRM"},   {SIGTERM, "TERM"},     {SIGCHLD, "CHLD"},
	{SIGCONT, "CONT"}, {SIGSTOP, "STOP"},   {SIGTSTP, "TSTP"},     {SIGTTIN, "TTIN"},
	{SIGTTOU, "TTOU"}, {SIGURG, "URG"},     {SIGXCPU, "XCPU"},     {SIGXFSZ, "XFSZ"},
	{SIGPROF, "PROF"}, {SIGWINCH, "WINCH"}, {SIGVTALRM, "VTALRM"}, {SIGIO, "IO"},
	{SIGPWR, "PWR"},   {SIGSYS, "SYS"},
};

int signal_number(struct span name)
{
	if (span_starts(name, "SIG"))
		name = (struct span){name.text + 3, name.length - 3};
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (span_is(name, signals[i].name))
			return signals[i].number;
	return 0;
}

const char *signal_name(int number)
{
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (signals[i].number == number)
			return signals[i].name;
	return NULL;
}

const char *signal_text(int number, char ret[16])
{
	const char *name = signal_name(number);

	if (name)
		snprintf(ret, 16, "SIG%s", name);
	else
		snprintf(ret, 16, "signal %d", number);
	return ret;
}
