/* SPDX-License-Identifier: MIT */
/* Checks the variables of an environment: lists, orders, ranks, ports, misspelt names. */
#include "lint/environment.h"

#include "request/rank_identity.h"
#include "request/request.h"
#include "suggest.h"
#include "report/report.h"

#define ENVIRONMENT "environment"

const char *unread_variable(struct span name)
{
	const char *near = misspelt_variable(name);

	if (!near &&
	    span_is_any(name, "CUDA_VISIBLE CUDA_VISIBLE_GPU CUDA_VISIBLE_GPUS "
			      "CUDA_VISIBLE_CARDS CUDA_VISIBLE_ID CUDA_VISIBLE_IDS "
			      "CUDA_AVAILABLE_DEVICE CUDA_AVAILABLE_DEVICES CUDA_AVAILABLE_GPUS "
			      "CUDA_ACTIVE_DEVICES CUDA_ENABLED_DEVICES CUDA_USE_DEVICES "
			      "CUDA_USED_DEVICES CUDA_DEVICE_VISIBLE CUDA_DEVICES_VISIBLE "
			      "GPU_VISIBLE_DEVICE GPU_VISIBLE_DEVICES GPUS_VISIBLE_DEVICES "
			      "GPU_AVAILABLE_DEVICES CUDA_GPU_VISIBLE_DEVICES "
			      "TORCH_VISIBLE_DEVICES PYTORCH_VISIBLE_DEVICES "
			      "TORCH_CUDA_VISIBLE_DEVICES VISIBLE_CUDA_DEVICES"))
		return "CUDA_VISIBLE_DEVICES";
	return near;
}

static void check_unread(const char *const *envp, gpumap_report *report)
{
	for (; *envp; envp++) {
		struct span name = {*envp, strcspn(*envp, "=")};

		if (unread_variable(name) && !misspelt_variable(name))
			report_add(report, FINDING_MISSPELT_VARIABLE,
				   ABOUT(.rule = "S7", .origin = ENVIRONMENT,
					 .fix = DID_YOU_MEAN(unread_variable(name), NULL)),
				   "neither CUDA nor PyTorch reads %s", QUOTE(name));
	}
}

/* RANK, WORLD_SIZE and LOCAL_RANK belong together: a single one is left from an earlier run. */
static void check_ranks(const char *const *envp, size_t rows, gpumap_report *report)
{
	static const char *const names[] = {"RANK", "WORLD_SIZE", "LOCAL_RANK"};
	const char *set = NULL, *missing = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		bool there = environ_find(envp, names[i]) != NULL;

		set = there && !set ? names[i] : set;
		missing = !there && !missing ? names[i] : missing;
	}
	if (!rows && set && missing)
		report_add(report, FINDING_HALF_SET,
			   ABOUT(.rule = "R1", .origin = ENVIRONMENT,
				 .fix = "unset what is left over, or start the program by its "
					"launcher"),
			   "%s=%s without %s: ranks would wait for each other, or all be the same",
			   set, QUOTE(span_of(environ_find(envp, set))), missing);
}

static void check_master(const char *const *envp, gpumap_report *report)
{
	const char *addr = environ_find(envp, "MASTER_ADDR"),
		   *port = environ_find(envp, "MASTER_PORT");

	if ((addr && !port) || (port && !addr))
		report_add(report, FINDING_HALF_SET,
			   ABOUT(.origin = ENVIRONMENT,
				 .fix = "set both or neither: torchrun and gpumap run set them"),
			   "MASTER_%s without MASTER_%s: ranks cannot meet", addr ? "ADDR" : "PORT",
			   addr ? "PORT" : "ADDR");
	if (port && span_number(span_of(port), 65535) <= 0)
		report_add(report, FINDING_HALF_SET,
			   ABOUT(.origin = ENVIRONMENT, .fix = "write a number from 1024 to 65535"),
			   "MASTER_PORT=%s is not a port", QUOTE(span_of(port)));
}

/* Values that are useful for a moment and then forgotten. */
static const struct advice {
	const char *name, *value; /* NULL: any */
	const char *text, *fix;
} advices[] = {
	{"CUDA_LAUNCH_BLOCKING", "1", "every kernel is waited for: for debugging alone",
	 "unset it for real runs"},
	{"NCCL_MULTI_RANK_GPU_ENABLE", "1", "ranks on one GPU by mistake are no longer refused",
	 "unset it, and give each rank a GPU"},
	{"NCCL_P2P_DISABLE", "1",
	 "GPUs of one host exchange data through its memory, which is slow",
	 "unset it unless peer access is broken here"},
	{"NCCL_IB_DISABLE", "1",
	 "hosts exchange data through sockets, even where there is InfiniBand",
	 "unset it unless InfiniBand is broken here"},
	{"NCCL_SHM_DISABLE", "1", "GPUs of one host exchange data through the network",
	 "unset it unless /dev/shm is too small"},
};

static void check_advice(const char *const *envp, const struct rank_identity *row,
			 gpumap_report *report)
{
	const char *interface = environ_find(envp, "GLOO_SOCKET_IFNAME");
	bool several = row && (row->local_size > 1 || (row->local_size < 0 && row->size > 1));

	for (size_t i = 0; i < ARRAY_SIZE(advices); i++) {
		const char *value = environ_find(envp, advices[i].name);

		if (value && streq(value, advices[i].value))
			report_add(report, FINDING_SLOW_SETTING,
				   ABOUT(.origin = ENVIRONMENT, .fix = advices[i].fix), "%s=%s: %s",
				   advices[i].name, value, advices[i].text);
	}
	if (interface && strpbrk(interface, "^,="))
		report_add(report, FINDING_SLOW_SETTING,
			   ABOUT(.origin = ENVIRONMENT,
				 .fix = "name one interface; NCCL_SOCKET_IFNAME takes lists"),
			   "GLOO_SOCKET_IFNAME=%s: gloo reads the whole value as one name",
			   QUOTE(span_of(interface)));
	if (several && !environ_find(envp, "OMP_NUM_THREADS"))
		report_add(report, FINDING_SLOW_SETTING,
			   ABOUT(.origin = ENVIRONMENT, .fix = "set it to the cores of a rank; "
							       "gpumap run does (threads = auto)"),
			   "OMP_NUM_THREADS is not set: each of several ranks starts a thread for "
			   "every core");
}

static int64_t resolve(const gpumap_request *request, const gpumap_inventory *inventory,
		       gpumap_report *report)
{
	OWNED(mapping) *mapping = NULL;
	int64_t visible = -1;

	if (gpumap_resolve(&mapping, request, inventory, report) == GPUMAP_OK &&
	    (inventory || request_variable(request, VARIABLE_CUDA_VISIBLE)))
		visible = (int64_t)gpumap_mapping_visible_count(mapping);
	return visible;
}

/* Leaves out what is about an answer of gpumap explain: that is true of each container, pod or job
 * of a scheduler, and the remedies are options of explain. */
static void keep_mistakes(gpumap_report *report, size_t before)
{
	static const enum finding_id of_answers[] = {FINDING_REQUEST_NOT_PROOF,
						     FINDING_INSIDE_CGROUP, FINDING_UNKNOWN_USE,
						     FINDING_NODE_NUMBERS};

	for (size_t i = 0; i < ARRAY_SIZE(of_answers); i++)
		report_drop(report, before, of_answers[i]);
}

int64_t lint_environment(const char *const *envp, const gpumap_inventory *inventory,
			 gpumap_report *report)
{
	struct rank_identity rows[RANK_IDENTITY_ROWS];
	size_t before = gpumap_report_count(report), count;
	OWNED(request) *request = new_request();
	int64_t visible = -1;

	if (gpumap_request_set_environ(request, envp, report) == GPUMAP_OK)
		visible = resolve(request, inventory, report);
	/* In mode ddp the answer has reported ranks. */
	count = rank_identity_read(
		rows, request,
		request->values[KEY_mode] && streq(request->values[KEY_mode], "ddp") ? NULL
										     : report);
	keep_mistakes(report, before);
	check_unread(envp, report);
	check_ranks(envp, count, report);
	check_master(envp, report);
	check_advice(envp, count ? rows : NULL, report);
	return visible;
}
