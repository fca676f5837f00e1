/* SPDX-License-Identifier: MIT */
/* The way from GPU to GPU and to the network, and MPS. */
#include "check.h"

void check_iommu(const struct facts *facts, struct verdict *verdict)
{
	if (facts->pci_count < 2)
		return;
	fine(verdict);
	/* Data between them does not pass PCI Express. */
	if (facts->joined)
		return;
	for (size_t i = 0; i < facts->pci_count; i++) {
		const struct pci_gpu *gpu = &facts->pci[i];

		/* "identity" passes addresses through; "DMA" and "DMA-FQ" translate them. */
		if (gpu->iommu && starts_with(gpu->iommu, "DMA"))
			wrong(verdict,
			      "on bare metal start the kernel with iommu=pt, or turn the IOMMU "
			      "off; in a "
			      "virtual machine PCI bridges need ATS",
			      "the IOMMU translates addresses for the GPU %s, so data between GPUs "
			      "takes the way through the processor, or is lost",
			      gpu->address);
	}
}

void check_acs(const struct facts *facts, struct verdict *verdict)
{
	if (facts->pci_count < 2)
		return;
	if (facts->acs.sight == UNSEEN) {
		unseen(verdict, &facts->acs, "Access Control Services of PCI bridges");
		return;
	}
	fine(verdict);
	if (facts->acs.number && !facts->joined)
		wrong(verdict,
		      "on bare metal turn off ACS in the BIOS, or on each bridge with setpci as "
		      "NCCL's "
		      "manual shows",
		      "%lld port%s of PCI switches (%s) send%s traffic between GPUs up to the "
		      "processor, by "
		      "Access Control Services",
		      (long long)facts->acs.number, facts->acs.number == 1 ? "" : "s",
		      facts->acs.text, facts->acs.number == 1 ? "s" : "");
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
	if (facts->infiniband.sight != SEEN || !facts->infiniband.number ||
	    facts->module.sight != SEEN)
		return;
	if (facts->modules.sight != SEEN) {
		unseen(verdict, &facts->modules, "the list of modules");
		return;
	}
	fine(verdict);
	if (!facts->peermem && !has_dma_buf(facts))
		wrong(verdict, "modprobe nvidia-peermem as root, and load it at boot",
		      "the machine has InfiniBand, but the module nvidia_peermem is not loaded, so "
		      "NCCL copies through the host's memory");
}

void check_mps(const struct facts *facts, struct verdict *verdict)
{
	if (facts->mps.sight == UNSEEN)
		unseen(verdict, &facts->mps, "the daemon of MPS");
	if (facts->mps.sight != SEEN)
		return;
	fine(verdict);
	if (!facts->mps.number)
		wrong(verdict,
		      "start nvidia-cuda-mps-control -d, or unset CUDA_MPS_PIPE_DIRECTORY and "
		      "remove "
		      "the folder",
		      "programs look for MPS in %s, but no daemon listens there", facts->mps.text);
}
