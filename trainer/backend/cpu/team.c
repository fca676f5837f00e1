/* SPDX-License-Identifier: MIT */
/* See team.h. */
#include "backend/cpu/team.h"

#include <dlfcn.h>
#include <string.h>

struct share {
	const struct cpu_team *team;
	int64_t count;
	void (*work)(void *argument, int64_t first, int64_t last);
	void *argument;
};

static bool find(void *function, const char *name)
{
	void *symbol = dlsym(RTLD_DEFAULT, name);

	memcpy(function, &symbol, sizeof(symbol));
	return symbol != NULL;
}

bool cpu_team_open(struct cpu_team *team, int threads)
{
	void (*set)(int);

	*team = (struct cpu_team){.threads = threads};
	if (!find(&set, "omp_set_num_threads"))
		return threads == 1;
	set(threads);
	if (!find(&team->parallel, "GOMP_parallel") || !find(&team->rank, "omp_get_thread_num") ||
	    !find(&team->size, "omp_get_num_threads"))
		team->parallel = NULL;
	return true;
}

static void work_share(void *argument)
{
	const struct share *share = argument;
	int64_t rank = share->team->rank(), size = share->team->size();

	share->work(share->argument, share->count * rank / size, share->count * (rank + 1) / size);
}

void cpu_team_run(const struct cpu_team *team, int64_t count,
		  void (*work)(void *argument, int64_t first, int64_t last), void *argument)
{
	struct share share = {team, count, work, argument};

	if (team->threads > 1 && team->parallel)
		team->parallel(work_share, &share, (unsigned)team->threads, 0);
	else
		work(argument, 0, count);
}

enum { BLOCK = 1024 };

static void run_values(void *argument, int64_t first, int64_t last)
{
	const struct share *all = argument;

	last *= BLOCK;
	all->work(all->argument, first * BLOCK, last < all->count ? last : all->count);
}

void cpu_team_run_values(const struct cpu_team *team, int64_t count,
			 void (*work)(void *argument, int64_t first, int64_t last), void *argument)
{
	struct share all = {team, count, work, argument};

	cpu_team_run(team, (count + BLOCK - 1) / BLOCK, run_values, &all);
}
