# SPDX-License-Identifier: MIT
# A private library over the library's objects: no public function needs it.
noinst_LTLIBRARIES += liblint.la
liblint_la_SOURCES = \
	lint/environment.c lint/environment.h \
	lint/file.c \
	lint/files.h \
	lint/folder.c \
	lint/ignore.c lint/ignore.h \
	lint/file_kind.c \
	lint/launchers.c lint/launchers.h \
	lint/lint.h \
	lint/notebook.c lint/notebook.h \
	lint/notebook_json.c \
	lint/notebook_magic.c \
	lint/observations.def \
	lint/profile.c \
	lint/program.c \
	lint/python.c lint/python.h \
	lint/python_arguments.c \
	lint/python_ask.c \
	lint/python_average.c \
	lint/python_blocks.c \
	lint/python_calls.c \
	lint/python_checkpoint.c \
	lint/python_choice.c \
	lint/python_command.c \
	lint/python_count.c \
	lint/python_doubt.c \
	lint/python_environ.c \
	lint/python_file.h \
	lint/python_fix.c \
	lint/python_frameworks.c \
	lint/python_functions.c \
	lint/python_ids.c \
	lint/python_guard.c \
	lint/python_judge_device.c \
	lint/python_judge_ranks.c \
	lint/python_judge_variable.c \
	lint/python_launched.c \
	lint/python_loading.c \
	lint/python_module.c \
	lint/python_names.c lint/python_names.h \
	lint/python_objects.c \
	lint/python_observation.c \
	lint/python_ordinal.c \
	lint/python_scan.c \
	lint/python_string.c \
	lint/python_text.c lint/python_text.h \
	lint/python_training.c lint/python_training.h \
	lint/python_value.c \
	lint/script.c \
	lint/read_files.c lint/read_files.h \
	lint/useless_settings.c \
	lint/shell.c lint/shell.h \
	lint/shell_arithmetic.c \
	lint/shell_command.c \
	lint/shell_container.c \
	lint/shell_job.c \
	lint/shell_background.c \
	lint/shell_grant.c \
	lint/shell_launch.c \
	lint/shell_launcher.c \
	lint/shell_lex.c lint/shell_lex.h \
	lint/shell_list.c \
	lint/shell_mistake.c \
	lint/shell_nodes.c \
	lint/shell_program.c \
	lint/shell_script.h \
	lint/shell_set.c \
	lint/shell_sharing.c \
	lint/shell_slurm.c \
	lint/slurm.c lint/slurm.h \
	lint/shell_origin.c \
	lint/shell_step.c \
	lint/shell_start.c \
	lint/shell_command_string.c \
	lint/shell_vars.c \
	lint/shell_walk.c \
	lint/shell_word.c
EXTRA_DIST += lint/README.md
