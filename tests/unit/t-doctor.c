/* SPDX-License-Identifier: MIT */
/*
 * Each check of gpumap doctor, over facts that are made here: a good state that it leaves alone,
 * and a bad one that it finds. Its way through real files is in tests/cli/doctor.test.
 */
#include <errno.h>
#include <string.h>

#include "doctor/check.h"
#include "doctor/elf_file.h"
#include "nvml_library.h"
#include "unit.h"

/* What a state of GPUs is made of. */
static struct gpu gpus[2];
static struct pci_gpu pci[2];
static struct node nodes[4];
static struct library libraries[3];
static const char *variables[3];
static struct needed needed[1];
static struct gpu_code code;

static void set_gpus(void)
{
	for (unsigned int i = 0; i < 2; i++) {
		gpus[i] = (struct gpu){
			.index = i,
			.visible = true,
			.pci = i ? "0000:08:00.0" : "0000:07:00.0",
			.name = "NVIDIA H100 80GB HBM3",
			.memory = 80ll << 30,
			.major = 9,
			.persistence = 1,
			.ecc = 1,
			.ecc_pending = 1,
			.width = 16,
			.max_width = 16,
			.generation = 5,
			.max_generation = 5,
			.fabric = NVML_FABRIC_COMPLETED,
		};
		pci[i] = (struct pci_gpu){i ? "0000:08:00.0" : "0000:07:00.0",
					  "nvidia",
					  "identity",
					  true,
					  "0-31",
					  NULL};
	}
	nodes[0] = (struct node){"/dev/nvidiactl", SEEN, 0, 195, 255};
	nodes[1] = (struct node){"/dev/nvidia-uvm", SEEN, 0, 510, 0};
	nodes[2] = (struct node){"/dev/nvidia0", SEEN, 0, 195, 0};
	nodes[3] = (struct node){"/dev/nvidia1", ABSENT, 0, 195, 1};
}

static void set_libraries(struct facts *f)
{
	libraries[0] = (struct library){"libcuda.so.1", "/usr/lib/libcuda.so.1",
					"/usr/lib/libcuda.so.570.86.15", "570.86.15"};
	libraries[1] = (struct library){"libnvidia-ml.so.1", "/usr/lib/libnvidia-ml.so.1",
					"/usr/lib/libnvidia-ml.so.570.86.15", "570.86.15"};
	libraries[2] = (struct library){"libcudnn.so.9", "/usr/lib/libcudnn.so.9",
					"/usr/lib/libcudnn.so.9.1.0", "9.1.0"};
	f->libraries = libraries;
	f->library_count = 3;
}

/* A machine with two GPUs on which all is well. */
static void set_well(struct facts *f)
{
	memset(variables, 0, sizeof(variables));
	*f = (struct facts){
		.root = "",
		.environ = variables,
		.kernel = fact_text("6.1.0"),
		.container = fact_absent(),
		.module = fact_text("570.86.15"),
		.modules = fact_number(0),
		.uvm = true,
		.peermem = true,
		.nvidia_listed = true,
		.module_file = fact_text("nvidia.ko"),
		.secure_boot = fact_number(0),
		.nvml_asked = true,
		.nvml = NVML_SUCCESS,
		.cuda = fact_number(12080),
		.folders = fact_number(1),
		.stub_folder = fact_absent(),
		.toolkit = fact_text("12.4"),
		.nodes = nodes,
		.node_count = 4,
		.devices_cgroup = fact_text("a *:* rwm"),
		.listed_gpus = 1,
		.pci = pci,
		.pci_count = 2,
		.bus = fact_number(0),
		.acs = fact_number(0),
		.infiniband = fact_number(1),
		.gpus = gpus,
		.gpu_count = 2,
		.accepts_work = -1,
		.fabric_manager = fact_absent(),
		.xid = fact_absent(),
		.xid_program = fact_absent(),
		.init_failed = fact_absent(),
		.shm = fact_number(32ll << 30),
		.shm_free = fact_number(32ll << 30),
		.memlock = fact_number(-1),
		.open_files = fact_number(65536),
		.address_space = fact_number(-1),
		.cpus = fact_text("0-63"),
		.leases = {SEEN, "/run/lock/gpumap", -1, NULL},
		.mps = {SEEN, "/tmp/nvidia-mps", 1, NULL},
	};
	set_gpus();
	set_libraries(f);
}

/* A driver that is not loaded. */
static void unload(struct facts *f)
{
	f->module = fact_absent();
	f->gpu_count = 0;
	f->nvml = NVML_ERROR_DRIVER_NOT_LOADED;
}

static void in_container(struct facts *f)
{
	f->container = fact_text("Docker");
	f->gpu_count = 0;
}

static void compat(struct facts *f)
{
	libraries[0].path = "/usr/local/cuda/compat/libcuda.so.1";
	libraries[0].version = "575.10";
}

/* A Python program whose PyTorch is built with CUDA 12.4 for GPUs of 8.0 and later. */
static void torch(struct facts *f)
{
	needed[0] = (struct needed){.name = "libcudnn.so.9",
				    .by = "/v/libtorch_cuda.so",
				    .path = "/v/nvidia/cudnn/lib/libcudnn.so.9"};
	code = (struct gpu_code){.any = true};
	code.machine[80] = code.ptx[80] = CODE_PLAIN;
	f->program = (struct program_facts){
		.name = "python3",
		.kind = fact_text("Python 3.11"),
		.code = &code,
		.needed = needed,
		.needed_count = 1,
	};
	f->python_count = 1;
	f->pythons[0] = (struct python){.path = "/v/bin/python3", .prefix = "/v"};
	f->pythons[0].packages[PACKAGE_TORCH] = (struct package){
		.site = "/v/lib/python3.11/site-packages",
		.version = "2.5.1",
		.cuda = {.sight = SEEN, .number = 12040, .text = "12.4"},
	};
}

/* A state: what is set before, in both states, and what makes it bad. */
#define STATE(name, ...) \
	static void name(struct facts *f) \
	{ \
		(void)f; \
		__VA_ARGS__ \
	}

STATE(nothing, )
STATE(old_cuda, libraries[0].version = "550.54.15";)
STATE(old_nvml, libraries[1].version = "550.54.15";)
STATE(nouveau, pci[0].driver = "nouveau";)
STATE(nouveau_loaded, f->nouveau = true; unload(f);)
STATE(links_missing, nouveau_loaded(f); f->root = "r"; pci[0].driver = pci[1].driver = NULL;)
STATE(not_built, f->module_file = fact_absent();)
STATE(signatures, f->secure_boot = fact_text("sig_enforce is set"); f->secure_boot.number = 1;)
STATE(old_log, f->init_failed = fact_text("RmInitAdapter failed!");)
STATE(init_failed, old_log(f); f->gpu_count = 1;)
STATE(init_failed_here, old_log(f); nodes[2].error = EIO;)
STATE(recorded_log, init_failed(f); f->root = "r"; f->nvml_asked = false;)
STATE(log_in_job, init_failed(f); nodes[3].sight = SEEN; nodes[3].error = EPERM;)
STATE(legacy_card, old_log(f); f->gpu_count = 1; pci[1].driver = NULL;)
STATE(refused, nodes[2].error = EPERM;)
STATE(other_refused, nodes[3].sight = SEEN; nodes[3].error = EPERM;)
STATE(other_denied, nodes[3].sight = SEEN; nodes[3].error = EACCES;)
STATE(uvm_refused, nodes[1].error = EPERM;)
STATE(denied, nodes[2].error = EACCES;)
STATE(part_listed, f->root = "r"; nodes[3].sight = SEEN;
      f->devices_cgroup = fact_text("c 195:255 rwm\nc 195:1 rwm");)
STATE(hangs, f->nvml_hangs = true; f->nvml = NVML_ERROR_TIMEOUT; f->gpu_count = 0;)
STATE(part_in_container, f->container = fact_text("Apptainer"); other_refused(f);)
STATE(not_listed, f->root = "r"; f->devices_cgroup = fact_text("c 1:3 rwm\nc 195:1 rwm");)
STATE(unknown_error, f->nvml = NVML_ERROR_UNKNOWN;)
STATE(no_nodes, f->node_count = 0;)
STATE(void_request, f->node_count = 0; variables[0] = "NVIDIA_VISIBLE_DEVICES=void";)
STATE(unused_request, f->node_count = 0; variables[0] = "NVIDIA_VISIBLE_DEVICES=all";)
STATE(no_libcuda, f->libraries++; f->library_count--;)
STATE(no_libcuda_utility, no_libcuda(f); variables[0] = "NVIDIA_DRIVER_CAPABILITIES=utility";)
STATE(no_nvml, f->gpu_count = 0;)
STATE(no_control, nodes[0].sight = ABSENT;)
STATE(too_few_nodes, f->listed_gpus = 2;)
STATE(no_uvm, nodes[1].sight = ABSENT;)
STATE(no_permission, nodes[0].error = EACCES;)
STATE(vfio, pci[1].driver = "vfio-pci";)
STATE(unbound, pci[1].driver = NULL;)
STATE(stub, libraries[0].real = "/usr/local/cuda/lib64/stubs/libcuda.so";)
STATE(consumer, gpus[1].name = "NVIDIA GeForce RTX 4090";)
STATE(old_compat, libraries[0].version = "550.54.15";)
STATE(second_cuda, libraries[2] = libraries[0]; libraries[2].path = "/opt/libcuda.so.1";
      libraries[2].version = "550.54.15";)
STATE(path_set, variables[0] = "LD_LIBRARY_PATH=/cuda/stubs";)
STATE(stub_folder, f->stub_folder = fact_text("/cuda/stubs");)
STATE(lost, gpus[1].state = NVML_ERROR_GPU_IS_LOST;)
STATE(fabric_starts, gpus[0].fabric = NVML_FABRIC_IN_PROGRESS;)
STATE(fabric_fails, gpus[0].fabric_status = NVML_ERROR_UNKNOWN;)
STATE(switches, f->gpu_count = 0; f->switches = 6; f->fabric_manager = fact_number(42);)
STATE(no_manager, f->fabric_manager = fact_absent();)
STATE(confidential, f->confidential = 1; f->accepts_work = 1;)
STATE(not_accepting, f->accepts_work = 0;)
STATE(rows_failed, gpus[1].rows_failed = 1;)
STATE(rows_pending, gpus[1].rows_pending = 1;)
STATE(pages_pending, gpus[1].pages_pending = 1;)
STATE(errors, gpus[1].errors = 3;)
STATE(ecc_changes, gpus[1].ecc_pending = 0;)
STATE(mig_changes, gpus[1].mig_pending = 1;)
STATE(mig_on, gpus[1].mig = gpus[1].mig_pending = 1; gpus[1].instances = 2;)
STATE(mig_empty, gpus[1].instances = 0;)
STATE(prohibited, gpus[1].compute = NVML_COMPUTE_PROHIBITED;)
STATE(busy, gpus[1].compute = NVML_COMPUTE_EXCLUSIVE_PROCESS; gpus[1].processes = 1;)
STATE(no_mps, f->mps = fact_absent();)
STATE(mps_server, no_mps(f); busy(f); gpus[1].mps_server = true;)
STATE(busy_hidden, no_mps(f); busy(f); gpus[1].hidden = true;)
STATE(unknown_gpu, gpus[1].state = NVML_ERROR_UNKNOWN;)
STATE(here_in_container, f->container = fact_text("Docker");)
STATE(needs_reset, gpus[1].state = NVML_ERROR_RESET_REQUIRED;)
STATE(lowered, gpus[1].clocks = NVML_CLOCKS_HW_SLOWDOWN;)
STATE(hot, gpus[1].clocks = NVML_CLOCKS_HW_THERMAL;)
STATE(brake, gpus[1].clocks = NVML_CLOCKS_HW_POWER_BRAKE;)
STATE(narrow, gpus[1].width = 8;)
STATE(slow, gpus[1].generation = 1;)
STATE(idle, gpus[1].generation = 1; gpus[1].performance = 8;)
STATE(not_persistent, gpus[1].persistence = 0;)
STATE(xid, f->xid = fact_text("79 (1 time)");)
STATE(xid_program, f->xid_program = fact_text("31 (1 time)");)
STATE(small_shm, f->shm = fact_number(64 << 20);)
STATE(no_shm, f->shm = fact_absent();)
STATE(full_shm, f->shm_free = fact_number(1 << 20);)
STATE(low_memlock, f->memlock = fact_number(64 << 10);)
STATE(low_address_space, f->address_space = fact_number(8ll << 30);)
STATE(lost_leases, f->leases.number = 1003;)
STATE(far_cpus, f->cpus = fact_text("32-63");)
STATE(translates, pci[1].iommu = "DMA-FQ";)
STATE(acs, f->acs = fact_text("0000:06:00.0"); f->acs.number = 2;)
STATE(no_peermem, f->peermem = false;)
STATE(no_daemon, f->mps.number = 0;)

STATE(cpu_build, f->pythons[0].packages[PACKAGE_TORCH].cuda = fact_absent();)
STATE(new_major, f->pythons[0].packages[PACKAGE_TORCH].cuda.number = 13000;)
STATE(new_code, code.machine[80] = code.ptx[80] = 0;
      code.machine[100] = code.ptx[100] = CODE_PLAIN;)
STATE(old_code, code.ptx[80] = 0;)
STATE(later_minor, code.machine[80] = code.ptx[80] = 0; code.machine[92] = CODE_PLAIN;)
STATE(not_found, needed[0].path = NULL;)
STATE(hidden, needed[0].wheel = "/v/nvidia/cudnn/lib/libcudnn.so.9";)

static const struct {
	const char *name;
	enum finding_id finding;
	void (*before)(struct facts *); /* in both states */
	void (*bad)(struct facts *);
} rows[] = {
	{"libcuda", FINDING_VERSIONS_DIFFER, nothing, old_cuda},
	{"libnvidia-ml", FINDING_VERSIONS_DIFFER, nothing, old_nvml},
	{"nouveau", FINDING_NOUVEAU_LOADED, unload, nouveau},
	{"not built", FINDING_MODULE_NOT_BUILT, unload, not_built},
	{"signatures", FINDING_MODULE_UNSIGNED, unload, signatures},
	{"initialisation", FINDING_INIT_FAILED, nothing, init_failed},
	{"a GPU that does not open", FINDING_INIT_FAILED, nothing, init_failed_here},
	{"NVML hangs", FINDING_NVML_HANGS, nothing, hangs},
	{"EPERM in a container", FINDING_GPUS_TAKEN, in_container, refused},
	{"cgroup 1 in a container", FINDING_GPUS_TAKEN, in_container, not_listed},
	{"unknown error", FINDING_GPUS_TAKEN, in_container, unknown_error},
	{"unknown error of a GPU", FINDING_GPUS_TAKEN, here_in_container, unknown_gpu},
	{"no device files", FINDING_CONTAINER_NO_GPUS, in_container, no_nodes},
	{"void", FINDING_CONTAINER_NO_GPUS, in_container, void_request},
	{"without the toolkit", FINDING_CONTAINER_NO_GPUS, in_container, unused_request},
	{"by hand", FINDING_CONTAINER_NO_COMPUTE, in_container, no_libcuda},
	{"no compute", FINDING_CONTAINER_NO_COMPUTE, in_container, no_libcuda_utility},
	{"no compute", FINDING_CONTAINER_NO_COMPUTE, in_container, no_libcuda},
	{"no nvidiactl", FINDING_NODE_MISSING, no_nvml, no_control},
	{"too few", FINDING_NODE_MISSING, no_nvml, too_few_nodes},
	{"no uvm", FINDING_UVM_MISSING, nothing, no_uvm},
	{"permission", FINDING_NODE_DENIED, nothing, no_permission},
	{"permission for all GPUs", FINDING_NODE_DENIED, other_denied, denied},
	{"cgroup 2", FINDING_NODE_CGROUP, nothing, refused},
	{"cgroup 2, all GPUs", FINDING_NODE_CGROUP, other_refused, refused},
	{"cgroup 2, uvm", FINDING_NODE_CGROUP, nothing, uvm_refused},
	{"cgroup 1, part of the GPUs", FINDING_NODE_CGROUP, part_listed, not_listed},
	{"part of the GPUs in a container", FINDING_GPUS_TAKEN, part_in_container, refused},
	{"cgroup 1", FINDING_NODE_CGROUP, nothing, not_listed},
	{"vfio", FINDING_GPU_UNBOUND, nothing, vfio},
	{"unbound", FINDING_GPU_UNBOUND, nothing, unbound},
	{"no libcuda", FINDING_LIBCUDA_MISSING, nothing, no_libcuda},
	{"stub", FINDING_STUB_LOADED, nothing, stub},
	{"stub folder", FINDING_STUB_LOADED, path_set, stub_folder},
	{"GeForce", FINDING_COMPAT_UNSUPPORTED, compat, consumer},
	{"old compat", FINDING_COMPAT_OLDER, compat, old_compat},
	{"two libcuda", FINDING_TWO_LIBCUDA, nothing, second_cuda},
	{"lost", FINDING_GPU_LOST, nothing, lost},
	{"unknown error of a GPU", FINDING_GPU_LOST, nothing, unknown_gpu},
	{"needs a reset", FINDING_GPU_LOST, nothing, needs_reset},
	{"fabric starts", FINDING_FABRIC_NOT_READY, nothing, fabric_starts},
	{"fabric fails", FINDING_FABRIC_NOT_READY, nothing, fabric_fails},
	{"no fabric manager", FINDING_FABRIC_NOT_READY, switches, no_manager},
	{"confidential", FINDING_NOT_ACCEPTING, confidential, not_accepting},
	{"remap failed", FINDING_REMAP_FAILED, nothing, rows_failed},
	{"remap pending", FINDING_REMAP_PENDING, nothing, rows_pending},
	{"pages pending", FINDING_REMAP_PENDING, nothing, pages_pending},
	{"errors", FINDING_ECC_ERRORS, nothing, errors},
	{"ECC pending", FINDING_MODE_PENDING, nothing, ecc_changes},
	{"MIG pending", FINDING_MODE_PENDING, nothing, mig_changes},
	{"MIG without an instance", FINDING_MIG_EMPTY, mig_on, mig_empty},
	{"prohibited", FINDING_COMPUTE_PROHIBITED, nothing, prohibited},
	{"exclusive, busy", FINDING_EXCLUSIVE_BUSY, no_mps, busy},
	{"hot", FINDING_GPU_SLOWED, nothing, hot},
	{"power brake", FINDING_GPU_SLOWED, nothing, brake},
	{"half of the clocks", FINDING_GPU_SLOWED, nothing, lowered},
	{"narrow", FINDING_PCIE_NARROW, nothing, narrow},
	{"slow", FINDING_PCIE_SLOW, nothing, slow},
	{"not persistent", FINDING_NO_PERSISTENCE, nothing, not_persistent},
	{"Xid", FINDING_XID_HARDWARE, nothing, xid},
	{"Xid of a program", FINDING_XID_PROGRAM, nothing, xid_program},
	{"small shm", FINDING_SHM_SMALL, nothing, small_shm},
	{"no shm", FINDING_SHM_SMALL, nothing, no_shm},
	{"full shm", FINDING_SHM_SMALL, nothing, full_shm},
	{"memlock", FINDING_MEMLOCK_LOW, nothing, low_memlock},
	{"address space", FINDING_ADDRESS_LIMITED, nothing, low_address_space},
	{"a stranger's leases", FINDING_LEASE_FOLDER, nothing, lost_leases},
	{"CPUs", FINDING_FAR_CPUS, nothing, far_cpus},
	{"IOMMU", FINDING_IOMMU_TRANSLATES, nothing, translates},
	{"ACS", FINDING_ACS_REDIRECTS, nothing, acs},
	{"peermem", FINDING_NO_PEERMEM, nothing, no_peermem},
	{"MPS", FINDING_MPS_GONE, nothing, no_daemon},
	{"for the CPU", FINDING_CPU_BUILD, torch, cpu_build},
	{"CUDA 13 with a driver of 12", FINDING_DRIVER_OLD, torch, new_major},
	{"code for newer GPUs", FINDING_NO_CODE, torch, new_code},
	{"code for older GPUs", FINDING_NO_CODE, torch, old_code},
	{"code for a later minor version", FINDING_NO_CODE, torch, later_minor},
	{"a library that is missing", FINDING_LIBRARY_MISSING, torch, not_found},
	{"a library that is hidden", FINDING_LIBRARY_HIDDEN, torch, hidden},
};

static const struct check *check_of(enum finding_id finding)
{
	for (size_t i = 0; i < check_count(); i++)
		if (check_get(i)->finding == finding)
			return check_get(i);
	ck_abort_msg("a finding without a check");
}

START_TEST(finds_bad_alone)
{
	struct arena arena = {0};
	struct verdict verdict;
	struct facts facts;

	set_well(&facts);
	rows[_i].before(&facts);
	judge(check_of(rows[_i].finding), &facts, &arena, &verdict);
	ck_assert_msg(verdict.outcome == OUTCOME_FINE, "%s: a good state: %d, %s", rows[_i].name,
		      verdict.outcome, verdict.text ? verdict.text : "");
	rows[_i].bad(&facts);
	judge(check_of(rows[_i].finding), &facts, &arena, &verdict);
	ROW_EQ_INT(rows[_i].name, verdict.outcome, OUTCOME_WRONG);
	ck_assert_msg(verdict.text && verdict.fix, "%s: text and remedy", rows[_i].name);
	arena_free(&arena);
}
END_TEST

/* No other state of a machine on which all is well is wrong. */
START_TEST(well)
{
	struct arena arena = {0};
	struct verdict verdict;
	struct facts facts;

	set_well(&facts);
	for (size_t i = 0; i < check_count(); i++) {
		judge(check_get(i), &facts, &arena, &verdict);
		ck_assert_msg(verdict.outcome != OUTCOME_WRONG, "%s: %s", check_get(i)->title,
			      verdict.text);
	}
	idle(&facts);
	judge(check_of(FINDING_PCIE_SLOW), &facts, &arena, &verdict);
	ck_assert_int_eq(verdict.outcome, OUTCOME_FINE);
	arena_free(&arena);
}
END_TEST

/* What makes a state that looks bad a good one. */
STATE(makes_nodes, nodes[0].sight = nodes[1].sight = ABSENT; f->makes_nodes = true;)
STATE(not_used, pci[0].used = pci[1].used = false; far_cpus(f);)
STATE(joined, f->joined = 1; translates(f); acs(f);)
STATE(links_unknown, f->joined = -1; translates(f); acs(f);)
STATE(machine_of_guests, pci[0].driver = "vfio-pci"; translates(f); acs(f);)
STATE(two_geforce, gpus[0].name = gpus[1].name = "NVIDIA GeForce RTX 4090"; translates(f); acs(f);)
STATE(one_allowed, f->gpu_count = 1; translates(f); acs(f);)
STATE(idle_lanes, narrow(f); gpus[1].performance = 8;)
STATE(lanes_unknown, narrow(f); gpus[1].performance = -1;)
STATE(no_active_port, f->infiniband.number = 0; low_memlock(f); no_peermem(f);)
STATE(locks_all, low_memlock(f); f->ipc_lock = true;)
STATE(no_gpus, low_memlock(f); no_peermem(f); f->gpu_count = f->pci_count = f->listed_gpus = 0;)
STATE(jetson, f->tegra = true; libraries[0].version = "1.1"; nodes[1].sight = ABSENT;)
STATE(short_version, libraries[0].version = "1.1";)
STATE(jetson_compat, jetson(f); compat(f); libraries[0].version = "1.1";)
STATE(part_of_nodes, too_few_nodes(f); f->listed_gpus = 8;)
STATE(idle_clocks, lowered(f); gpus[1].performance = 8;)
STATE(hidden_manager, switches(f);
      f->fabric_manager = fact_unseen("the processes of others are not visible");)
STATE(rows_pending_too, gpus[0].rows_pending = 1;)
STATE(old_switches, f->switches = 6; gpus[0].major = 8;)
STATE(nouveau_unloaded, unload(f); nouveau(f);)
STATE(busy_hidden_gpu, no_mps(f); busy(f); gpus[1].visible = false;)
STATE(prohibited_hidden_gpu, prohibited(f); gpus[1].visible = false;)
STATE(consumer_hidden_gpu, compat(f); consumer(f); gpus[1].visible = false;)
STATE(old_hidden_gpu, torch(f); gpus[1].major = 7; gpus[1].visible = false;)
STATE(idle_bit, hot(f); narrow(f); slow(f); gpus[1].clocks |= NVML_CLOCKS_GPU_IDLE;)
STATE(unknown_gpu_in_container, f->container = fact_text("Docker"); unknown_gpu(f);)
STATE(jetson_container, jetson(f); in_container(f); f->node_count = 0;)
STATE(no_folders, no_libcuda(f); f->folders = fact_unseen("--root has no libraries");)
STATE(no_folders_in_container, in_container(f); no_folders(f);)
STATE(mig_turns_off, mig_on(f); mig_empty(f); gpus[1].mig_pending = 0;)
STATE(instances_unknown, mig_on(f); gpus[1].instances = -1;)
STATE(no_address, gpus[1].pci = NULL;)
STATE(one_address, rows_pending_too(f); gpus[0].pci = NULL;)
STATE(old_links, f->joined = 1; gpus[0].major = 8;)
STATE(old_image, f->container = fact_text("Docker"); old_cuda(f);)
STATE(listed_here, f->devices_cgroup = fact_text("c 1:3 rwm");)

STATE(geforce_network, two_geforce(f); no_peermem(f);)
STATE(no_limit, f->shm = fact_number(-1); f->shm_free = fact_unseen("it has no limit");)

static const struct {
	const char *name;
	enum finding_id finding;
	void (*state)(struct facts *);
} harmless[] = {
	{"nvidia-modprobe makes files", FINDING_NODE_MISSING, makes_nodes},
	{"nvidia-modprobe makes uvm", FINDING_UVM_MISSING, makes_nodes},
	{"GPUs that the list hides: CPUs", FINDING_FAR_CPUS, not_used},
	{"NVLink beside an IOMMU", FINDING_IOMMU_TRANSLATES, joined},
	{"NVLink beside ACS", FINDING_ACS_REDIRECTS, joined},
	{"unknown NVLink beside an IOMMU", FINDING_IOMMU_TRANSLATES, links_unknown},
	{"unknown NVLink beside ACS", FINDING_ACS_REDIRECTS, links_unknown},
	{"a GPU of a virtual machine beside an IOMMU", FINDING_IOMMU_TRANSLATES, machine_of_guests},
	{"a GPU of a virtual machine beside ACS", FINDING_ACS_REDIRECTS, machine_of_guests},
	{"GeForce beside an IOMMU", FINDING_IOMMU_TRANSLATES, two_geforce},
	{"GeForce beside ACS", FINDING_ACS_REDIRECTS, two_geforce},
	{"a container with one GPU beside an IOMMU", FINDING_IOMMU_TRANSLATES, one_allowed},
	{"a container with one GPU beside ACS", FINDING_ACS_REDIRECTS, one_allowed},
	{"lanes of an idle GPU", FINDING_PCIE_NARROW, idle_lanes},
	{"lanes in an unknown state", FINDING_PCIE_NARROW, lanes_unknown},
	{"a network that is not in use: memlock", FINDING_MEMLOCK_LOW, no_active_port},
	{"a network that is not in use: peermem", FINDING_NO_PEERMEM, no_active_port},
	{"GeForce beside InfiniBand", FINDING_NO_PEERMEM, geforce_network},
	{"a /dev/shm without a limit", FINDING_SHM_SMALL, no_limit},
	{"CAP_IPC_LOCK", FINDING_MEMLOCK_LOW, locks_all},
	{"InfiniBand without GPUs: memlock", FINDING_MEMLOCK_LOW, no_gpus},
	{"InfiniBand without GPUs: peermem", FINDING_NO_PEERMEM, no_gpus},
	{"libcuda of Tegra", FINDING_VERSIONS_DIFFER, jetson},
	{"a version that is not the driver's", FINDING_VERSIONS_DIFFER, short_version},
	{"cuda-compat of Tegra", FINDING_COMPAT_OLDER, jetson_compat},
	{"no uvm on Tegra", FINDING_UVM_MISSING, jetson},
	{"nouveau without a GPU", FINDING_NOUVEAU_LOADED, nouveau_loaded},
	{"nouveau without links", FINDING_NOUVEAU_LOADED, links_missing},
	{"a part of the files, and NVML works", FINDING_NODE_MISSING, part_of_nodes},
	{"a daemon of MPS", FINDING_EXCLUSIVE_BUSY, busy},
	{"the server of MPS", FINDING_EXCLUSIVE_BUSY, mps_server},
	{"a process that is not visible", FINDING_EXCLUSIVE_BUSY, busy_hidden},
	{"clocks of an idle GPU", FINDING_GPU_SLOWED, idle_clocks},
	{"hidden processes", FINDING_FABRIC_NOT_READY, hidden_manager},
	{"an old line of the log", FINDING_INIT_FAILED, old_log},
	{"a log of a recorded machine", FINDING_INIT_FAILED, recorded_log},
	{"a log of other GPUs", FINDING_INIT_FAILED, log_in_job},
	{"a log of a legacy card", FINDING_INIT_FAILED, legacy_card},
	{"files that open here", FINDING_NODE_CGROUP, listed_here},
	{"a GPU that the list hides: exclusive", FINDING_EXCLUSIVE_BUSY, busy_hidden_gpu},
	{"a GPU that the list hides: prohibited", FINDING_COMPUTE_PROHIBITED,
	 prohibited_hidden_gpu},
	{"a GPU that the list hides: cuda-compat", FINDING_COMPAT_UNSUPPORTED, consumer_hidden_gpu},
	{"a GPU that the list hides: code", FINDING_NO_CODE, old_hidden_gpu},
	{"an idle GPU in a high state: clocks", FINDING_GPU_SLOWED, idle_bit},
	{"an idle GPU in a high state: lanes", FINDING_PCIE_NARROW, idle_bit},
	{"an idle GPU in a high state: generation", FINDING_PCIE_SLOW, idle_bit},
	{"an unknown error in a container", FINDING_GPU_LOST, unknown_gpu_in_container},
	{"MIG that is turned off", FINDING_MIG_EMPTY, mig_turns_off},
	{"instances that are not visible", FINDING_MIG_EMPTY, instances_unknown},
	{"a container on Jetson", FINDING_CONTAINER_NO_GPUS, jetson_container},
	{"a recording without libraries", FINDING_LIBCUDA_MISSING, no_folders},
	{"a recording of a container without libraries", FINDING_CONTAINER_NO_COMPUTE,
	 no_folders_in_container},
};

START_TEST(leaves_harmless_alone)
{
	struct arena arena = {0};
	struct verdict verdict;
	struct facts facts;

	set_well(&facts);
	harmless[_i].state(&facts);
	judge(check_of(harmless[_i].finding), &facts, &arena, &verdict);
	ck_assert_msg(verdict.outcome != OUTCOME_WRONG, "%s: %s", harmless[_i].name, verdict.text);
	arena_free(&arena);
}
END_TEST

/* A remedy names the variable only if the variable is the cause. */
START_TEST(cause_of_no_compute)
{
	static const struct {
		const char *variable;
		bool is_cause;
	} cases[] = {
		{NULL, false},
		{"NVIDIA_DRIVER_CAPABILITIES=all", false},
		{"NVIDIA_DRIVER_CAPABILITIES=compute,utility", false},
		{"NVIDIA_DRIVER_CAPABILITIES=utility,compute", false},
		{"NVIDIA_DRIVER_CAPABILITIES=utility", true},
		{"NVIDIA_DRIVER_CAPABILITIES=compat32", true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct arena arena = {0};
		struct verdict verdict;
		struct facts facts;

		set_well(&facts);
		in_container(&facts);
		no_libcuda(&facts);
		variables[0] = cases[i].variable;
		judge(check_of(FINDING_CONTAINER_NO_COMPUTE), &facts, &arena, &verdict);
		ROW_EQ_INT(cases[i].variable ? cases[i].variable : "not set", verdict.outcome,
			   OUTCOME_WRONG);
		ck_assert_msg(!strstr(verdict.fix, "CAPABILITIES=") == !cases[i].is_cause, "%s: %s",
			      cases[i].variable ? cases[i].variable : "not set", verdict.fix);
		arena_free(&arena);
	}
}
END_TEST

/* A command that changes GPUs names them: without -i it would change all. Numbers of a container or
 * a job can be those of other GPUs on the host. */
static const struct {
	const char *name;
	enum finding_id finding;
	void (*before)(struct facts *);
	void (*bad)(struct facts *);
	const char *fix, *lacks; /* lacks NULL: nothing */
} remedies[] = {
	{"lost", FINDING_GPU_LOST, nothing, lost, "look at dmesg for Xid, and reboot", NULL},
	{"reset", FINDING_GPU_LOST, nothing, needs_reset, "nvidia-smi -i 0000:08:00.0 -r as root",
	 NULL},
	{"two GPUs", FINDING_REMAP_PENDING, rows_pending_too, rows_pending,
	 "nvidia-smi -i 0000:07:00.0,0000:08:00.0 -r", NULL},
	{"NVSwitch", FINDING_REMAP_PENDING, old_switches, rows_pending, "all GPUs together", NULL},
	{"NVLink", FINDING_REMAP_PENDING, old_links, rows_pending, "all GPUs together", NULL},
	{"ECC", FINDING_MODE_PENDING, nothing, ecc_changes, "nvidia-smi -i 0000:08:00.0 -e 0",
	 NULL},
	{"MIG", FINDING_MODE_PENDING, nothing, mig_changes, "nvidia-smi -i 0000:08:00.0 -mig 0",
	 NULL},
	{"mode", FINDING_COMPUTE_PROHIBITED, nothing, prohibited, "nvidia-smi -i 0000:08:00.0 -c 0",
	 NULL},
	{"no address", FINDING_REMAP_PENDING, no_address, rows_pending, "and reset it",
	 "nvidia-smi"},
	{"one address of two", FINDING_REMAP_PENDING, one_address, rows_pending, "and reset it",
	 "nvidia-smi"},
	{"ECC, no address", FINDING_MODE_PENDING, no_address, ecc_changes,
	 "reset it; or take the change back", "nvidia-smi"},
	{"nouveau alone", FINDING_NOUVEAU_LOADED, not_built, nouveau_unloaded, "install NVIDIA's",
	 NULL},
	{"versions differ", FINDING_VERSIONS_DIFFER, nothing, old_cuda, "end all jobs", NULL},
	{"versions differ in a container", FINDING_VERSIONS_DIFFER, nothing, old_image,
	 "from the image", "reboot"},
	{"CPUs", FINDING_FAR_CPUS, nothing, far_cpus, "ask the scheduler", "gpumap run"},
	{"permission", FINDING_NODE_DENIED, nothing, no_permission, "ask the administrator",
	 "0666"},
	{"MPS", FINDING_MPS_GONE, nothing, no_daemon, "unset CUDA_MPS_PIPE_DIRECTORY", "remove"},
	{"the host's part", FINDING_COMPUTE_PROHIBITED, here_in_container, prohibited,
	 "choose another GPU, or on the host set the default mode: nvidia-smi -i 0000:08:00.0 -c 0",
	 NULL},
	{"the host alone", FINDING_NO_PERSISTENCE, here_in_container, not_persistent,
	 "on the host: start the service", NULL},
	{"on the machine itself", FINDING_NO_PERSISTENCE, nothing, not_persistent,
	 "start the service", "on the host"},
	{"nothing for the host", FINDING_FAR_CPUS, here_in_container, far_cpus, "ask the scheduler",
	 "on the host"},
};

START_TEST(names_gpus)
{
	struct arena arena = {0};
	struct verdict verdict;
	struct facts facts;

	set_well(&facts);
	remedies[_i].before(&facts);
	remedies[_i].bad(&facts);
	judge(check_of(remedies[_i].finding), &facts, &arena, &verdict);
	ROW_EQ_INT(remedies[_i].name, verdict.outcome, OUTCOME_WRONG);
	ck_assert_msg(strstr(verdict.fix, remedies[_i].fix), "%s: %s", remedies[_i].name,
		      verdict.fix);
	ck_assert_msg(!remedies[_i].lacks || !strstr(verdict.fix, remedies[_i].lacks), "%s: %s",
		      remedies[_i].name, verdict.fix);
	arena_free(&arena);
}
END_TEST

/* Inside a container, what only the host can do is named so. */
static const char *const of_host[] = {"as root",      "reboot",   "dmesg",      "modprobe",
				      "nvidia-smi -", "setpci",   "the kernel", "service",
				      "BIOS",         "driver, ", "the slot",   "fans"};

START_TEST(names_the_host)
{
	struct arena arena = {0};
	struct verdict verdict;
	struct facts facts;

	set_well(&facts);
	rows[_i].before(&facts);
	rows[_i].bad(&facts);
	judge(check_of(rows[_i].finding), &facts, &arena, &verdict);
	ck_assert_msg(!strchr(verdict.fix, *ON_HOST) && !strstr(verdict.fix, "on the host "),
		      "%s: %s", rows[_i].name, verdict.fix);
	if (facts.container.sight == ABSENT)
		facts.container = fact_text("container");
	judge(check_of(rows[_i].finding), &facts, &arena, &verdict);
	for (size_t i = 0; verdict.outcome == OUTCOME_WRONG && i < ARRAY_SIZE(of_host); i++)
		ck_assert_msg(!strstr(verdict.fix, of_host[i]) ||
				      strstr(verdict.fix, "on the host"),
			      "%s: %s", rows[_i].name, verdict.fix);
	arena_free(&arena);
}
END_TEST

START_TEST(each_has_a_row)
{
	for (size_t i = 0; i < check_count(); i++) {
		size_t k = 0;

		while (k < ARRAY_SIZE(rows) && rows[k].finding != check_get(i)->finding)
			k++;
		ck_assert_msg(k < ARRAY_SIZE(rows), "%s: no row", check_get(i)->title);
		ck_assert_msg(check_get(i)->source && *check_get(i)->source, "%s: no source",
			      check_get(i)->title);
	}
}
END_TEST

/* Code of one kind, and a GPU that it runs on or not: tables of the CUDA Programming Guide, 5.1.2,
 * "Family-Specific Compatibility", and of its section about binary compatibility. */
static const struct {
	const char *name;
	int machine, ptx; /* 0: none */
	enum code_scope scope;
	int capability;
	bool runs;
} codes[] = {
	{"sm_90 on 9.0", 90, 0, CODE_PLAIN, 90, true},
	{"sm_80 on 8.6", 80, 0, CODE_PLAIN, 86, true},
	{"sm_86 on 8.0", 86, 0, CODE_PLAIN, 80, false},
	{"sm_80 on 9.0", 80, 0, CODE_PLAIN, 90, false},
	{"sm_100 on 10.3", 100, 0, CODE_PLAIN, 103, true},
	{"sm_90a on 9.0", 90, 0, CODE_EXACT, 90, true},
	{"sm_90a on 10.0", 90, 0, CODE_EXACT, 100, false},
	{"sm_100a on 10.3", 100, 0, CODE_EXACT, 103, false},
	{"sm_120a on 12.1", 120, 0, CODE_EXACT, 121, false},
	{"sm_100f on 10.0", 100, 0, CODE_FAMILY, 100, true},
	{"sm_100f on 10.3", 100, 0, CODE_FAMILY, 103, true},
	{"sm_103f on 10.0", 103, 0, CODE_FAMILY, 100, false},
	{"sm_100f on 11.0", 100, 0, CODE_FAMILY, 110, false},
	{"sm_120f on 12.1", 120, 0, CODE_FAMILY, 121, true},
	{"compute_80 on 9.0", 0, 80, CODE_PLAIN, 90, true},
	{"compute_90 on 8.9", 0, 90, CODE_PLAIN, 89, false},
	{"compute_90a on 9.0", 0, 90, CODE_EXACT, 90, true},
	{"compute_90a on 10.0", 0, 90, CODE_EXACT, 100, false},
	{"compute_100a on 10.3", 0, 100, CODE_EXACT, 103, false},
	{"compute_100f on 10.3", 0, 100, CODE_FAMILY, 103, true},
	{"compute_100f on 12.0", 0, 100, CODE_FAMILY, 120, false},
	{"compute_103f on 10.0", 0, 103, CODE_FAMILY, 100, false},
};

START_TEST(code_runs)
{
	struct arena arena = {0};
	struct verdict verdict;
	struct facts facts;

	set_well(&facts);
	torch(&facts);
	facts.gpu_count = 1;
	gpus[0].major = codes[_i].capability / 10;
	gpus[0].minor = codes[_i].capability % 10;
	code = (struct gpu_code){.any = true};
	if (codes[_i].machine)
		code.machine[codes[_i].machine] = codes[_i].scope;
	if (codes[_i].ptx)
		code.ptx[codes[_i].ptx] = codes[_i].scope;
	judge(check_of(FINDING_NO_CODE), &facts, &arena, &verdict);
	ROW_EQ_INT(codes[_i].name, verdict.outcome, codes[_i].runs ? OUTCOME_FINE : OUTCOME_WRONG);
	arena_free(&arena);
}
END_TEST

/* Facts that are not visible are neither good nor bad. */
START_TEST(nothing_visible)
{
	struct arena arena = {0};
	struct verdict verdict;
	struct facts facts = {.root = "r"};

	pci[0] = pci[1] =
		(struct pci_gpu){.address = "0000:07:00.0", .used = true, .near_cpus = "0"};
	facts.pci = pci;
	facts.pci_count = 2;
	facts.xid = facts.shm = facts.module = facts.cpus = facts.acs = fact_unseen("denied");
	facts.fabric_manager = facts.mps = facts.open_files = fact_unseen("denied");
	facts.confidential = -1;
	for (size_t i = 0; i < check_count(); i++) {
		judge(check_get(i), &facts, &arena, &verdict);
		ck_assert_msg(verdict.outcome == OUTCOME_MOOT ||
				      verdict.outcome == OUTCOME_UNSEEN ||
				      check_get(i)->finding == FINDING_INIT_FAILED ||
				      check_get(i)->finding == FINDING_XID_PROGRAM,
			      "%s: %d", check_get(i)->title, verdict.outcome);
	}
	judge(check_of(FINDING_XID_HARDWARE), &facts, &arena, &verdict);
	ck_assert_int_eq(verdict.outcome, OUTCOME_UNSEEN);
	ck_assert_str_eq(verdict.text, "the kernel's log: denied");
	arena_free(&arena);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("doctor");
	TCase *tests = tcase_create("doctor");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, finds_bad_alone, 0, ARRAY_SIZE(rows));
	tcase_add_loop_test(tests, names_the_host, 0, ARRAY_SIZE(rows));
	tcase_add_loop_test(tests, code_runs, 0, ARRAY_SIZE(codes));
	tcase_add_loop_test(tests, leaves_harmless_alone, 0, ARRAY_SIZE(harmless));
	tcase_add_loop_test(tests, names_gpus, 0, ARRAY_SIZE(remedies));
	tcase_add_test(tests, well);
	tcase_add_test(tests, cause_of_no_compute);
	tcase_add_test(tests, each_has_a_row);
	tcase_add_test(tests, nothing_visible);
	return unit_run(suite);
}
