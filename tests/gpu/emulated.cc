/* SPDX-License-Identifier: MIT */
/* Built without sanitizers, which are told here what switches stacks and who waits for whom. */
#include "emulated.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <pthread.h>
#include <random>
#include <semaphore.h>
#include <ucontext.h>
#include <vector>

#ifdef WATCH_STACKS
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WATCH_RACES
#include <sanitizer/tsan_interface.h>
#endif
#ifdef WATCH_VALUES
#include <sanitizer/msan_interface.h>
#endif

enum { WORKERS = 3, WARP = 32, MOST_THREADS = 1024, STACK_BYTES = 128 * 1024 };

enum state { RUNS, AT_BLOCK, AT_WARP, ENDED };

/* What one thread of a block runs on. */
struct fiber {
	ucontext_t context;
	std::unique_ptr<char[]> stack;
	enum state state;
	unsigned block_barriers, warp_barriers; /* that it is through */
};

/* The two sides of a barrier: who is through one may be at the next before others have left. */
struct barrier {
	char sides[2];
};

struct shared {
	void *memory;
	size_t bytes;
};

/* A thread of the host, which runs blocks one after another. */
struct worker {
	sem_t go, done; /* one launch after another */
	ucontext_t scheduler;
	const void *stack; /* the scheduler's */
	size_t stack_bytes;
	void *watched;             /* the race detector's name for the scheduler */
	std::vector<void *> names; /* and for threads of a block */
	std::vector<struct fiber> fibers;
	std::vector<unsigned> order;
	unsigned current;
	const struct launched *launch;
	unsigned index;
	std::mt19937 random;
	std::vector<struct shared> shared;
	struct barrier block, warps[MOST_THREADS / WARP];
	/* What one block did is seen by the next of this worker, but not from thread to thread. */
	char begin, end;
	unsigned long long slots[MOST_THREADS];
};

struct launched {
	dim3 grid;
	unsigned threads, workers;
	const std::function<void()> *body;
	std::vector<unsigned> blocks; /* in a random order */
};

thread_local uint3 threadIdx, blockIdx;
thread_local dim3 blockDim, gridDim;
static thread_local struct worker *here;

/* Of memory that stands for something: what was done before release() is seen after acquire(). */
static void release(void *x)
{
#ifdef WATCH_RACES
	__tsan_release(x);
#else
	(void)x;
#endif
}

static void acquire(void *x)
{
#ifdef WATCH_RACES
	__tsan_acquire(x);
#else
	(void)x;
#endif
}

static void fail(const char *what)
{
	fprintf(stderr, "emulated: block (%u, %u), thread %u: %s\n", blockIdx.x, blockIdx.y,
		threadIdx.x, what);
	abort();
}

static void to_thread(struct worker *w, unsigned i)
{
	struct fiber *f = &w->fibers[i];
#ifdef WATCH_STACKS
	void *kept = NULL;

	__sanitizer_start_switch_fiber(&kept, f->stack.get(), STACK_BYTES);
#endif
	w->current = i;
	threadIdx = {i, 0, 0};
#ifdef WATCH_RACES
	__tsan_switch_to_fiber(w->names[(i + 37 * (size_t)blockIdx.x) % w->launch->threads],
			       __tsan_switch_to_fiber_no_sync);
#endif
	swapcontext(&w->scheduler, &f->context);
#ifdef WATCH_STACKS
	__sanitizer_finish_switch_fiber(kept, NULL, NULL);
#endif
}

static void to_scheduler(struct worker *w, enum state state)
{
	struct fiber *f = &w->fibers[w->current];
#ifdef WATCH_STACKS
	void *kept = NULL;

	__sanitizer_start_switch_fiber(state == ENDED ? NULL : &kept, w->stack, w->stack_bytes);
#endif
	f->state = state;
#ifdef WATCH_RACES
	__tsan_switch_to_fiber(w->watched, __tsan_switch_to_fiber_no_sync);
#endif
	swapcontext(&f->context, &w->scheduler);
#ifdef WATCH_STACKS
	__sanitizer_finish_switch_fiber(kept, NULL, NULL);
#endif
}

static void thread_main(void)
{
	struct worker *w = here;
#ifdef WATCH_STACKS
	__sanitizer_finish_switch_fiber(NULL, &w->stack, &w->stack_bytes);
#endif
	acquire(&w->begin);
	(*w->launch->body)();
	release(&w->end);
	to_scheduler(w, ENDED);
}

static void meet(struct worker *w, struct barrier *barrier, unsigned *passed, enum state state)
{
	char *side = &barrier->sides[(*passed)++ % 2];

	release(side);
	to_scheduler(w, state);
	acquire(side);
}

void __syncthreads(void)
{
	struct worker *w = here;

	meet(w, &w->block, &w->fibers[w->current].block_barriers, AT_BLOCK);
}

void __syncwarp(void)
{
	struct worker *w = here;

	meet(w, &w->warps[w->current / WARP], &w->fibers[w->current].warp_barriers, AT_WARP);
}

unsigned long long emulated_shuffle(unsigned mask, unsigned long long bits, int from)
{
	struct worker *w = here;
	unsigned long long *slots = &w->slots[w->current / WARP * WARP];

	if (mask != 0xffffffff)
		fail("a shuffle among fewer than a warp is not emulated");
	slots[w->current % WARP] = bits;
	to_scheduler(w, AT_WARP);
	if (from < WARP)
		bits = slots[from];
	to_scheduler(w, AT_WARP);
	return bits;
}

void *emulated_shared(void *memory, size_t bytes)
{
	for (const struct shared &known : here->shared)
		if (known.memory == memory)
			return memory;
	here->shared.push_back({memory, bytes});
	return memory;
}

/* All that order themselves by fences do it by one: more than a GPU promises. */
void __threadfence(void)
{
	static char fences;

	acquire(&fences);
	release(&fences);
}

unsigned atomicAdd(unsigned *to, unsigned more)
{
	return __atomic_fetch_add(to, more, __ATOMIC_RELAXED);
}

/* Who waits for a time lets the others wait for it too. */
long long emulated_nanoseconds(void)
{
	struct timespec now;

	to_scheduler(here, RUNS);
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Lets those of fibers first .. end - 1 go on who wait so, if all of them do. */
static bool let_go(struct worker *w, unsigned first, unsigned end, enum state waits)
{
	for (unsigned i = first; i < end; i++)
		if (w->fibers[i].state != waits)
			return false;
	for (unsigned i = first; i < end; i++)
		w->fibers[i].state = RUNS;
	return true;
}

static void start_threads(struct worker *w, unsigned threads)
{
	for (unsigned i = 0; i < threads; i++) {
		struct fiber *f = &w->fibers[i];

		getcontext(&f->context);
		f->context.uc_stack.ss_sp = f->stack.get();
		f->context.uc_stack.ss_size = STACK_BYTES;
		makecontext(&f->context, thread_main, 0);
		f->state = RUNS;
		f->block_barriers = f->warp_barriers = 0;
	}
}

static void forget_shared(const struct worker *w)
{
	for (const struct shared &known : w->shared) {
		memset(known.memory, 0xa5, known.bytes);
#ifdef WATCH_VALUES
		__msan_poison(known.memory, known.bytes);
#endif
	}
}

/* Opens barriers to which all have come. false: there is nobody to go on. */
static bool open_barriers(struct worker *w)
{
	unsigned threads = w->launch->threads;
	bool go_on = let_go(w, 0, threads, AT_BLOCK);

	for (unsigned i = 0; i < threads; i += WARP)
		if (let_go(w, i, std::min(i + WARP, threads), AT_WARP))
			go_on = true;
	for (unsigned i = 0; i < threads; i++)
		go_on = go_on || w->fibers[i].state == RUNS;
	return go_on;
}

/* From barrier to barrier, until all have ended. */
static void run_block(struct worker *w)
{
	start_threads(w, w->launch->threads);
	forget_shared(w);
	release(&w->begin);
	while (open_barriers(w)) {
		std::shuffle(w->order.begin(), w->order.end(), w->random);
		for (unsigned i : w->order)
			if (w->fibers[i].state == RUNS)
				to_thread(w, i);
	}
	for (unsigned i = 0; i < w->launch->threads; i++)
		if (w->fibers[i].state != ENDED)
			fail("not all come to a barrier at which others wait");
	acquire(&w->end);
}

static void run_blocks(struct worker *w)
{
	const struct launched *launch = w->launch;

#ifdef WATCH_RACES
	while (w->names.size() < launch->threads)
		w->names.push_back(__tsan_create_fiber(0));
#endif
	blockDim = dim3(launch->threads);
	gridDim = launch->grid;
	for (size_t i = w->index; i < launch->blocks.size(); i += launch->workers) {
		unsigned block = launch->blocks[i];

		blockIdx = {block % launch->grid.x, block / launch->grid.x, 0};
		run_block(w);
	}
}

static void *work(void *argument)
{
	struct worker *w = (struct worker *)argument;

	here = w;
#ifdef WATCH_RACES
	w->watched = __tsan_get_current_fiber();
#endif
	for (;;) {
		sem_wait(&w->go);
		run_blocks(w);
		sem_post(&w->done);
	}
	return NULL;
}

static void start_worker(struct worker *w)
{
	pthread_t thread;

	sem_init(&w->go, 0, 0);
	sem_init(&w->done, 0, 0);
	if (pthread_create(&thread, NULL, work, w) != 0)
		fail("the host has no thread for it");
	pthread_detach(thread);
}

static void prepare(struct worker *w, const struct launched *launch, unsigned index,
		    std::mt19937 &random)
{
	w->launch = launch;
	w->index = index;
	w->random.seed(random());
	w->order.resize(launch->threads);
	for (unsigned i = 0; i < launch->threads; i++)
		w->order[i] = i;
	while (w->fibers.size() < launch->threads) {
		w->fibers.emplace_back();
		w->fibers.back().stack.reset(new char[STACK_BYTES]);
	}
}

void emulated_run(dim3 grid, unsigned threads, const std::function<void()> &body)
{
	static struct worker workers[WORKERS];
	static std::mt19937 random(1);
	static bool started;
	unsigned blocks = grid.x * grid.y;
	struct launched launch = {grid, threads, std::min(blocks, (unsigned)WORKERS), &body, {}};

	if (blocks == 0 || grid.z != 1 || threads == 0 || threads > MOST_THREADS)
		fail("no such launch");
	for (unsigned i = 0; i < WORKERS && !started; i++)
		start_worker(&workers[i]);
	started = true;
	for (unsigned i = 0; i < blocks; i++)
		launch.blocks.push_back(i);
	std::shuffle(launch.blocks.begin(), launch.blocks.end(), random);
	for (unsigned i = 0; i < launch.workers; i++) {
		prepare(&workers[i], &launch, i, random);
		sem_post(&workers[i].go);
	}
	for (unsigned i = 0; i < launch.workers; i++)
		sem_wait(&workers[i].done);
}
