# SPDX-License-Identifier: MIT
# All objects are compiled once, into a convenience library that the command line
# and the unit tests link; libgpumap.so is the same objects behind a version script.
AM_CPPFLAGS += -DPKGLIBEXECDIR='"$(pkglibexecdir)"'
noinst_LTLIBRARIES += libgpumap-core.la
libgpumap_core_la_SOURCES = \
	libgpumap/gpumap.h libgpumap/owned.h \
	libgpumap/version.c \
	libgpumap/emit/accelerate.c \
	libgpumap/emit/deepspeed.c \
	libgpumap/emit/emit.c libgpumap/emit/emit.h \
	libgpumap/emit/inner.c \
	libgpumap/emit/job_gpus.c \
	libgpumap/emit/mpirun.c \
	libgpumap/emit/nodes.c \
	libgpumap/emit/remarks.c \
	libgpumap/emit/sbatch.c \
	libgpumap/emit/shell.c libgpumap/emit/shell.h \
	libgpumap/emit/shell_text.c \
	libgpumap/emit/slurm.h \
	libgpumap/emit/srun.c \
	libgpumap/emit/targets.def \
	libgpumap/emit/torchrun.c \
	libgpumap/emit/variables.c \
	libgpumap/emit/write.c \
	libgpumap/explain/explain.h \
	libgpumap/explain/format.c \
	libgpumap/explain/inventory_json.c \
	libgpumap/explain/json.c libgpumap/explain/json.h \
	libgpumap/explain/mapping_json.c \
	libgpumap/explain/mapping_svg.c \
	libgpumap/explain/mapping_text.c \
	libgpumap/explain/plan.h \
	libgpumap/explain/plan_cards.c libgpumap/explain/plan_cards.h \
	libgpumap/explain/plan_diff.c \
	libgpumap/explain/plan_json.c \
	libgpumap/explain/plan_svg.c \
	libgpumap/explain/plan_text.c \
	libgpumap/explain/profile_json.c \
	libgpumap/explain/svg.h \
	libgpumap/explain/svg_cards.c \
	libgpumap/explain/svg_columns.c \
	libgpumap/explain/svg_devices.c \
	libgpumap/explain/svg_draw.c \
	libgpumap/explain/svg_page.c \
	libgpumap/explain/usage_json.c \
	libgpumap/inventory/closeness.c \
	libgpumap/inventory/complaint.c \
	libgpumap/inventory/cuda_position.c \
	libgpumap/inventory/driver.c libgpumap/inventory/driver.h \
	libgpumap/inventory/finish.c \
	libgpumap/inventory/host.h \
	libgpumap/inventory/inventory.c libgpumap/inventory/inventory.h \
	libgpumap/inventory/lines.c libgpumap/inventory/lines.h \
	libgpumap/inventory/merge.c \
	libgpumap/inventory/model_memory.c \
	libgpumap/inventory/nccl_xml.c \
	libgpumap/inventory/no_gpu.c \
	libgpumap/inventory/nvlink.c \
	libgpumap/inventory/nvml.c libgpumap/inventory/nvml.h \
	libgpumap/inventory/nvml_link.c \
	libgpumap/inventory/nvml_mig.c \
	libgpumap/inventory/nvml_usage.c \
	libgpumap/inventory/partial.c \
	libgpumap/inventory/probe.c \
	libgpumap/inventory/proc.c \
	libgpumap/inventory/proc_info.c \
	libgpumap/inventory/process_describe.c \
	libgpumap/inventory/query_csv.c \
	libgpumap/inventory/read.c \
	libgpumap/inventory/recorded.c libgpumap/inventory/recorded.h \
	libgpumap/inventory/recorded_text.c \
	libgpumap/inventory/run_helper.c \
	libgpumap/inventory/smi_list.c \
	libgpumap/inventory/smi_table.c \
	libgpumap/inventory/snapshot.c libgpumap/inventory/snapshot.h \
	libgpumap/inventory/snapshot_member.c \
	libgpumap/inventory/snapshot_write.c \
	libgpumap/inventory/synthetic.c \
	libgpumap/inventory/topo.c \
	libgpumap/inventory/usage.c \
	libgpumap/lease/adopt.c \
	libgpumap/lease/attempt.c libgpumap/lease/attempt.h \
	libgpumap/lease/backfill.c \
	libgpumap/lease/choose.c \
	libgpumap/lease/claim.c libgpumap/lease/claim.h \
	libgpumap/lease/folder.c \
	libgpumap/lease/gpu_lock.c \
	libgpumap/lease/holders.c libgpumap/lease/holders.h \
	libgpumap/lease/in_use.c \
	libgpumap/lease/lease.c libgpumap/lease/lease.h \
	libgpumap/lease/lease_files.c \
	libgpumap/lease/look.c \
	libgpumap/lease/mig.c \
	libgpumap/lease/name.c \
	libgpumap/lease/near.c \
	libgpumap/lease/nested.c \
	libgpumap/lease/note.c libgpumap/lease/note.h \
	libgpumap/lease/own_ticket.c \
	libgpumap/lease/passes.c \
	libgpumap/lease/per_user.c libgpumap/lease/per_user.h \
	libgpumap/lease/prefer.c \
	libgpumap/lease/queue.c \
	libgpumap/lease/revoke.c libgpumap/lease/revoke.h \
	libgpumap/lease/site_settings.c libgpumap/lease/site_settings.h \
	libgpumap/lease/slots.c \
	libgpumap/lease/take.c \
	libgpumap/lease/units.c libgpumap/lease/units.h \
	libgpumap/lease/visible_list.c \
	libgpumap/lease/why_waiting.c \
	libgpumap/lease/wishes.c libgpumap/lease/wishes.h \
	libgpumap/plan/alike.c \
	libgpumap/plan/arguments.c \
	libgpumap/plan/on_conflict.c \
	libgpumap/plan/order.c \
	libgpumap/plan/attributes.c \
	libgpumap/plan/bind_cores.c \
	libgpumap/plan/build.h \
	libgpumap/plan/clash.c \
	libgpumap/plan/clash_fix.c \
	libgpumap/plan/cores.h \
	libgpumap/plan/gpu_lookup.c \
	libgpumap/plan/diff.c libgpumap/plan/diff.h \
	libgpumap/plan/divide_cores.c \
	libgpumap/plan/environ.c \
	libgpumap/plan/failing_device.c \
	libgpumap/plan/findings.c \
	libgpumap/plan/hosts.c libgpumap/plan/hosts.h \
	libgpumap/plan/inside_rank.c \
	libgpumap/plan/inherited_list.c \
	libgpumap/plan/job.c libgpumap/plan/job.h \
	libgpumap/plan/layout.c \
	libgpumap/plan/make.c \
	libgpumap/plan/master_addr.c \
	libgpumap/plan/choose_port.c \
	libgpumap/plan/selection_apply.c \
	libgpumap/plan/device_names.c \
	libgpumap/plan/node_settings.c \
	libgpumap/plan/plan.c libgpumap/plan/plan.h \
	libgpumap/plan/job_rank.c \
	libgpumap/plan/read.c \
	libgpumap/plan/scheduler.c \
	libgpumap/plan/selection_parse.c \
	libgpumap/plan/plan_settings.c libgpumap/plan/plan_settings.h \
	libgpumap/plan/rank_count.c \
	libgpumap/plan/rank_statements.c \
	libgpumap/plan/share.c \
	libgpumap/plan/table.c libgpumap/plan/table.h \
	libgpumap/plan/device_use.c \
	libgpumap/plan/values.c \
	libgpumap/profile/check.c \
	libgpumap/profile/effective.c \
	libgpumap/profile/command_words.c \
	libgpumap/profile/python_command.c \
	libgpumap/profile/value_length.c \
	libgpumap/profile/variables.c \
	libgpumap/profile/read_entry.c \
	libgpumap/profile/env_section.c \
	libgpumap/profile/file.c \
	libgpumap/profile/include.c \
	libgpumap/profile/inherit.c \
	libgpumap/profile/link.c \
	libgpumap/profile/option_or_variable.c \
	libgpumap/profile/override_section.c \
	libgpumap/profile/override_when.c \
	libgpumap/profile/profile.h \
	libgpumap/profile/program_section.c \
	libgpumap/profile/read_sections.c libgpumap/profile/read_sections.h \
	libgpumap/profile/find_section.c \
	libgpumap/profile/settle.c \
	libgpumap/profile/sweep.c \
	libgpumap/profile/which_file.c \
	libgpumap/profile/which_profile.c \
	libgpumap/profile/write.c \
	libgpumap/report/findings.def \
	libgpumap/report/report.c libgpumap/report/report.h \
	libgpumap/report/rules.c \
	libgpumap/report/rules.def \
	libgpumap/report/speech.c libgpumap/report/speech.h \
	libgpumap/request/check_value.c \
	libgpumap/request/device_words.c \
	libgpumap/request/environment.c \
	libgpumap/request/foreign_value.c libgpumap/request/foreign_value.h \
	libgpumap/request/keys.def \
	libgpumap/request/profile_forms.c \
	libgpumap/request/profile_keys.c libgpumap/request/profile_keys.h \
	libgpumap/request/profile_keys.def \
	libgpumap/request/profile_value.c \
	libgpumap/request/profile_when.c \
	libgpumap/request/misspelt.c \
	libgpumap/request/rank_identity.c libgpumap/request/rank_identity.h \
	libgpumap/request/ranks.def \
	libgpumap/request/request.c libgpumap/request/request.h \
	libgpumap/request/slurm_grant.c libgpumap/request/slurm_grant.h \
	libgpumap/request/stated_variables.c \
	libgpumap/request/statement.c \
	libgpumap/resolve/assumed_host.c \
	libgpumap/resolve/amd_lists.c \
	libgpumap/resolve/cuda_order.c \
	libgpumap/resolve/data_parallel.c \
	libgpumap/resolve/device_choice.c \
	libgpumap/resolve/exclusive_statements.c \
	libgpumap/resolve/grants.c \
	libgpumap/resolve/modes.c \
	libgpumap/resolve/host.c \
	libgpumap/resolve/ignored_statements.c \
	libgpumap/resolve/inventory_key.c \
	libgpumap/resolve/launchers.c \
	libgpumap/resolve/list_steps.c \
	libgpumap/resolve/mapping.c libgpumap/resolve/mapping.h \
	libgpumap/resolve/mps.c \
	libgpumap/resolve/ranks.c \
	libgpumap/resolve/replicas.c \
	libgpumap/resolve/resolve.c libgpumap/resolve/resolve.h \
	libgpumap/resolve/sources.c \
	libgpumap/resolve/step.c \
	libgpumap/resolve/view.c \
	libgpumap/resolve/view_list.c \
	libgpumap/resolve/view_mig.c \
	libgpumap/resolve/views.c \
	libgpumap/text/expand.c libgpumap/text/expand.h \
	libgpumap/text/hostfile.c \
	libgpumap/text/hostlist.c libgpumap/text/hostlist.h \
	libgpumap/text/hostlist_add.h \
	libgpumap/text/inifile.c libgpumap/text/inifile.h \
	libgpumap/text/inivalue.c \
	libgpumap/text/pci.c libgpumap/text/pci.h \
	libgpumap/text/words.c libgpumap/text/words.h \
	libgpumap/text/writefile.c libgpumap/text/writefile.h \
	libgpumap/visible/amd.c \
	libgpumap/visible/dialects.h \
	libgpumap/visible/entry.c libgpumap/visible/entry.h \
	libgpumap/visible/mig.c \
	libgpumap/visible/number.c \
	libgpumap/visible/nvitop.c \
	libgpumap/visible/python_number.c libgpumap/visible/python_number.h \
	libgpumap/visible/repeats.c libgpumap/visible/repeats.h \
	libgpumap/visible/torch.c \
	libgpumap/visible/uuid.c libgpumap/visible/uuid.h \
	libgpumap/visible/visible.c libgpumap/visible/visible.h
libgpumap_core_la_LIBADD = libbase.la $(INIH_LIBS) $(EXPAT_LIBS) $(JANSSON_LIBS)

# libtool's three numbers, CURRENT:REVISION:AGE. At a release: code changed, add 1
# to REVISION; interface changed at all, add 1 to CURRENT and set REVISION to 0;
# interface only grew, add 1 to AGE; anything removed or changed, set AGE to 0.
lib_LTLIBRARIES += libgpumap/libgpumap.la
libgpumap_libgpumap_la_SOURCES =
libgpumap_libgpumap_la_LIBADD = libgpumap-core.la
libgpumap_libgpumap_la_LDFLAGS = $(AM_LDFLAGS) -version-info 1:0:0 -no-undefined \
	-Wl,--version-script=$(top_srcdir)/libgpumap/libgpumap.map
EXTRA_libgpumap_libgpumap_la_DEPENDENCIES = libgpumap/libgpumap.map
EXTRA_DIST += libgpumap/libgpumap.map libgpumap/README.md libgpumap/emit/README.md libgpumap/inventory/README.md \
	libgpumap/lease/README.md libgpumap/plan/README.md libgpumap/profile/README.md

include_HEADERS = libgpumap/gpumap.h
pkgconfig_DATA = libgpumap/libgpumap.pc
# systemd makes the folder of leases with it.
dist_tmpfiles_DATA = libgpumap/lease/gpumap.conf
