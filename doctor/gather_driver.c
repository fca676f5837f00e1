/* SPDX-License-Identifier: MIT */
/* The driver as the kernel shows it: its module, and why it may be missing. */
#include "gather.h"
#include "inventory/host.h"

enum { SMALL = 1 << 16, LARGE = 1 << 24 };

static void read_module(struct facts *facts)
{
	struct fact file = fact_file(facts, SMALL, "/proc/driver/nvidia/version");
	struct span version;
	struct stat about;

	facts->module = file;
	if (file.sight == ABSENT && root_stat(facts->root, "/proc", &about) != 0)
		facts->module = fact_unseen("there is no /proc");
	if (file.sight != SEEN)
		return;
	facts->open_module = strstr(file.text, "Open Kernel Module") != NULL;
	version = host_driver_version(file.text);
	facts->module =
		version.length
			? fact_text(arena_strndup(&facts->arena, version.text, version.length))
			: fact_unseen("/proc/driver/nvidia/version has no version");
}

static void read_modules(struct facts *facts)
{
	struct fact file = fact_file(facts, LARGE, "/proc/modules");
	struct span rest, line, name;

	facts->modules = file.sight == ABSENT ? fact_unseen("there is no /proc/modules") : file;
	if (file.sight != SEEN)
		return;
	rest = span_of(file.text);
	while (span_split(&rest, '\n', &line)) {
		span_split(&line, ' ', &name);
		facts->nouveau = facts->nouveau || span_is(name, "nouveau");
		facts->nvidia_listed = facts->nvidia_listed || span_is(name, "nvidia");
		facts->uvm = facts->uvm || span_is(name, "nvidia_uvm");
		facts->peermem = facts->peermem || span_is_any(name, "nvidia_peermem nv_peer_mem");
	}
}

/* Whether a line of modules.dep, "updates/dkms/nvidia-current.ko.zst: ...", has the driver's
 * module. Debian names it after its branch. Other modules of the driver need it. */
static bool has_driver(struct span line)
{
	static const char *const branches[] = {"-open", "-current", "-tesla", "-legacy"};
	static const char *const others[] = {"-uvm", "-drm", "-modeset", "-peermem"};
	struct span path, part, name = {"", 0};

	span_split(&line, ':', &path);
	while (span_split(&path, '/', &part))
		name = part;
	if (!span_skip(&name, "nvidia"))
		return false;
	part = name;
	span_split(&part, '.', &name);
	if (!part.text || !(span_is(part, "ko") || span_starts(part, "ko.")))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (span_has(name, others[i]))
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(branches); i++)
		if (span_starts(name, branches[i]))
			return true;
	return !name.length;
}

/* depmod(8) lists every module of a kernel in modules.dep. */
static void read_module_file(struct facts *facts)
{
	struct span rest, line;
	struct fact file;

	facts->module_file = fact_unseen(NULL);
	if (facts->kernel.sight != SEEN || facts->kernel.text[0] == '.' ||
	    strchr(facts->kernel.text, '/'))
		return;
	file = fact_file(facts, LARGE, "/lib/modules/%s/modules.dep", facts->kernel.text);
	facts->module_file = file;
	if (file.sight == ABSENT)
		facts->module_file = fact_unseen("/lib/modules has nothing of this kernel");
	if (file.sight != SEEN)
		return;
	facts->module_file = fact_absent();
	rest = span_of(file.text);
	while (span_split(&rest, '\n', &line))
		if (has_driver(line))
			facts->module_file = fact_text("nvidia.ko");
}

/* The kernel loads only signed modules: by its own setting, or because of UEFI Secure Boot. An EFI
 * variable is a file of four bytes of attributes and its value. */
static void read_secure_boot(struct facts *facts)
{
	static const char efi[] =
		"/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
	struct fact enforced = fact_file(facts, 16, "/sys/module/module/parameters/sig_enforce");
	struct fact variable;
	size_t size;

	facts->secure_boot = enforced;
	if (enforced.sight == SEEN && *enforced.text == 'Y') {
		facts->secure_boot = fact_text("sig_enforce is set");
		facts->secure_boot.number = 1;
		return;
	}
	variable = fact_bytes(facts, 64, &size, efi);
	if (variable.sight == SEEN && size == 5) {
		facts->secure_boot = fact_text("UEFI Secure Boot is on");
		facts->secure_boot.number = variable.text[4] == 1;
	} else if (variable.sight == UNSEEN) {
		facts->secure_boot = variable;
	} else if (enforced.sight == SEEN) {
		facts->secure_boot = fact_number(0);
	}
}

void gather_driver(struct facts *facts)
{
	read_module(facts);
	read_modules(facts);
	read_module_file(facts);
	read_secure_boot(facts);
}
