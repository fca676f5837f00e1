/* SPDX-License-Identifier: MIT */
/* Xid events in the kernel's log. A log that cannot be read is not visible, never empty. */
#include "check.h"

static void judge_log(const struct facts *facts, struct verdict *verdict, const struct fact *fact,
		      const char *fix, const char *what)
{
	if (!has_gpu(facts) && fact->sight != SEEN)
		return;
	fine(verdict);
	if (!is_unseen(verdict, fact, "the kernel's log") && fact->sight == SEEN)
		wrong(verdict, fix,
		      "Xid %s in the last 24 hours, of a GPU that this process uses: %s",
		      fact->text, what);
}

void check_xid(const struct facts *facts, struct verdict *verdict)
{
	judge_log(facts, verdict, &facts->xid,
		  "look up the number in NVIDIA's list of Xid errors; " ON_HOST
		  "dmesg -T | grep Xid shows the time and the GPU",
		  "a GPU, its link or the driver had a fault");
}

void check_xid_program(const struct facts *facts, struct verdict *verdict)
{
	judge_log(facts, verdict, &facts->xid_program, "run the program with compute-sanitizer",
		  "a program made an error on a GPU");
}
