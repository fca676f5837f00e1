/* SPDX-License-Identifier: MIT */
/* The links between GPUs and to the network, and MPS. */
#include "check.h"

static bool is_driven(const struct pci_gpu *gpu)
{
	return gpu->driver && streq(gpu->driver, "nvidia");
}

/* The GPUs by NVML whose memory other devices may reach over PCI Express. */
static size_t count_reachable(const struct facts *facts)
{
	size_t count = 0;

	for (size_t i = 0; i < facts->gpu_count; i++)
		count += !is_geforce(&facts->gpus[i]);
	return count;
}

/* Whether GPUs may send each other data over PCI Express. NVML has those that a program can use; in
 * a container the bus has more. */
static bool has_pair(const struct facts *facts)
{
	size_t driven = 0;

	for (size_t i = 0; i < facts->pci_count; i++)
		driven += is_driven(&facts->pci[i]);
	return driven >= 2 && (!facts->nvml_asked || count_reachable(facts) >= 2);
}

/* Data between GPUs that NVLink joins does not pass PCI Express. */
static bool passes_pci(const struct facts *facts, struct verdict *verdict)
{
	if (facts->joined < 0)
		unseen(verdict,
		       facts->nvml_asked ? "NVML does not state them" : "--root has no NVML",
		       "the NVLinks of the GPUs");
	return !facts->joined;
}

void check_iommu(const struct facts *facts, struct verdict *verdict)
{
	if (!has_pair(facts))
		return;
	fine(verdict);
	for (size_t i = 0; i < facts->pci_count; i++) {
		const struct pci_gpu *gpu = &facts->pci[i];

		/* "identity" passes addresses through; "DMA" and "DMA-FQ" translate them. */
		if (!is_driven(gpu) || !gpu->iommu || !starts_with(gpu->iommu, "DMA"))
			continue;
		/* The IOMMU stays on, because virtual machines need it. */
		if (passes_pci(facts, verdict))
			wrong(verdict,
			      ON_HOST
			      "on bare metal start the kernel with iommu=pt; a virtual "
			      "machine needs ATS on the network adapters, which its host sets",
			      "the IOMMU translates addresses for the GPU %s, so data between GPUs "
			      "may go through the CPU, which is slow, or may be lost",
			      gpu->address);
		return;
	}
}

void check_acs(const struct facts *facts, struct verdict *verdict)
{
	bool one = facts->acs.number == 1;

	if (!has_pair(facts) ||
	    is_unseen(verdict, &facts->acs, "Access Control Services of PCI bridges"))
		return;
	fine(verdict);
	if (facts->acs.number && passes_pci(facts, verdict))
		wrong(verdict,
		      arena_printf(verdict->arena,
				   ON_HOST
				   "on bare metal turn off ACS in the BIOS, or on each port with "
				   "setpci as NCCL's manual shows, after each start, because Linux "
				   "turns it on again; or start the kernel with "
				   "pci=disable_acs_redir=%s%s",
				   facts->acs.text, one ? "" : " and the other ports"),
		      "%lld port%s of PCI switches (%s) send%s traffic between GPUs up to the "
		      "processor, by Access Control Services",
		      (long long)facts->acs.number, one ? "" : "s", facts->acs.text,
		      one ? "s" : "");
}

/* Linux 5.12 gave the verbs DMA-BUF; NVIDIA's open module of the kernel supports it. */
static bool has_dma_buf(const struct facts *facts)
{
	long major, minor = 0;
	char *end;

	if (facts->kernel.sight != SEEN)
		return false;
	major = strtol(facts->kernel.text, &end, 10);
	if (*end == '.')
		minor = strtol(end + 1, NULL, 10);
	return facts->open_module && (major > 5 || (major == 5 && minor >= 12));
}

void check_peermem(const struct facts *facts, struct verdict *verdict)
{
	if (facts->infiniband.sight != SEEN || !facts->infiniband.number || !has_gpu(facts) ||
	    facts->module.sight != SEEN || (facts->gpu_count && !count_reachable(facts)))
		return;
	if (is_unseen(verdict, &facts->modules, "the list of modules"))
		return;
	fine(verdict);
	if (!facts->peermem && !has_dma_buf(facts))
		wrong(verdict,
		      ON_HOST
		      "install the driver's open module, which has DMA-BUF from Linux 5.12 on, or "
		      "run modprobe nvidia-peermem as root and load it at boot",
		      "the machine has InfiniBand, but the module nvidia_peermem is not loaded, so "
		      "NCCL copies through the host's memory");
}

void check_mps(const struct facts *facts, struct verdict *verdict)
{
	if (is_unseen(verdict, &facts->mps, "the daemon of MPS") || facts->mps.sight != SEEN)
		return;
	fine(verdict);
	if (!facts->mps.number)
		wrong(verdict,
		      "unset CUDA_MPS_PIPE_DIRECTORY, or start the daemon: "
		      "nvidia-cuda-mps-control -d",
		      "programs look for MPS in %s, but no daemon listens there", facts->mps.text);
}
