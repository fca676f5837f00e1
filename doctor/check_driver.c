/* SPDX-License-Identifier: MIT */
/* The driver: its versions, and why its module is not loaded. */
#include <errno.h>

#include "check.h"

/* GPUs are on the bus, and the driver's module is not loaded. */
static bool unloaded(const struct facts *facts)
{
	return facts->pci_count && facts->module.sight == ABSENT && !facts->gpu_count;
}

/* The version of a library of the driver, if its file has one with all parts. The first part of a
 * driver's version has three digits; JetPack's libcuda.so.1.1 has no such version. */
static const char *driver_version(const struct facts *facts, const char *name)
{
	const struct library *library = first_library(facts, name);
	const char *point = library && library->version ? strchr(library->version, '.') : NULL;

	return point && point - library->version >= 3 ? library->version : NULL;
}

void check_versions(const struct facts *facts, struct verdict *verdict)
{
	const char *cuda = driver_version(facts, "libcuda.so.1");
	const char *nvml = driver_version(facts, "libnvidia-ml.so.1");
	const struct library *library = first_library(facts, "libcuda.so.1");

	/* On Tegra libcuda is a part of the system, not of the module. */
	if (facts->tegra)
		return;
	if (is_unseen(verdict, &facts->module, "the version of the kernel's module") ||
	    facts->module.sight != SEEN || (!cuda && !nvml))
		return;
	/* A library of cuda-compat may be newer. */
	if (cuda && is_compat(library))
		cuda = NULL;
	fine(verdict);
	if ((cuda && !streq(cuda, facts->module.text)) ||
	    (nvml && !streq(nvml, facts->module.text)))
		wrong(verdict,
		      facts->container.sight == SEEN
			      ? "remove the driver's libraries from the image; those of the host "
				"are mounted into it"
			      : "end all jobs that use GPUs; then reboot, or unload the module and "
				"load it again, so that the installed version runs",
		      "the kernel's module is %s, libcuda %s, libnvidia-ml %s", facts->module.text,
		      cuda ? cuda : "not compared", nvml ? nvml : "not compared");
}

static bool nouveau_holds(const struct facts *facts)
{
	for (size_t i = 0; i < facts->pci_count; i++)
		if (facts->pci[i].driver && streq(facts->pci[i].driver, "nouveau"))
			return true;
	return false;
}

void check_nouveau(const struct facts *facts, struct verdict *verdict)
{
	if (!unloaded(facts))
		return;
	if (nouveau_holds(facts)) {
		/* Without any driver the machine would have no display. */
		wrong(verdict,
		      facts->module_file.sight == SEEN ? ON_HOST
			      "blacklist nouveau, update the initramfs, and reboot"
						       : ON_HOST
			      "install NVIDIA's driver, then blacklist nouveau, update the "
			      "initramfs, and reboot",
		      "the module nouveau holds the GPU, and NVIDIA's module is not loaded");
		return;
	}
	if (!is_unseen(verdict, &facts->modules, "the list of modules") &&
	    (!facts->nouveau || !without_links(facts, verdict)))
		fine(verdict);
}

void check_module_built(const struct facts *facts, struct verdict *verdict)
{
	if (!unloaded(facts))
		return;
	fine(verdict);
	if (!is_unseen(verdict, &facts->module_file, "the modules of this kernel") &&
	    facts->module_file.sight == ABSENT)
		wrong(verdict,
		      ON_HOST
		      "install the driver, or build its module for this kernel (dkms autoinstall, "
		      "with the kernel's headers)",
		      "the kernel %s has no module nvidia",
		      facts->kernel.sight == SEEN ? facts->kernel.text : "that runs");
}

void check_module_signed(const struct facts *facts, struct verdict *verdict)
{
	/* Without a module there is nothing to sign. */
	if (!unloaded(facts) || facts->nouveau || facts->module_file.sight != SEEN)
		return;
	if (is_unseen(verdict, &facts->secure_boot, "Secure Boot"))
		return;
	fine(verdict);
	if (facts->secure_boot.sight == SEEN && facts->secure_boot.number)
		wrong(verdict,
		      ON_HOST
		      "sign the module and enroll its key (mokutil --import), or turn off Secure "
		      "Boot; dmesg shows whether the key was rejected",
		      "the module nvidia is installed but not loaded, and %s",
		      facts->secure_boot.text);
}

/* Whether NVML drives each GPU that it should. */
static bool all_work(const struct facts *facts)
{
	size_t working = facts->excluded_gpus, bound = 0;
	bool kept = facts->container.sight == SEEN;

	for (size_t i = 0; i < facts->gpu_count; i++)
		working += facts->gpus[i].state == NVML_SUCCESS;
	for (size_t i = 0; i < facts->pci_count; i++)
		bound += facts->pci[i].driver && streq(facts->pci[i].driver, "nvidia");
	for (size_t i = 0; i < facts->node_count; i++) {
		const struct node *node = &facts->nodes[i];

		/* Opening initialises the GPU. */
		if (node->sight == SEEN && node->error == EIO)
			return false;
		kept = kept || (node->sight == SEEN && node->error);
	}
	/* A job or a container may have a part of the GPUs. */
	return facts->gpu_count && (working >= bound || (kept && working > facts->excluded_gpus));
}

void check_init(const struct facts *facts, struct verdict *verdict)
{
	if (!has_gpu(facts))
		return;
	fine(verdict);
	if (is_unseen(verdict, &facts->init_failed, "the kernel's log") ||
	    facts->init_failed.sight != SEEN)
		return;
	/* The log may be old, or of a card that only another driver supports. */
	if (!facts->nvml_asked && facts->module.sight == SEEN)
		unseen(verdict, "--root has no NVML", "the state of the GPUs");
	else if (!all_work(facts))
		wrong(verdict,
		      ON_HOST
		      "look at dmesg; shut the machine down, check the power cables and the seat "
		      "of the card, and compare the model with the list of the driver's release",
		      "the kernel's log has: %s", facts->init_failed.text);
}

void check_answers(const struct facts *facts, struct verdict *verdict)
{
	if (!facts->nvml_asked || facts->nvml == NVML_ERROR_LIBRARY_NOT_FOUND ||
	    facts->nvml == NVML_ERROR_DRIVER_NOT_LOADED)
		return;
	fine(verdict);
	if (facts->nvml_hangs)
		wrong(verdict,
		      ON_HOST
		      "look for Xid: dmesg -T | grep NVRM (119: the firmware of a GPU does not "
		      "answer); then reset that GPU, or reboot",
		      "NVML does not answer within %d seconds, so nvidia-smi and programs of CUDA "
		      "hang as well",
		      NVML_PATIENCE / 1000);
}
