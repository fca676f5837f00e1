/* SPDX-License-Identifier: MIT */
/* This file is built without the address and thread sanitizers: it reports switches of stacks and
 * waits to them. It is built with the value sanitizer, which would otherwise take the values that
 * this file writes for unwritten ones. */
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

#include "emulated-watch.h"

enum { WORKERS = 3, WARP = EMULATED_WARP, MAX_THREADS = 1024, STACK_BYTES = 128 * 1024 };

enum state { RUNS, AT_BLOCK, AT_WARP, AT_SHUFFLE, AT_SHUFFLED, ENDED };

/* What one thread of a block runs on. */
struct fiber {
	ucontext_t context;
	std::unique_ptr<char[]> stack;
	enum state state;
	unsigned block_barriers, warp_barriers; /* how many it has passed */
};

/* The two sides of a barrier: a thread that has passed it may reach the next barrier before others
 * have left this one. */
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
	/* The race detector's names: for the scheduler, for a carrier of order between fences and
	 * atomic operations, and for the threads of a block. */
	void *watched, *carrier;
	std::vector<void *> names;
	std::vector<struct fiber> fibers;
	std::vector<unsigned> order;
	unsigned current;
	const struct launched *launch;
	unsigned index;
	std::mt19937 random;
	std::vector<struct shared> shared;
	struct barrier block, warps[MAX_THREADS / WARP];
	/* Blocks of one worker are ordered: races are seen between those of different workers. */
	char begin, end;
	char in, out; /* of fences: what others did before, and what was done here */
	unsigned long long slots[MAX_THREADS];
	unsigned words[MAX_THREADS][EMULATED_WORDS];
};

struct launched {
	dim3 grid;
	unsigned threads, workers;
	/* Each thread of a block has its own name, which shows races among them; otherwise all
	 * threads of a worker share one. Detectors have too few names to tell the threads of
	 * several blocks apart. */
	bool apart;
	const std::function<void()> *body;
	std::vector<unsigned> blocks; /* in a random order */
};

thread_local uint3 threadIdx, blockIdx;
thread_local dim3 blockDim, gridDim;
static thread_local struct worker *here;

static void fail(const char *what)
{
	fprintf(stderr, "emulated: block (%u, %u), thread %u: %s\n", blockIdx.x, blockIdx.y,
		threadIdx.x, what);
	abort();
}

static void to_thread(struct worker *w, unsigned i)
{
	struct fiber *f = &w->fibers[i];
	void *kept = NULL;

	watch_leave(&kept, f->stack.get(), STACK_BYTES);
	w->current = i;
	threadIdx = {i, 0, 0};
	if (w->launch->apart)
		watch_as(w->names[i]);
	swapcontext(&w->scheduler, &f->context);
	watch_arrive(kept, NULL, NULL);
}

static void to_scheduler(struct worker *w, enum state state)
{
	struct fiber *f = &w->fibers[w->current];
	void *kept = NULL;

	watch_leave(state == ENDED ? NULL : &kept, w->stack, w->stack_bytes);
	f->state = state;
	if (w->launch->apart)
		watch_as(w->watched);
	swapcontext(&f->context, &w->scheduler);
	watch_arrive(kept, NULL, NULL);
}

static void thread_main(void)
{
	struct worker *w = here;

	watch_arrive(NULL, &w->stack, &w->stack_bytes);
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

static void want_warp(const struct worker *w, const char *what)
{
	if (w->current / WARP * WARP + WARP > w->launch->threads)
		fail(what);
}

unsigned long long emulated_shuffle(unsigned mask, unsigned long long bits, int from)
{
	struct worker *w = here;
	unsigned warp = w->current / WARP * WARP;
	unsigned long long *slots = &w->slots[warp];

	if (mask != 0xffffffff)
		fail("a shuffle among fewer than a warp is not emulated");
	want_warp(w, "a shuffle among fewer than a warp is not emulated");
	slots[w->current % WARP] = bits;
	to_scheduler(w, AT_SHUFFLE);
	if (from < WARP)
		bits = slots[from];
	to_scheduler(w, AT_SHUFFLED);
	return bits;
}

/* Word by word: detectors would take a copy of memory for one by the thread. */
void emulated_gather(const unsigned *own, int count, unsigned *all)
{
	struct worker *w = here;
	unsigned warp = w->current / WARP * WARP;
	volatile unsigned *slots = w->words[w->current];

	want_warp(w, "a product by fewer than a warp is not emulated");
	for (int i = 0; i < count; i++)
		slots[i] = own[i];
	to_scheduler(w, AT_SHUFFLE);
	for (int i = 0; i < WARP * count; i++)
		all[i] = ((volatile unsigned *)w->words[warp + i / count])[i % count];
	to_scheduler(w, AT_SHUFFLED);
}

/* Not by memset: detectors would take it for a write of the thread. */
static void forget(const struct shared &shared)
{
	for (size_t i = 0; i < shared.bytes; i++)
		((volatile unsigned char *)shared.memory)[i] = 0xa5;
	watch_unwritten(shared.memory, shared.bytes);
}

void *emulated_shared(void *memory, size_t bytes)
{
	for (const struct shared &known : here->shared)
		if (known.memory == memory)
			return memory;
	here->shared.push_back({memory, bytes});
	forget(here->shared.back());
	return memory;
}

/* A thread that passes a fence of its own after it saw a later atomic operation of this thread sees
 * all that was done before this fence. */
void __threadfence(void)
{
	acquire(&here->in);
	release(&here->out);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

unsigned atomicAdd(unsigned *to, unsigned more)
{
	void *own = watch_self();
	unsigned before;

	watch_as(here->carrier);
	acquire(&here->out);
	release(to);
	before = __atomic_fetch_add(to, more, __ATOMIC_RELAXED);
	acquire(to);
	release(&here->in);
	watch_as(own);
	return before;
}

/* A thread that waits for a time lets the other threads run meanwhile. */
long long emulated_nanoseconds(void)
{
	struct timespec now;

	to_scheduler(here, RUNS);
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Lets fibers first to end - 1 go on, if all of them wait for this. */
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
		watch_begin(&f->context);
		f->state = RUNS;
		f->block_barriers = f->warp_barriers = 0;
	}
}

/* Opens barriers that all threads have reached. False: no thread can go on. */
static bool open_barriers(struct worker *w)
{
	unsigned threads = w->launch->threads;
	bool go_on = let_go(w, 0, threads, AT_BLOCK);

	for (unsigned i = 0; i < threads; i += WARP)
		for (enum state state : {AT_WARP, AT_SHUFFLE, AT_SHUFFLED})
			if (let_go(w, i, std::min(i + WARP, threads), state))
				go_on = true;
	for (unsigned i = 0; i < threads; i++)
		go_on = go_on || w->fibers[i].state == RUNS;
	return go_on;
}

/* Runs the threads from barrier to barrier, until all have ended. */
static void run_block(struct worker *w)
{
	start_threads(w, w->launch->threads);
	for (const struct shared &known : w->shared)
		forget(known);
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

	while (w->names.size() < launch->threads)
		w->names.push_back(watch_new());
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
	w->watched = watch_self();
	w->carrier = watch_new();
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
	static bool started, apart;
	unsigned blocks = grid.x * grid.y;
	struct launched launch = {grid,           threads, std::min(blocks, (unsigned)WORKERS),
				  apart = !apart, &body,   {}};

	if (blocks == 0 || grid.z != 1 || threads == 0 || threads > MAX_THREADS)
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
