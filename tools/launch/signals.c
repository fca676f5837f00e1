/* SPDX-License-Identifier: MIT */
#include "supervisor.h"

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

int launch_signal(const char *name)
{
	int64_t number = span_number(span_of(name), NSIG - 1);

	if (number >= 0)
		return (int)number;
	if (starts_with(name, "SIG"))
		name += strlen("SIG");
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (streq(signals[i].name, name))
			return signals[i].number;
	return 0;
}

const char *signal_text(int number, char ret[16])
{
	snprintf(ret, 16, "signal %d", number);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (signals[i].number == number)
			snprintf(ret, 16, "SIG%s", signals[i].name);
	return ret;
}
