/* SPDX-License-Identifier: MIT */
/* The state of the GPUs, by NVML. */
#include "check.h"

/* Both parts of a check of GPUs: whether NVML knows it, and whether it is wrong. */
#define PREDICATE(name, condition) \
	static bool name(const struct gpu *gpu) \
	{ \
		return condition; \
	}

PREDICATE(is_counted, gpu->index < GPUMAP_MAX_DEVICES)
PREDICATE(is_gone, gpu->state == NVML_ERROR_GPU_IS_LOST)
PREDICATE(is_lost, is_gone(gpu) || gpu->state == NVML_ERROR_UNKNOWN)
PREDICATE(needs_reset, gpu->state == NVML_ERROR_RESET_REQUIRED)
PREDICATE(has_fabric, gpu->fabric > NVML_FABRIC_UNSUPPORTED)
PREDICATE(fabric_starting,
	  gpu->fabric == NVML_FABRIC_NOT_STARTED || gpu->fabric == NVML_FABRIC_IN_PROGRESS)
PREDICATE(fabric_failed, gpu->fabric == NVML_FABRIC_COMPLETED && gpu->fabric_status > 0)
PREDICATE(has_rows, gpu->rows_pending >= 0)
PREDICATE(rows_failed, gpu->rows_failed > 0)
/* Models before Ampere retire pages, later ones replace rows. */
PREDICATE(has_repairs, gpu->rows_pending >= 0 || gpu->pages_pending >= 0)
PREDICATE(repair_pending, gpu->rows_pending > 0 || gpu->pages_pending > 0)
PREDICATE(has_errors, gpu->errors >= 0)
PREDICATE(errors_counted, gpu->errors > 0)
PREDICATE(has_ecc, gpu->ecc >= 0)
PREDICATE(ecc_changes, gpu->ecc >= 0 && gpu->ecc != gpu->ecc_pending)
PREDICATE(has_mig, gpu->mig >= 0)
PREDICATE(mig_changes, gpu->mig >= 0 && gpu->mig != gpu->mig_pending)
/* While a change waits for a reset there can be no instance. */
PREDICATE(has_instances, gpu->mig == 1 && gpu->mig_pending == 1 && gpu->instances >= 0)
PREDICATE(lacks_instances, has_instances(gpu) && !gpu->instances)
PREDICATE(has_mode, gpu->compute >= 0)
PREDICATE(is_prohibited, gpu->compute == NVML_COMPUTE_PROHIBITED)
PREDICATE(is_exclusive, gpu->compute == NVML_COMPUTE_EXCLUSIVE_PROCESS ||
				gpu->compute == NVML_COMPUTE_EXCLUSIVE_THREAD)
/* Under MPS the process is its server, which takes other programs. */
PREDICATE(exclusive_busy, is_exclusive(gpu) && gpu->processes > 0 && !gpu->mps_server)
PREDICATE(busy_by_known, exclusive_busy(gpu) && !gpu->hidden)
/* An idle GPU lowers its clocks and its link to save power, which slows no program. Some models
 * stay in a high state. */
PREDICATE(is_idle, gpu->clocks >= 0 && gpu->clocks & NVML_CLOCKS_GPU_IDLE)
PREDICATE(has_clocks, gpu->clocks >= 0 && gpu->performance < 8 && !is_idle(gpu))
PREDICATE(too_hot,
	  has_clocks(gpu) && gpu->clocks & (NVML_CLOCKS_HW_THERMAL | NVML_CLOCKS_SW_THERMAL))
PREDICATE(power_brake, has_clocks(gpu) && gpu->clocks & NVML_CLOCKS_HW_POWER_BRAKE)
PREDICATE(slowed, has_clocks(gpu) && gpu->clocks & NVML_CLOCKS_HW_SLOWDOWN)
PREDICATE(has_width, gpu->performance >= 0 && gpu->width > 0 && gpu->max_width > 0 && !is_idle(gpu))
/* Some models drop lanes, too, when they are idle: from state P8 on. */
PREDICATE(is_narrow, has_width(gpu) && gpu->width < gpu->max_width && gpu->performance < 8)
PREDICATE(has_persistence, gpu->persistence >= 0)
PREDICATE(not_persistent, gpu->persistence == 0)
/* An idle GPU lowers the speed of its link to save power, so it counts in state P0 alone. */
PREDICATE(has_generation,
	  gpu->performance == 0 && gpu->generation > 0 && gpu->max_generation > 0 && !is_idle(gpu))
PREDICATE(is_slow, has_generation(gpu) && gpu->generation < gpu->max_generation)

/* In front of a remedy: GPUs are reset first, as this machine needs it. */
#define RESET "\4"

/* How GPUs are reset. Without -i nvidia-smi resets all. */
static const char *reset(const struct facts *facts)
{
	/* Before H100 GPUs that NVLink joins are reset together. */
	if ((facts->switches || facts->joined > 0) && facts->gpu_count && facts->gpus[0].major < 9)
		return ON_HOST
			"end all programs that use GPUs, and reset all GPUs together, as NVLink "
			"needs it: nvidia-smi -r as root";
	return ON_HOST
		"end the programs that use the GPU, and reset it: nvidia-smi -i N -r as root";
}

/* The arguments of judge_gpus(). */
struct fault {
	gpu_holds *known, *holds;
	const char *text, *fix;
};

/* Judges up to the first fault that a GPU has; they end with one that is empty. */
static void judge_faults(const struct facts *facts, struct verdict *verdict,
			 const struct fault *fault)
{
	for (; fault->known && verdict->outcome != OUTCOME_WRONG; fault++)
		judge_gpus(facts, verdict, fault->known, fault->holds, fault->text,
			   *fault->fix == *RESET ? arena_printf(verdict->arena, "%s%s",
								reset(facts), fault->fix + 1)
						 : fault->fix);
}

#define FAULTS(...) ((const struct fault[]){__VA_ARGS__, {NULL, NULL, NULL, NULL}})
#define CHECK_GPUS(name, ...) \
	void name(const struct facts *facts, struct verdict *verdict) \
	{ \
		judge_faults(facts, verdict, FAULTS(__VA_ARGS__)); \
	}

void check_lost(const struct facts *facts, struct verdict *verdict)
{
	/* In a container an unknown error means that the container has lost the GPU: check_taken.
	 */
	gpu_holds *lost = facts->container.sight == SEEN ? is_gone : is_lost;

	judge_faults(facts, verdict,
		     FAULTS({is_counted, lost, "the driver has lost contact",
			     ON_HOST "look at dmesg for Xid, and reboot"},
			    {is_counted, needs_reset, "the driver asks for a reset", RESET}));
}

void check_fabric(const struct facts *facts, struct verdict *verdict)
{
	static const char fix[] =
		ON_HOST "start the service nvidia-fabricmanager in the driver's version, "
			"and look at its log";

	judge_faults(
		facts, verdict,
		FAULTS({has_fabric, fabric_starting,
			"the fabric of NVLink is not ready, so CUDA cannot start (error 802)", fix},
		       {has_fabric, fabric_failed, "the fabric of NVLink reports an error", fix}));
	if (verdict->outcome == OUTCOME_WRONG || verdict->outcome == OUTCOME_FINE ||
	    !facts->switches)
		return;
	/* Without NVML, or before H100, the manager's process shows it. */
	if (is_unseen(verdict, &facts->fabric_manager, "the fabric manager"))
		return;
	if (facts->fabric_manager.sight == SEEN)
		fine(verdict);
	else
		wrong(verdict, fix,
		      "the machine has %zu NVSwitch%s, but no fabric manager runs, so CUDA cannot "
		      "start (error 802)",
		      facts->switches, facts->switches == 1 ? "" : "es");
}

void check_ready(const struct facts *facts, struct verdict *verdict)
{
	if (facts->confidential <= 0 || facts->accepts_work < 0)
		return;
	fine(verdict);
	if (!facts->accepts_work)
		wrong(verdict,
		      ON_HOST "attest the GPUs, then run nvidia-smi conf-compute -srs 1 as root",
		      "confidential computing is on, and the GPUs do not accept work yet (CUDA "
		      "error 802)");
}

CHECK_GPUS(check_remap_failed, {has_rows, rows_failed,
				"a row of memory could not be replaced, because no spare is left",
				ON_HOST "take the GPU out of use and have it replaced"})
CHECK_GPUS(check_remap_pending,
	   {has_repairs, repair_pending,
	    "a part of the memory had errors, and is replaced at the next reset", RESET})
CHECK_GPUS(check_ecc_errors,
	   {has_errors, errors_counted, "uncorrected memory errors since the driver was loaded",
	    RESET "; if the errors return, have it replaced"})
CHECK_GPUS(check_mode_pending,
	   {has_ecc, ecc_changes,
	    "the ECC mode changes at the next reset, and with it the memory's size",
	    RESET "; or take the change back: nvidia-smi -i N -e 0 if ECC was off, 1 if it was on"},
	   {has_mig, mig_changes, "the MIG mode changes at the next reset",
	    RESET "; or take the change back: nvidia-smi -i N -mig 0 if MIG was off, 1 if it was "
		  "on"})
CHECK_GPUS(check_instances,
	   {has_instances, lacks_instances,
	    "MIG is enabled but there is no instance, so CUDA finds no device on it",
	    ON_HOST "create instances: nvidia-smi mig -cgi PROFILES -C as root, or turn MIG off: "
		    "nvidia-smi -i N -mig 0 as root"})
CHECK_GPUS(check_prohibited,
	   {has_mode, is_prohibited,
	    "the compute mode is Prohibited, so no program of CUDA may use it (error 46)",
	    "choose another GPU, or " ON_HOST "set the default mode: nvidia-smi -i N -c 0 as root"})

void check_exclusive_busy(const struct facts *facts, struct verdict *verdict)
{
	/* With MPS the server has the GPU, for programs of all users. */
	if (facts->mps.sight == SEEN && facts->mps.number)
		return;
	judge_gpus(facts, verdict, has_mode, exclusive_busy,
		   "the compute mode is exclusive and a process has it, so another program fails "
		   "(error 46)",
		   "wait for the process, choose another GPU, or " ON_HOST
		   "set the default mode: nvidia-smi -i N -c 0 as root");
	if (verdict->outcome == OUTCOME_WRONG && !gpus_that(facts, verdict, busy_by_known))
		unseen(verdict,
		       "processes of others, or outside of this container, are not visible",
		       "whether the server of MPS has the GPU");
}

CHECK_GPUS(check_clocks,
	   {has_clocks, too_hot, "it is too hot, so its clocks are lowered",
	    ON_HOST "check fans, air flow and the temperature of the room"},
	   {has_clocks, power_brake,
	    "the power supply asks it to use less, so its clocks are lowered",
	    ON_HOST "check the power supplies and the cables"},
	   {has_clocks, slowed, "the hardware has lowered its clocks by half or more",
	    ON_HOST "check fans, power supplies and cables"})
CHECK_GPUS(check_width,
	   {has_width, is_narrow, "it has fewer lanes of PCI Express than card and slot support",
	    ON_HOST "seat the card again, or move it to another slot; nvidia-smi -q shows the "
		    "lanes"})
CHECK_GPUS(check_generation,
	   {has_generation, is_slow,
	    "PCI Express runs at a lower generation than card and slot support, at full clocks",
	    ON_HOST "check riser and slot, and the setting of the BIOS"})
CHECK_GPUS(check_persistence,
	   {has_persistence, not_persistent,
	    "persistence mode is off, so the first program waits for the driver",
	    ON_HOST "start the service nvidia-persistenced, or run nvidia-smi -pm 1 as root"})
