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
	tools/exec/plan_or_keep_list.c \
	tools/exec/plan_file.c \
	tools/exec/cores.c \
	tools/exec/prepare.c \
	tools/exec/show.c \
	tools/exec/launcher_variables.c
# What a rehearsal has recorded, and Slurm in it.
rehearse_sources = \
	tools/rehearse/judge.c \
	tools/rehearse/pretended.c tools/rehearse/pretended.h \
	tools/rehearse/read.c \
	tools/rehearse/rehearse.h \
	tools/rehearse/show.c \
	tools/rehearse/slurm.h \
	tools/rehearse/slurm_commands.h \
	tools/rehearse/slurm_input.c tools/rehearse/slurm_input.h \
	tools/rehearse/slurm_job.c \
	tools/rehearse/slurm_links.c \
	tools/rehearse/slurm_sbatch.c \
	tools/rehearse/slurm_scontrol.c \
	tools/rehearse/slurm_srun.c \
	tools/rehearse/slurm_step.c tools/rehearse/slurm_step.h \
	tools/rehearse/slurm_step_gpus.c \
	tools/rehearse/slurm_wish.c \
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
	tools/command.h \
	tools/commands.def \
	tools/command_aliases.c tools/command_aliases.h \
	tools/complete.c tools/complete.h \
	tools/complete_values.c \
	tools/word_hints.c tools/word_hints.h \
	tools/cli/color.c tools/cli/color.h \
	tools/cli/explain_value.c tools/cli/explain_value.h \
	tools/cli/foreign_option.c tools/cli/foreign_option.h \
	tools/cli/hint_line.c tools/cli/hint_line.h \
	tools/cli/lint_column.c \
	tools/cli/lint_print.c tools/cli/lint_print.h \
	tools/cli/lint_sarif.c \
	tools/cli/machine.c tools/cli/machine.h \
	tools/cli/options.c tools/cli/options.h \
	tools/cli/out_of_memory.c tools/cli/out_of_memory.h \
	tools/cli/output.c tools/cli/output.h \
	tools/cli/print_report.c \
	tools/cli/text_table.c tools/cli/text_table.h \
	tools/cli/which_machine.c tools/cli/which_machine.h \
	tools/job/cpus.c tools/job/cpus.h \
	tools/job/hosts_value.c \
	tools/job/plan_busy.c \
	tools/job/host_finder.c tools/job/host_finder.h \
	tools/job/plan_hosts.c tools/job/plan_hosts.h \
	tools/job/plan_judge.c \
	tools/job/plan_nested_launcher.c \
	tools/job/plan_lease.c tools/job/plan_lease.h \
	tools/job/plan_lint.c \
	tools/job/host_names.c \
	tools/job/plan_open.c tools/job/plan_open.h \
	tools/job/plan_program.c \
	tools/job/plan_unasked_ranks.c \
	tools/job/plan_show.c tools/job/plan_show.h \
	tools/job/profile_options.c tools/job/profile_options.h \
	tools/job/program_arguments.c \
	tools/job/rank_logs.c tools/job/rank_logs.h \
	tools/job/rank_place.c tools/job/rank_place.h \
	tools/job/rank_rows.c tools/job/rank_rows.h \
	tools/job/rdzv_options.c tools/job/rdzv_options.h \
	tools/job/read_plan_inside_rank.c \
	tools/job/run_lease_end.c tools/job/run_lease_end.h \
	tools/job/run_warn_leased.c tools/job/run_warn_leased.h \
	tools/job/run_failure.c \
	tools/job/run_plan.c tools/job/run_plan.h \
	tools/job/run_ranks.c tools/job/run_ranks.h \
	tools/job/node_rank.c \
	tools/job/read_record.c \
	tools/job/run_record.c tools/job/run_record.h \
	tools/job/run_sweep.c tools/job/run_sweep.h \
	tools/job/run_verify.c tools/job/run_verify.h \
	tools/job/sweep.h \
	tools/job/sweep_report.c \
	tools/job/sweep_share.c tools/job/sweep_share.h \
	tools/job/torchrun_options.c \
	tools/live/lease_people.c tools/live/lease_people.h \
	tools/live/leases.h \
	tools/live/leases_json.c \
	tools/live/leases_read.c \
	tools/live/leases_revoke.c \
	tools/live/leases_text.c \
	tools/live/process.c tools/live/process.h \
	tools/live/explain_pid.c \
	tools/live/ps.h \
	tools/live/ps_follow.c \
	tools/live/ps_json.c \
	tools/live/ps_lease.c \
	tools/live/ps_read.c \
	tools/live/ps_stale.c \
	tools/live/ps_text.c \
	tools/live/run_find.c \
	tools/live/published_run.c tools/live/published_run.h \
	tools/live/run_planned.c tools/live/run_planned.h \
	tools/live/run_guard_line.c \
	tools/live/verify.h \
	tools/live/verify_compare.c \
	tools/live/verify_json.c \
	tools/live/verify_past.c \
	tools/live/verify_read.c \
	tools/live/verify_text.c \
	tools/pick/container_client.c tools/pick/container_client.h \
	tools/pick/find_shell.c tools/pick/find_shell.h \
	tools/pick/gpu_load.c tools/pick/gpu_load.h \
	tools/pick/run_program.c tools/pick/run_program.h \
	tools/pick/keep_for_process.c tools/pick/keep_for_process.h \
	tools/pick/lease_end.c tools/pick/lease_end.h \
	tools/pick/lease_here.c tools/pick/lease_here.h \
	tools/pick/lease_limits.c
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
