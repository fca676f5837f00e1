/* SPDX-License-Identifier: MIT */
/* The PCI bus: GPUs, NVSwitches, and the bridges between them. */
#include <errno.h>
#include <stdio.h>

#include "gather.h"
#include "pci.h"

enum {
	SMALL = 4096,
	CLASS_VGA = 0x0300,
	CLASS_3D = 0x0302,
	CLASS_BRIDGE = 0x0604,
	CLASS_OTHER_BRIDGE = 0x0680,
	CONFIG_SIZE = 4096,    /* of a PCI Express device */
	EXTENDED = 0x100,      /* where the extended capabilities begin */
	CAPABILITY_ACS = 0x0d, /* Access Control Services */
	ACS_CONTROL = 6,
	ACS_REDIRECTS = 0x0c, /* of requests, of completions */
	CAPABILITIES = 0x34,  /* where the first capability is named */
	CAPABILITY_EXPRESS = 0x10,
	PORT_DOWNSTREAM = 6 /* of a switch */
};

static unsigned long hexadecimal(const struct fact *fact)
{
	return fact->sight == SEEN ? strtoul(fact->text, NULL, 16) : 0;
}

/* The last part of the path that a link leads to; NULL: there is none. */
static const char *link_end(struct facts *facts, const char *name, const char *link)
{
	char real[4096];
	const char *path = arena_printf(&facts->arena, "/sys/bus/pci/devices/%s/%s", name, link);

	if (!path || root_real(facts->root, path, real, sizeof(real)) != 0)
		return NULL;
	return arena_strdup(&facts->arena, strrchr(real, '/') + 1);
}

static void add_gpu(struct facts *facts, const char *name)
{
	struct pci_gpu *grown = arena_room(&facts->arena, facts->pci, facts->pci_count,
					   &facts->pci_room, sizeof(*grown));
	struct fact iommu, cpus, node;

	if (!grown)
		return;
	iommu = fact_file(facts, SMALL, "/sys/bus/pci/devices/%s/iommu_group/type", name);
	cpus = fact_file(facts, SMALL, "/sys/bus/pci/devices/%s/local_cpulist", name);
	node = fact_file(facts, SMALL, "/sys/bus/pci/devices/%s/numa_node", name);
	facts->pci = grown;
	grown[facts->pci_count++] = (struct pci_gpu){
		.address = arena_strdup(&facts->arena, name),
		.used = true,
		.driver = link_end(facts, name, "driver"),
		.iommu = iommu.sight == SEEN ? iommu.text : NULL,
		.near_cpus = cpus.sight == SEEN && *cpus.text ? cpus.text : NULL,
		.node = node.sight == SEEN ? span_number(span_of(node.text), INT32_MAX) : -1,
	};
}

/* A bit more than a byte at a time: registers are little-endian. */
static unsigned int word_at(const char *bytes, size_t at)
{
	return (unsigned char)bytes[at] | (unsigned int)(unsigned char)bytes[at + 1] << 8;
}

/* The kind of a port of PCI Express; -1: it is not one. */
static int port_kind(const char *config)
{
	size_t at = (unsigned char)config[CAPABILITIES] & 0xfc;

	/* A chain that is longer than the space would have a circle. */
	for (int steps = 0; at >= 0x40 && at + 4 <= EXTENDED && steps < 48; steps++) {
		if ((unsigned char)config[at] == CAPABILITY_EXPRESS)
			return (int)(word_at(config, at + 2) >> 4 & 0xf);
		at = (unsigned char)config[at + 1] & 0xfc;
	}
	return -1;
}

/* Whether Access Control Services of a port of a switch send traffic between its devices up to the
 * root. What passes between root ports takes that way anyhow.
 * Without privileges only the first 64 bytes can be read. */
static void look_at_bridge(struct facts *facts, const char *name)
{
	const char *path = arena_printf(&facts->arena, "/sys/bus/pci/devices/%s/config", name);
	struct fact config;
	size_t size, at = EXTENDED;

	if (!path)
		return;
	config = fact_bytes(facts, CONFIG_SIZE, &size, path);
	if (config.sight != SEEN || size < EXTENDED) {
		if (size <= 64 && facts->acs.sight != SEEN)
			facts->acs = fact_unseen("only root reads the registers of bridges");
		return;
	}
	if (facts->acs.sight != SEEN)
		facts->acs = fact_number(0);
	if (port_kind(config.text) != PORT_DOWNSTREAM)
		return;
	/* A chain that is longer than the space would have a circle. */
	for (int steps = 0; at >= EXTENDED && at + 8 <= size && steps < CONFIG_SIZE / 8; steps++) {
		unsigned int next = word_at(config.text, at + 2) >> 4;

		if (word_at(config.text, at) == CAPABILITY_ACS &&
		    word_at(config.text, at + ACS_CONTROL) & ACS_REDIRECTS) {
			if (!facts->acs.number++)
				facts->acs.text = arena_strdup(&facts->arena, name);
			return;
		}
		at = next;
	}
}

static void look_at(struct facts *facts, const char *name)
{
	struct fact vendor = fact_file(facts, 64, "/sys/bus/pci/devices/%s/vendor", name);
	struct fact class = fact_file(facts, 64, "/sys/bus/pci/devices/%s/class", name);
	unsigned long kind = hexadecimal(&class) >> 8;
	bool nvidia = hexadecimal(&vendor) == NVML_VENDOR_NVIDIA;

	if (nvidia && (kind == CLASS_VGA || kind == CLASS_3D))
		add_gpu(facts, name);
	else if (nvidia && kind == CLASS_OTHER_BRIDGE)
		facts->switches++;
	else if (kind == CLASS_BRIDGE)
		look_at_bridge(facts, name);
}

static int by_address(const void *a, const void *b)
{
	return pci_compare(((const struct pci_gpu *)a)->address,
			   ((const struct pci_gpu *)b)->address);
}

static void count_infiniband(struct facts *facts)
{
	DIR *folder = fact_folder(facts, "/sys/class/infiniband");
	struct dirent *entry;

	facts->infiniband = folder ? fact_number(0) : fact_error(facts, errno);
	if (!folder)
		return;
	while ((entry = readdir(folder)))
		facts->infiniband.number += *entry->d_name != '.';
	closedir(folder);
}

void gather_pci(struct facts *facts)
{
	DIR *folder = fact_folder(facts, "/sys/bus/pci/devices");
	struct dirent *entry;

	facts->bus = folder ? fact_number(0) : fact_error(facts, errno);
	count_infiniband(facts);
	if (!folder)
		return;
	while ((entry = readdir(folder))) {
		char pci[20];

		if (pci_normalise(span_of(entry->d_name), pci))
			look_at(facts, entry->d_name);
	}
	closedir(folder);
	if (facts->pci_count)
		qsort(facts->pci, facts->pci_count, sizeof(*facts->pci), by_address);
}
