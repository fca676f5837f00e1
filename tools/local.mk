# SPDX-License-Identifier: MIT
# All of the command but its main function, so that tests link parts of it. The command links the library's objects:
# one file to start, nothing to find.
include tools/launch/local.mk
# One rank of another launcher.
exec_sources = \
	tools/exec/check.c \
	tools/exec/exec.h \
	tools/exec/identify.c \
	tools/exec/master_endpoint.c \
	tools/exec/plan.c \
	tools/exec/plan_file.c \
	tools/exec/prepare.c \
	tools/exec/show.c
# What a rehearsal has recorded, and Slurm in it.
rehearse_sources = \
	tools/rehearse/judge.c \
	tools/rehearse/read.c \
	tools/rehearse/rehearse.h \
	tools/rehearse/show.c \
	tools/rehearse/slurm.h \
	tools/rehearse/slurm_begin.c \
	tools/rehearse/slurm_commands.h \
	tools/rehearse/slurm_input.c tools/rehearse/slurm_input.h \
	tools/rehearse/slurm_job.c \
	tools/rehearse/slurm_links.c \
	tools/rehearse/slurm_sbatch.c \
	tools/rehearse/slurm_scontrol.c \
	tools/rehearse/slurm_srun.c \
	tools/rehearse/slurm_step.c tools/rehearse/slurm_step.h \
	tools/rehearse/slurm_step_gpus.c \
	tools/rehearse/svg.c
noinst_LTLIBRARIES += libcommand.la
libcommand_la_SOURCES = $(launch_sources) $(exec_sources) $(rehearse_sources) \
	tools/cmd_completion.c \
	tools/cmd_config.c \
	tools/cmd_doctor.c \
	tools/cmd_emit.c \
	tools/cmd_exec.c \
	tools/cmd_explain.c \
	tools/cmd_inventory.c \
	tools/cmd_leases.c \
	tools/cmd_lint.c \
	tools/cmd_pick.c \
	tools/cmd_plan.c \
	tools/cmd_pretend.c \
	tools/cmd_ps.c \
	tools/cmd_rehearse.c \
	tools/cmd_rules.c \
	tools/cmd_run.c \
	tools/cmd_verify.c \
	tools/color.c tools/color.h \
	tools/command.h \
	tools/commands.def \
	tools/complete.c tools/complete.h tools/complete_values.c \
	tools/cpus.c tools/cpus.h \
	tools/directions.c tools/directions.h \
	tools/gpu_load.c tools/gpu_load.h \
	tools/explain_value.c tools/explain_value.h \
	tools/foreign_option.c tools/foreign_option.h \
	tools/lease_end.c tools/lease_end.h tools/lease_here.c tools/lease_here.h \
	tools/leases.h tools/leases_json.c tools/leases_read.c tools/leases_revoke.c tools/leases_text.c \
	tools/lint_print.c tools/lint_print.h \
	tools/lint_column.c \
	tools/lint_sarif.c \
	tools/machine.c tools/machine.h \
	tools/meaning.c tools/meaning.h \
	tools/options.c tools/options.h \
	tools/output.c tools/output.h \
	tools/pick_container.c tools/pick_container.h \
	tools/pick_hold.c tools/pick_hold.h \
	tools/pick_keep.c tools/pick_keep.h tools/pick_shell.c tools/pick_shell.h \
	tools/plan_busy.c tools/plan_finder.h tools/plan_nodes.c \
	tools/plan_hosts.c tools/plan_hosts.h \
	tools/plan_judge.c tools/plan_lease.c tools/plan_lease.h tools/plan_lint.c tools/plan_open.c tools/plan_open.h tools/plan_program.c \
	tools/plan_ranks.c \
	tools/plan_show.c tools/plan_show.h \
	tools/rank_place.c tools/rank_place.h \
	tools/rank_logs.c tools/rank_logs.h \
	tools/rank_rows.c tools/rank_rows.h tools/rdzv_options.c tools/rdzv_options.h \
	tools/process.c tools/process.h tools/process_run.c tools/process_run.h \
	tools/ps.h tools/ps_follow.c tools/ps_json.c tools/ps_lease.c tools/ps_read.c tools/ps_stale.c tools/ps_text.c tools/ps_watch.c \
	tools/pretended.c tools/pretended.h \
	tools/profile_options.c tools/profile_options.h \
	tools/question.c tools/question.h \
	tools/run_end.c tools/run_end.h \
	tools/run_find.c \
	tools/run_leased.c tools/run_leased.h \
	tools/run_live.c tools/run_live.h \
	tools/run_plan.c tools/run_plan.h \
	tools/run_shown.c \
	tools/run_ranks.c tools/run_ranks.h \
	tools/run_record.c tools/run_record.h \
	tools/run_sweep.c tools/run_sweep.h \
	tools/run_verify.c tools/run_verify.h \
	tools/sweep.h \
	tools/sweep_report.c \
	tools/sweep_share.c tools/sweep_share.h \
	tools/torchrun_options.c \
	tools/verify.h tools/verify_json.c tools/verify_past.c tools/verify_compare.c tools/verify_read.c tools/verify_text.c
libcommand_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools \
	-DPRETENDDIR='"$(pretenddir)"' -DREHEARSEDIR='"$(rehearsedir)"'
bin_PROGRAMS += gpumap
gpumap_SOURCES = tools/main.c
gpumap_CPPFLAGS = $(libcommand_la_CPPFLAGS)
gpumap_LDFLAGS = $(AM_LDFLAGS) $(PIE_LDFLAGS)
gpumap_LDADD = libcommand.la libdoctor.la liblint.la libgpumap-core.la

# Asks libcuda in a process of its own (rule N6).
pkglibexec_PROGRAMS += tools/gpumap-ask-driver
tools_gpumap_ask_driver_SOURCES = tools/ask-driver.c tools/cuda-driver.h
tools_gpumap_ask_driver_LDFLAGS = $(AM_LDFLAGS) $(PIE_LDFLAGS)
EXTRA_DIST += tools/README.md tools/launch/README.md
