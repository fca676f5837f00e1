/* SPDX-License-Identifier: MIT */
/*
 * The GPUs of this host without NVML. If a driver is loaded, /proc/driver/nvidia lists the GPUs
 * that it drives; otherwise /sys/bus/pci lists those that are built in.
 */
#include "inventory/host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "closing.h"
#include "rootfile.h"
#include "text/pci.h"

bool host_read(char *ret, size_t size, const char *root, const char *format, ...)
{
	char path[4096];
	size_t used = 0;
	ssize_t n = 1;
	struct span s;
	va_list args;
	int fd, length;

	*ret = '\0';
	va_start(args, format);
	length = vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	fd = length < (int)sizeof(path) ? root_open(root, path, O_RDONLY) : -1;
	if (fd < 0)
		return false;
	while (used < size - 1 && n > 0) {
		n = read(fd, ret + used, size - 1 - used);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			used += (size_t)n;
	}
	close(fd);
	ret[n < 0 ? 0 : used] = '\0';
	s = span_trim(span_of(ret));
	memmove(ret, s.text, s.length);
	ret[s.length] = '\0';
	return n >= 0;
}

bool host_is_virtual(const char *root, const char *name)
{
	struct stat about;
	char path[512];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/physfn", name);
	return root_stat(root, path, &about) == 0;
}

int host_affinity(gpumap_device *device, const char *root)
{
	char text[4096];
	int64_t node;

	if (!device->pci)
		return GPUMAP_OK;
	/* If NVML serves another machine, the address may be another device's. */
	if (!host_read(text, sizeof(text), root, "/sys/bus/pci/devices/%s/vendor", device->pci) ||
	    strtoul(text, NULL, 16) != NVML_VENDOR_NVIDIA)
		return GPUMAP_OK;
	host_read(text, sizeof(text), root, "/sys/bus/pci/devices/%s/numa_node", device->pci);
	node = span_number(span_of(text), INT32_MAX); /* the kernel's "-1" means unknown */
	if (!device->numa && node >= 0 && !member_set(&device->numa, span_of(text)))
		return GPUMAP_ENOMEM;
	host_read(text, sizeof(text), root, "/sys/bus/pci/devices/%s/local_cpulist", device->pci);
	if (!device->cpus && *text && !member_set(&device->cpus, span_of(text)))
		return GPUMAP_ENOMEM;
	return GPUMAP_OK;
}

struct span host_driver_version(const char *text)
{
	struct span rest = span_of(text), word;

	while (span_split(&rest, ' ', &word)) {
		size_t n = 0, points = 0;

		for (; n < word.length && (is_digit(word.text[n]) || word.text[n] == '.'); n++)
			points += word.text[n] == '.';
		if (n && n == word.length && points && is_digit(*word.text))
			return word;
	}
	return (struct span){"", 0};
}

/* One line of an information file, "Model: \t NVIDIA H100". */
static bool read_field(gpumap_device *d, struct span line, bool *excluded)
{
	const char *colon = line.length ? memchr(line.text, ':', line.length) : NULL;
	struct span key, value;

	if (!colon)
		return true;
	key = span_trim((struct span){line.text, (size_t)(colon - line.text)});
	value = span_trim(span_behind(line, (size_t)(colon + 1 - line.text)));
	if (span_is(key, "Model") && value.length)
		return member_set(&d->name, value);
	/* A GPU that was never opened has question marks. */
	if (span_is(key, "GPU UUID") && is_full_uuid(value, "GPU-"))
		return member_set(&d->uuid, value);
	if (span_is(key, "Device Minor"))
		d->minor = (int)span_number(value, INT32_MAX);
	if (span_is(key, "GPU Excluded") || span_is(key, "Blacklisted"))
		*excluded = span_is(value, "Yes");
	return true;
}

/* A GPU that the driver was configured to leave out is counted by neither NVML nor CUDA. */
static int add_driven(gpumap_inventory *inventory, const char *root, const char *name,
		      const char *pci)
{
	gpumap_device *d = inventory_add(inventory);
	struct span rest, line;
	char text[4096];
	bool excluded = false, ok = true;

	if (!d)
		return GPUMAP_ENOMEM;
	host_read(text, sizeof(text), root, "/proc/driver/nvidia/gpus/%s/information", name);
	rest = span_of(text);
	while (ok && span_split(&rest, '\n', &line))
		ok = read_field(d, line, &excluded);
	if (ok && excluded) {
		free(d->name);
		free(d->uuid);
		inventory->count--;
		return GPUMAP_OK;
	}
	return ok && member_set(&d->pci, span_of(pci)) ? GPUMAP_OK : GPUMAP_ENOMEM;
}

static int add_built_in(gpumap_inventory *inventory, const char *root, const char *name,
			const char *pci)
{
	gpumap_device *added;
	unsigned long class;
	char text[32];

	if (!host_read(text, sizeof(text), root, "/sys/bus/pci/devices/%s/vendor", name) ||
	    strtoul(text, NULL, 16) != NVML_VENDOR_NVIDIA)
		return GPUMAP_OK;
	host_read(text, sizeof(text), root, "/sys/bus/pci/devices/%s/class", name);
	class = strtoul(text, NULL, 16) >> 8;
	/* VGA and 3D controllers */
	if ((class != 0x0300 && class != 0x0302) || host_is_virtual(root, name))
		return GPUMAP_OK;
	added = inventory_add(inventory);
	return added && member_set(&added->pci, span_of(pci)) ? GPUMAP_OK : GPUMAP_ENOMEM;
}

/* Calls add for every name in the folder that is a PCI address. Without the folder it does nothing.
 */
static int walk(gpumap_inventory *inventory, const char *root, const char *folder,
		int (*add)(gpumap_inventory *, const char *, const char *, const char *))
{
	struct dirent *entry;
	int r = GPUMAP_OK;
	CLEANUP_FOLDER DIR *dir = root_folder(root, folder);

	if (!dir)
		return errno == ENOMEM ? GPUMAP_ENOMEM : GPUMAP_OK;
	while (r == GPUMAP_OK && (entry = readdir(dir))) {
		char pci[20];

		if (pci_normalise(span_of(entry->d_name), pci))
			r = add(inventory, root, entry->d_name, pci);
	}
	return r;
}

static int by_pci(const void *a, const void *b)
{
	return pci_compare(((const gpumap_device *)a)->pci, ((const gpumap_device *)b)->pci);
}

static int read_all(gpumap_inventory *inventory, const char *root)
{
	struct span version;
	char text[4096];
	int r;

	if (host_read(text, sizeof(text), root, "/proc/driver/nvidia/version")) {
		version = host_driver_version(text);
		if (version.length && !member_set(&inventory->driver, version))
			return GPUMAP_ENOMEM;
		r = walk(inventory, root, "/proc/driver/nvidia/gpus", add_driven);
	} else {
		r = walk(inventory, root, "/sys/bus/pci/devices", add_built_in);
	}
	if (r != GPUMAP_OK)
		return r;
	if (inventory->count)
		qsort(inventory->gpus, inventory->count, sizeof(*inventory->gpus), by_pci);
	for (size_t i = 0; r == GPUMAP_OK && i < inventory->count; i++) {
		inventory->gpus[i].index = (int)i;
		r = host_affinity(&inventory->gpus[i], root);
	}
	return r;
}

int proc_probe(gpumap_inventory **ret, const char *root, gpumap_report *report)
{
	gpumap_inventory *inventory = inventory_new("proc", NULL);
	int r = inventory ? read_all(inventory, root) : GPUMAP_ENOMEM;

	if (r == GPUMAP_ENOMEM)
		report_nomem(report);
	if (r == GPUMAP_OK)
		r = inventory_finish(inventory, report);
	return give_inventory(ret, inventory, r);
}
