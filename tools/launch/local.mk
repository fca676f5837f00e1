# SPDX-License-Identifier: MIT
# Starting and supervising ranks.
launch_sources = \
	tools/launch/bind.c tools/launch/bind.h \
	tools/launch/cgroup_path.c \
	tools/launch/console.c tools/launch/console.h \
	tools/launch/console_collapse.c \
	tools/launch/console_lines.c \
	tools/launch/console_log.c \
	tools/launch/console_sink.c \
	tools/launch/console_modes.c \
	tools/launch/console_tag.c \
	tools/launch/exit_status.c tools/launch/exit_status.h \
	tools/launch/failure.c \
	tools/launch/guard.c tools/launch/guard.h \
	tools/launch/guard_events.c \
	tools/launch/held_port.c tools/launch/held_port.h \
	tools/launch/leave_caller.c tools/launch/leave_caller.h \
	tools/launch/launch.c tools/launch/launch.h \
	tools/launch/process_state.c tools/launch/process_state.h \
	tools/launch/process_tree.c tools/launch/process_tree.h \
	tools/launch/program.c \
	tools/launch/program_fault.c \
	tools/launch/start_rank.c \
	tools/launch/guard_command_line.c tools/launch/guard_command_line.h \
	tools/launch/rank_cgroup.c tools/launch/rank_cgroup.h \
	tools/launch/refusal.c \
	tools/launch/supervise.c tools/launch/supervise.h
