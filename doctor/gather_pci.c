/* SPDX-License-Identifier: MIT */
/* The PCI bus: GPUs, NVSwitches, and the bridges between them. */
#include <errno.h>

#include "closing.h"
#include "gather.h"
#include "inventory/host.h"
#include "text/pci.h"

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

/* A port of a switch that redirects. */
struct port {
	const char *name, *folder; /* NULL: its folder is not known */
};

struct ports {
	struct port *list;
	size_t count, room;
};

static unsigned long hexadecimal(const struct fact *fact)
{
	return fact->sight == SEEN ? strtoul(fact->text, NULL, 16) : 0;
}

/* The path that a link of a device leads to; NULL: there is none. */
static const char *link_path(struct facts *facts, const char *name, const char *link)
{
	return facts_real(facts,
			  arena_printf(&facts->arena, "/sys/bus/pci/devices/%s%s", name, link));
}

/* The folder of a device, which is in that of its bridge; NULL: it is not known. */
static const char *device_folder(struct facts *facts, const char *name)
{
	const char *path = link_path(facts, name, "");

	return path && starts_with(path, "/sys/devices/") ? path : NULL;
}

static const char *driver_of(struct facts *facts, const char *name)
{
	const char *path = link_path(facts, name, "/driver");

	return path ? strrchr(path, '/') + 1 : NULL;
}

static void add_gpu(struct facts *facts, const char *name)
{
	struct fact iommu =
		fact_file(facts, SMALL, "/sys/bus/pci/devices/%s/iommu_group/type", name);
	struct fact cpus = fact_file(facts, SMALL, "/sys/bus/pci/devices/%s/local_cpulist", name);

	*ARENA_NEXT(&facts->arena, facts->pci, facts->pci_count, facts->pci_room) =
		(struct pci_gpu){
			.address = arena_strdup(&facts->arena, name),
			.used = true,
			.driver = driver_of(facts, name),
			.folder = device_folder(facts, name),
			.iommu = iommu.sight == SEEN ? iommu.text : NULL,
			.near_cpus = cpus.sight == SEEN && *cpus.text ? cpus.text : NULL,
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

static void add_port(struct facts *facts, struct ports *ports, const char *name)
{
	*ARENA_NEXT(&facts->arena, ports->list, ports->count, ports->room) =
		(struct port){arena_strdup(&facts->arena, name), device_folder(facts, name)};
}

/* Adds a port of a switch if its Access Control Services send traffic between devices up to the
 * root. What passes between root ports takes that way anyhow.
 * Without privileges only the first 64 bytes can be read. */
static void look_at_bridge(struct facts *facts, struct ports *ports, const char *name)
{
	const char *path = arena_printf(&facts->arena, "/sys/bus/pci/devices/%s/config", name);
	struct fact config;
	size_t size = 0, at = EXTENDED;

	config = fact_bytes(facts, CONFIG_SIZE, &size, path);
	if (config.sight != SEEN || size < EXTENDED) {
		if (size <= 64 && facts->acs.sight != SEEN)
			facts->acs = fact_unseen(
				config.sight == SEEN ? "only root reads the registers of bridges"
				: config.sight == ABSENT ? "the registers of bridges are not there"
							 : config.why);
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
			add_port(facts, ports, name);
			return;
		}
		at = next;
	}
}

static bool is_below(const char *path, const char *folder, size_t length)
{
	return strncmp(path, folder, length) == 0 && path[length] == '/';
}

/* Whether traffic between two GPUs of the driver passes a port: one is below it, and another one is
 * below another port of its switch. */
static bool is_between_gpus(const struct facts *facts, const struct port *port)
{
	size_t length = strlen(port->folder), above = length;
	bool below = false, beside = false;

	while (above && port->folder[above] != '/')
		above--;
	for (size_t i = 0; i < facts->pci_count; i++) {
		const struct pci_gpu *gpu = &facts->pci[i];

		if (!gpu->folder || !gpu->driver || !streq(gpu->driver, "nvidia"))
			continue;
		if (is_below(gpu->folder, port->folder, length))
			below = true;
		else if (is_below(gpu->folder, port->folder, above))
			beside = true;
	}
	return below && beside;
}

/* Linux makes each port redirect if it has an IOMMU, also those that no GPU is below. */
static void count_ports(struct facts *facts, const struct ports *ports)
{
	for (size_t i = 0; i < ports->count; i++) {
		const struct port *port = &ports->list[i];

		if (!port->folder && !facts->acs.number)
			facts->acs = fact_unseen("the bridges above the GPUs are not known");
		if (!port->folder || !is_between_gpus(facts, port))
			continue;
		if (facts->acs.sight != SEEN)
			facts->acs = fact_number(0);
		if (!facts->acs.number++)
			facts->acs.text = port->name;
	}
}

static void look_at(struct facts *facts, struct ports *ports, const char *name)
{
	struct fact vendor = fact_file(facts, 64, "/sys/bus/pci/devices/%s/vendor", name);
	struct fact class = fact_file(facts, 64, "/sys/bus/pci/devices/%s/class", name);
	unsigned long kind = hexadecimal(&class) >> 8;
	bool nvidia = hexadecimal(&vendor) == NVML_VENDOR_NVIDIA;

	if (nvidia && (kind == CLASS_VGA || kind == CLASS_3D)) {
		if (!host_is_virtual(facts->root, name))
			add_gpu(facts, name);
	} else if (nvidia && kind == CLASS_OTHER_BRIDGE) {
		facts->switches++;
	} else if (kind == CLASS_BRIDGE) {
		look_at_bridge(facts, ports, name);
	}
}

static int by_address(const void *a, const void *b)
{
	return pci_compare(((const struct pci_gpu *)a)->address,
			   ((const struct pci_gpu *)b)->address);
}

/* Whether the first port of a device runs InfiniBand, or RoCE on an adapter of Mellanox. Others
 * have verbs, too, but a cluster seldom uses them: adapters of clouds, of iWARP, and soft RoCE. */
static bool runs_infiniband(struct facts *facts, const char *name)
{
	static const char port[] = "/sys/class/infiniband/%s/ports/1/%s";
	struct fact state = fact_file(facts, SMALL, port, name, "state");
	struct fact layer = fact_file(facts, SMALL, port, name, "link_layer");

	if (state.sight != SEEN || layer.sight != SEEN || !strstr(state.text, "ACTIVE"))
		return false;
	if (streq(layer.text, "Ethernet") && starts_with(name, "mlx")) {
		struct fact kind = fact_file(facts, SMALL, port, name, "gid_attrs/types/0");

		return kind.sight == SEEN && strstr(kind.text, "RoCE");
	}
	return streq(layer.text, "InfiniBand");
}

/* Programs open /dev/infiniband/uverbs0 and so on. A container sees the host's devices in /sys, but
 * not these. */
static bool has_verbs(struct facts *facts)
{
	CLEANUP_FOLDER DIR *folder = root_folder(facts->root, "/dev/infiniband");
	struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (starts_with(entry->d_name, "uverbs"))
			return true;
	return false;
}

static void count_infiniband(struct facts *facts)
{
	CLEANUP_FOLDER DIR *folder = root_folder(facts->root, "/sys/class/infiniband");
	bool verbs = has_verbs(facts);
	struct dirent *entry;

	facts->infiniband = folder ? fact_number(0) : fact_error(facts, errno);
	while (folder && verbs && (entry = readdir(folder)))
		facts->infiniband.number +=
			*entry->d_name != '.' && runs_infiniband(facts, entry->d_name);
}

void gather_pci(struct facts *facts)
{
	CLEANUP_FOLDER DIR *folder = root_folder(facts->root, "/sys/bus/pci/devices");
	struct ports ports = {0};
	struct dirent *entry;

	facts->bus = folder ? fact_number(0) : fact_error(facts, errno);
	count_infiniband(facts);
	while (folder && (entry = readdir(folder))) {
		char pci[20];

		if (pci_normalise(span_of(entry->d_name), pci))
			look_at(facts, &ports, entry->d_name);
	}
	count_ports(facts, &ports);
	if (facts->pci_count)
		qsort(facts->pci, facts->pci_count, sizeof(*facts->pci), by_address);
}
