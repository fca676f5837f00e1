/* SPDX-License-Identifier: MIT */
/* Device files, and GPUs that a container or the kernel keeps back. */
#include <errno.h>

#include "check.h"

static const struct node *node_named(const struct facts *facts, const char *path)
{
	for (size_t i = 0; i < facts->node_count; i++)
		if (streq(facts->nodes[i].path, path))
			return &facts->nodes[i];
	return NULL;
}

static bool is_there(const struct facts *facts, const char *path)
{
	const struct node *node = node_named(facts, path);

	return node && node->sight == SEEN;
}

/* Whether it is the device file of a GPU: /dev/nvidia0. */
static bool is_gpu(const struct node *node)
{
	return is_digit(node->path[strlen("/dev/nvidia")]);
}

/* The device files of GPUs that exist. */
static size_t gpu_nodes(const struct facts *facts)
{
	size_t count = 0;

	for (size_t i = 0; i < facts->node_count; i++)
		count += facts->nodes[i].sight == SEEN && is_gpu(&facts->nodes[i]);
	return count;
}

/* "c 195:* rwm" or "a *:* rwm" of devices.list (cgroup version 1). */
static bool rule_allows(struct span line, const struct node *node)
{
	struct span kind, numbers, major = {"", 0};
	bool all;

	if (!span_split(&line, ' ', &kind) || !line.text || !span_split(&line, ' ', &numbers))
		return false;
	span_split(&numbers, ':', &major);
	if (!numbers.text || !line.text || !memchr(line.text, 'r', line.length))
		return false;
	all = span_is(major, "*") || span_number(major, UINT32_MAX) == node->major;
	return span_is_any(kind, "a c") && all &&
	       (span_is(numbers, "*") || span_number(numbers, UINT32_MAX) == node->minor);
}

static bool cgroup_allows(const struct facts *facts, const struct node *node)
{
	struct span rest, line;

	if (facts->devices_cgroup.sight != SEEN)
		return true;
	rest = span_of(facts->devices_cgroup.text);
	while (span_split(&rest, '\n', &line))
		if (rule_allows(span_trim(line), node))
			return true;
	return false;
}

/* Whether the cgroup refuses a device file that exists: opening it gives EPERM. */
static bool is_refused(const struct facts *facts, const struct node *node)
{
	/* This machine has shown it by opening. In a recorded one the number of nvidia-uvm is not
	 * known. */
	return node->error == EPERM || (*facts->root && !streq(node->path, "/dev/nvidia-uvm") &&
					!cgroup_allows(facts, node));
}

/* Whether the permissions of a device file keep this user from it. */
static bool is_denied(const struct facts *facts, const struct node *node)
{
	return node->error == EACCES;
}

/* A device file that exists, that fails in this way, and that a program cannot do without. A job
 * may have some GPUs only, so the file of a GPU counts if none of them can be used. */
static const struct node *failing(const struct facts *facts,
				  bool (*fails)(const struct facts *facts, const struct node *node))
{
	bool no_gpu = facts->nvml_asked && facts->nvml == NVML_SUCCESS && !facts->gpu_count;
	const struct node *first = NULL;
	bool opens = false;

	for (size_t i = 0; i < facts->node_count; i++) {
		const struct node *node = &facts->nodes[i];

		if (node->sight != SEEN)
			continue;
		if (fails(facts, node) && !is_gpu(node))
			return node;
		if (fails(facts, node) && !first)
			first = node;
		opens = opens || (is_gpu(node) && !node->error && !is_refused(facts, node));
	}
	return no_gpu || !opens ? first : NULL;
}

/* Whether NVML, or a GPU by NVML, reports an unknown error. */
static bool has_unknown_error(const struct facts *facts)
{
	for (size_t i = 0; i < facts->gpu_count; i++)
		if (facts->gpus[i].visible && facts->gpus[i].state == NVML_ERROR_UNKNOWN)
			return true;
	return facts->nvml_asked && facts->nvml == NVML_ERROR_UNKNOWN;
}

void check_taken(const struct facts *facts, struct verdict *verdict)
{
	static const char fix[] =
		"start the container again; to keep it from happening, pass the devices "
		"explicitly (--device or CDI), or use the cgroup driver cgroupfs";
	const struct node *node = failing(facts, is_refused);

	if (facts->container.sight != SEEN || !gpu_nodes(facts))
		return;
	fine(verdict);
	if (node)
		wrong(verdict, fix,
		      "%s is in the container, but its device cgroup refuses it now, as after "
		      "systemctl daemon-reload on the host",
		      node->path);
	else if (has_unknown_error(facts))
		wrong(verdict, fix,
		      "NVML reports an unknown error in a container that has device files of GPUs, "
		      "as after systemctl daemon-reload on the host");
}

void check_container(const struct facts *facts, struct verdict *verdict)
{
	static const char fix[] =
		"start the container with --gpus all (docker), --device nvidia.com/gpu=all "
		"(podman), --nv (Apptainer), or a limit of nvidia.com/gpu (Kubernetes)";
	const char *request = facts_variable(facts, "NVIDIA_VISIBLE_DEVICES");

	if (facts->container.sight != SEEN || facts->gpu_count || facts->tegra)
		return;
	/* Where the host has no driver the container cannot have one. */
	if (facts->module.sight != SEEN && !facts->pci_count)
		return;
	if (gpu_nodes(facts)) {
		fine(verdict);
		return;
	}
	if (!request)
		wrong(verdict, fix, "the container (%s) was started without GPUs",
		      facts->container.text);
	else if (span_is_any(span_of(request), "void none"))
		wrong(verdict, fix, "the container (%s) has no GPU: NVIDIA_VISIBLE_DEVICES=%s",
		      facts->container.text, request);
	else
		wrong(verdict,
		      "install the NVIDIA Container Toolkit on the host, and choose its runtime "
		      "(--gpus all or --runtime nvidia)",
		      "the container (%s) has NVIDIA_VISIBLE_DEVICES=%s, but no device file of a "
		      "GPU: its runtime did not use the variable",
		      facts->container.text, request);
}

/* Whether a list of capabilities, "compute,utility", has CUDA's. By default it has. */
static bool has_compute(const char *list)
{
	struct span rest, word;

	if (!list)
		return true;
	rest = span_of(list);
	while (span_split(&rest, ',', &word))
		if (span_is_any(span_trim(word), "compute all"))
			return true;
	return false;
}

void check_capabilities(const struct facts *facts, struct verdict *verdict)
{
	const char *capabilities = facts_variable(facts, "NVIDIA_DRIVER_CAPABILITIES");

	if (facts->container.sight != SEEN || !gpu_nodes(facts))
		return;
	fine(verdict);
	if (first_library(facts, "libcuda.so.1"))
		return;
	if (is_unseen(verdict, &facts->folders, "libcuda.so.1"))
		return;
	if (!has_compute(capabilities))
		wrong(verdict, "set NVIDIA_DRIVER_CAPABILITIES=compute,utility for the container",
		      "the container has GPUs, but not libcuda.so.1: NVIDIA_DRIVER_CAPABILITIES=%s",
		      capabilities);
	else
		wrong(verdict,
		      streq(facts->container.text, "Apptainer") ||
				      streq(facts->container.text, "Singularity")
			      ? "start the container with --nv, which adds the driver's libraries"
			      : "start the container by the NVIDIA Container Toolkit or CDI, which "
				"add the driver's libraries; if it has them, run ldconfig in it",
		      "the container has GPUs, but the loader finds no libcuda.so.1, as if the "
		      "devices were passed by hand, or /etc/ld.so.cache were old");
}

static bool has_opened(const struct facts *facts)
{
	for (size_t i = 0; i < facts->gpu_count; i++)
		if (facts->gpus[i].state == NVML_SUCCESS)
			return true;
	return false;
}

void check_nodes(const struct facts *facts, struct verdict *verdict)
{
	size_t wanted = facts->listed_gpus - facts->excluded_gpus;

	/* In a container the driver lists the host's GPUs. */
	if (facts->module.sight != SEEN || !facts->listed_gpus || facts->container.sight == SEEN)
		return;
	fine(verdict);
	/* NVML has opened the files of a GPU. Some containers look like a machine, and have a part
	 * of the files. */
	if (facts->makes_nodes || has_opened(facts))
		return;
	if (!is_there(facts, "/dev/nvidiactl"))
		wrong(verdict, "run nvidia-smi once as root, which makes the files",
		      "the driver is loaded, but /dev/nvidiactl does not exist");
	else if (gpu_nodes(facts) < wanted)
		wrong(verdict, "run nvidia-smi once as root, which makes the files of all GPUs",
		      "the driver lists %zu GPU%s, but /dev has files of %zu", wanted,
		      wanted == 1 ? "" : "s", gpu_nodes(facts));
}

void check_uvm(const struct facts *facts, struct verdict *verdict)
{
	/* Tegra has no such file. */
	if (facts->module.sight != SEEN || !is_there(facts, "/dev/nvidiactl") || facts->tegra)
		return;
	fine(verdict);
	/* CUDA calls nvidia-modprobe, which a container seldom has, or not with the rights. */
	if (facts->makes_nodes && facts->container.sight != SEEN)
		return;
	if (!is_there(facts, "/dev/nvidia-uvm"))
		wrong(verdict,
		      facts->container.sight == SEEN
			      ? "pass /dev/nvidia-uvm to the container too, or use the NVIDIA "
				"Container Toolkit"
			      : "run nvidia-modprobe -u -c 0 as root, and load nvidia-uvm at boot",
		      "/dev/nvidia-uvm does not exist, so CUDA cannot start (unknown error, 999), "
		      "although nvidia-smi works%s",
		      facts->modules.sight == SEEN && !facts->uvm
			      ? "; the module nvidia_uvm is not loaded"
			      : "");
}

void check_node_modes(const struct facts *facts, struct verdict *verdict)
{
	const struct node *node = failing(facts, is_denied);

	for (size_t i = 0; i < facts->node_count; i++)
		if (facts->nodes[i].sight == SEEN)
			fine(verdict);
	if (node)
		wrong(verdict,
		      "ask the administrator for access: the group of the file, often video",
		      "%s: this user may not open it (permission denied)", node->path);
}

void check_node_cgroup(const struct facts *facts, struct verdict *verdict)
{
	const struct node *node = failing(facts, is_refused);

	/* A container has a finding of its own. */
	if (facts->container.sight == SEEN || !gpu_nodes(facts))
		return;
	if (*facts->root && is_unseen(verdict, &facts->devices_cgroup, "the device cgroup"))
		return;
	fine(verdict);
	if (node)
		wrong(verdict,
		      "ask for GPUs where the job is made (Slurm: --gpus), or allow the device in "
		      "the service (systemd: DeviceAllow=)",
		      "%s exists, but the device cgroup of this process refuses it", node->path);
}

void check_bound(const struct facts *facts, struct verdict *verdict)
{
	if (facts->module.sight != SEEN || !facts->pci_count || facts->container.sight == SEEN ||
	    without_links(facts, verdict))
		return;
	fine(verdict);
	for (size_t i = 0; i < facts->pci_count; i++) {
		const struct pci_gpu *gpu = &facts->pci[i];

		if (gpu->driver && streq(gpu->driver, "nvidia"))
			continue;
		if (gpu->driver)
			wrong(verdict,
			      "if it is not meant for a virtual machine, bind it to nvidia again",
			      "the GPU %s is bound to the driver %s, not to nvidia", gpu->address,
			      gpu->driver);
		else
			wrong(verdict,
			      "look at dmesg for NVRM: the driver may not support the card",
			      "no driver is bound to the GPU %s", gpu->address);
		return;
	}
}
