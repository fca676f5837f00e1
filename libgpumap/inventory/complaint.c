/* SPDX-License-Identifier: MIT */
/* Text that is not an inventory: error messages of nvidia-smi, and other outputs that people
 * mistake for one. This reader is the last: it gets the lines that no other reader takes. */
#include "inventory/recorded.h"

#define FIX_DRIVER "repair the driver on that machine, then record nvidia-smi -L"
#define FIX_GRANT "record it where nvidia-smi lists GPUs"
#define FIX_LOST "reset the GPU or reboot that machine, then record nvidia-smi -L"

static const struct {
	const char *phrase, *fix;
} failures[] = {
	{"No devices were found", FIX_GRANT},
	{"No devices found", FIX_GRANT},
	{"communicate with the NVIDIA driver", FIX_DRIVER},
	{"Failed to initialize NVML", FIX_DRIVER},
	{"Unable to determine the device handle", FIX_LOST},
	{"GPU is lost", FIX_LOST},
	{"fallen off the bus", FIX_LOST},
	{"NVIDIA-SMI has failed", FIX_DRIVER},
	{"NVIDIA-SMI couldn't find libnvidia-ml", FIX_DRIVER},
};

static const struct {
	const char *phrase, *what;
} foreign[] = {
	{"NCCL INFO", "the log of NCCL"},         {"NCCL WARN", "the log of NCCL"},
	{"tensorflow/", "the log of TensorFlow"}, {"NVSMI LOG", "the output of nvidia-smi -q"},
	{"ROCm System Management", "rocm-smi"},   {"rocm-smi", "rocm-smi"},
};

/* A shell that does not find nvidia-smi reports it in its own language, but always names it: "bash:
 * nvidia-smi: ...", "'nvidia-smi' ...", "zsh: ...: nvidia-smi". */
static bool is_not_found(struct span s)
{
	static const char command[] = "nvidia-smi";
	const char *at = span_find(s, command), *end = s.text + s.length, *after;

	if (!at)
		return false;
	after = at + strlen(command);
	if (after < end && strchr("'\"`", *after) && at > s.text && at[-1] == *after)
		return true;
	if (after < end && *after == ':')
		return true;
	if (after + 2 < end && after[0] == ' ' && after[1] == ':')
		return true; /* PowerShell */
	return after == end && at - s.text > 2 && at[-1] == ' ' && at[-2] == ':' &&
	       span_has(s, "not found");
}

static bool is_host_list(struct span s)
{
	bool letter = false, digit = false;

	for (size_t i = 0; i < s.length; i++) {
		char c = s.text[i];
		bool small = (c | 32) >= 'a' && (c | 32) <= 'z';

		if (!small && !is_digit(c) && (!c || !strchr("-.,_[]", c)))
			return false;
		letter = letter || small;
		digit = digit || is_digit(c);
	}
	return letter && digit;
}

static void count_hosts(struct recorded *r, struct span s)
{
	if (span_has(s, "scontrol show host") || (s.length > 1 && is_host_list(s)))
		r->complaint.hosts++;
	else if (s.length > 1)
		r->complaint.others++;
}

static int read_line(struct recorded *r, const struct line *line)
{
	struct span s = line->body;

	if (s.length < strlen("GPU is lost")) {
		count_hosts(r, s);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
		if (!span_has(s, failures[i].phrase))
			continue;
		recorded_partial(r, failures[i].fix, "nvidia-smi printed '%s'", QUOTE(s));
		if (streq(failures[i].fix, FIX_LOST))
			recorded_lost(r);
		return 0;
	}
	if (is_not_found(s)) {
		recorded_foreign(r, "install the NVIDIA driver, or record it on another machine",
				 "nvidia-smi was not found: '%s'", QUOTE(s));
		return 0;
	}
	for (size_t i = 0; !r->foreign.text && i < ARRAY_SIZE(foreign); i++)
		if (span_has(line->text, foreign[i].phrase))
			recorded_foreign(r, NULL, "this is %s, starting with '%s'", foreign[i].what,
					 QUOTE(span_trim(line->text)));
	count_hosts(r, s);
	return 0;
}

static void end(struct recorded *r)
{
	r->line = 0;
	if (r->complaint.hosts > r->complaint.others)
		recorded_foreign(r, NULL, "this is a list of hosts");
}

const struct format complaint_format = {.line = read_line, .end = end};
