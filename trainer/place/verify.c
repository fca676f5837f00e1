/* SPDX-License-Identifier: MIT */
/* See verify.h. */
#include "place/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"
#include "report/format.h"
#include "report/summary.h"

struct verify {
	int pid;
	struct gpu_use *before;
	int before_count;
};

bool verify_open(struct verify **ret, int pid, struct train_error *error)
{
	struct verify *v = xcalloc(1, sizeof(*v));

	v->pid = pid;
	if (!gpu_memory_read(pid, &v->before, &v->before_count, error)) {
		verify_close(v);
		return false;
	}
	*ret = v;
	return true;
}

void verify_close(struct verify *v)
{
	if (!v)
		return;
	free(v->before);
	free(v);
}

/* What ranks share before and after they read memory. */
struct share {
	int32_t pid;
	char host[64];
	struct place_device mine;
	struct verify_verdict verdict;
};

static bool exchange(struct communicator *comm, const struct share *mine, struct share *all,
		     struct train_error *error)
{
	return comm->calls->all_gather(comm, mine, all, sizeof(*mine), "the verified mapping",
				       error);
}

/* The GPUs of ranks on this machine. A UUID is the same everywhere, a number is not. */
static int neighbours(struct place_device *gpus, const struct share *all, int world,
		      const char *host)
{
	int count = 0;

	for (int i = 0; i < world; i++)
		if (*all[i].mine.uuid || strcmp(all[i].host, host) == 0)
			gpus[count++] = all[i].mine;
	return count;
}

static bool judge(const struct verify_options *o, const struct share *all, int world,
		  struct share *mine, struct train_error *error)
{
	CLEANUP_FREE struct place_device *others = xmalloc((size_t)world * sizeof(*others));
	CLEANUP_FREE struct gpu_use *now = NULL;
	struct verify_facts facts = {
		.before = o->verify->before,
		.before_count = o->verify->before_count,
		.own = o->own,
		.own_count = o->own_count,
		.others = others,
	};

	if (!gpu_memory_read(mine->pid, &now, &facts.now_count, error))
		return false;
	facts.now = now;
	facts.others_count = neighbours(others, all, world, mine->host);
	verify_judge(&mine->verdict, &facts);
	return true;
}

/* --- the messages ---------------------------------------------------------------------------- */

enum { WHO = 224, WHOSE = 96 };

/* "HOST: GPU 3, instance 1 (0000:5e:00.0, MIG-...)" */
static void name_gpu(char text[WHO], const struct share *found, bool hosts)
{
	const struct verify_verdict *v = &found->verdict;
	char mig[32] = "";

	if (v->mig >= 0)
		snprintf(mig, sizeof(mig), ", instance %d", (int)v->mig);
	snprintf(text, WHO, "%s%sGPU %d%s (%s%s%s)", hosts ? found->host : "", hosts ? ": " : "",
		 (int)v->gpu, mig, v->pci, *v->pci && *v->uuid ? ", " : "",
		 *v->uuid  ? v->uuid
		 : *v->pci ? ""
			   : "its UUID is not known");
}

/* How many other processes have memory there too. */
static int count_more(const struct share *all, int world, int first)
{
	const struct share *found = &all[first];
	int more = 0;

	for (int i = first + 1; i < world; i++)
		more += all[i].verdict.fault == VERIFY_STRAY &&
			strcmp(all[i].host, found->host) == 0 &&
			all[i].verdict.gpu == found->verdict.gpu &&
			all[i].verdict.mig == found->verdict.mig;
	return more;
}

/* The process; its rank and GPU too if there are several, each with a GPU. */
static void name_process(char text[WHOSE], const struct share *all, int rank,
			 const struct verify_options *o)
{
	snprintf(text, WHOSE, "pid %d", (int)all[rank].pid);
	if (o->own_count == 1)
		text_append(text, WHOSE, " (rank %d on GPU %d)", rank, all[rank].mine.physical);
}

static bool fail_stray(const struct share *all, int world, int rank, const char *gpu,
		       const char *process, const char *when, struct train_error *error)
{
	const struct verify_verdict *v = &all[rank].verdict;
	char amount[NUMBER_TEXT] = "memory", more[WHOSE] = "";
	int others = count_more(all, world, rank);

	if (v->bytes >= 0)
		number_bytes(amount, v->bytes);
	if (!v->by_process)
		return train_fail(error, TRAIN_FAILED,
				  "%s: %s more in use %s than before this run, and the mapping "
				  "does not name it (rule G5); process ids are hidden, so it may "
				  "be another program's; set the device before anything else asks "
				  "CUDA",
				  gpu, amount, when);
	if (others)
		snprintf(more, sizeof(more), ", and of %d more process%s of this run", others,
			 others == 1 ? "" : "es");
	return train_fail(error, TRAIN_FAILED,
			  "%s: %s%s of %s %s%s, where the mapping does not put it (rule G5); set "
			  "the device before anything else asks CUDA, or give each rank only its "
			  "own GPU: gpumap run --share isolate",
			  gpu, v->at_least ? "at least " : "", amount, process, when, more);
}

static bool fail(const struct share *all, int world, int rank, const struct verify_options *o,
		 struct train_error *error)
{
	const struct verify_verdict *v = &all[rank].verdict;
	char gpu[WHO], process[WHOSE];

	name_gpu(gpu, &all[rank], several_hosts(all->host, sizeof(*all), world));
	name_process(process, all, rank, o);
	switch ((enum verify_fault)v->fault) {
	case VERIFY_STRAY:
		return fail_stray(all, world, rank, gpu, process, o->when, error);
	case VERIFY_NOTHING:
		return train_fail(error, TRAIN_FAILED,
				  "%s: the mapping names it for %s, but %s %s; look at "
				  "CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER",
				  gpu, process,
				  v->by_process ? "that has no memory there"
						: "no more is in use there than before this run",
				  o->when);
	case VERIFY_UNREAD:
		return train_fail(error, TRAIN_FAILED,
				  "%s: the mapping names it for %s, and NVML cannot read it %s: "
				  "%s; look at nvidia-smi, or leave out --verify-mapping",
				  gpu, process, o->when, v->why);
	default:
		return train_fail(error, TRAIN_FAILED,
				  "%s: the mapping names it for %s, and NVML does not show it; "
				  "nvidia-smi -L lists what is here",
				  gpu, process);
	}
}

/* The weakest method of all ranks counts for all. */
static void describe(char text[VERIFY_TEXT], const struct share *all, int world, const char *when)
{
	static const char *const by[] = {
		[VERIFY_BY_PROCESS] = "NVML, by process",
		[VERIFY_BY_DIFFERENCE] =
			"NVML, by what GPUs have in use, as process ids are hidden",
		[VERIFY_BY_BOTH] = "NVML, by process, and where those are not listed by what GPUs "
				   "have in use",
	};
	enum verify_how how = VERIFY_BY_PROCESS;
	bool left_out = false;

	for (int i = 0; i < world; i++) {
		enum verify_how this = (enum verify_how)all[i].verdict.how;

		if (this == VERIFY_BY_DIFFERENCE ||
		    (this == VERIFY_BY_BOTH && how == VERIFY_BY_PROCESS))
			how = this;
		left_out = left_out || all[i].verdict.left_out;
	}
	snprintf(text, VERIFY_TEXT,
		 "verified %s (%s): memory is on the GPUs it names, and on no other%s", when,
		 by[how], left_out ? "; other GPUs cannot be read" : "");
}

bool verify_look(const struct verify_options *o, struct communicator *comm, char text[VERIFY_TEXT],
		 struct train_error *error)
{
	CLEANUP_FREE struct share *all = xcalloc((size_t)comm->world, sizeof(*all));
	struct share mine;

	memset(&mine, 0, sizeof(mine)); /* it is sent */
	mine.pid = o->verify ? (int32_t)o->verify->pid : 0;
	gethostname(mine.host, sizeof(mine.host) - 1);
	mine.mine = o->mine;
	if (!exchange(comm, &mine, all, error) ||
	    (o->verify && !judge(o, all, comm->world, &mine, error)) ||
	    !exchange(comm, &mine, all, error))
		return false;
	for (int i = 0; i < comm->world; i++)
		if (all[i].verdict.fault != VERIFY_GOOD)
			return fail(all, comm->world, i, o, error);
	describe(text, all, comm->world, o->when);
	return true;
}
