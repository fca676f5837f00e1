# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# bash completion for gpumap(1). Commands, options and the words that an option takes are
# read from gpumap's own help, so that they are those of the gpumap that is installed.

# _gpumap_options COMMAND: lines "--mode single|dp|ddp|mp"; --color[=auto|always], whose value may be left out, is "--color=auto|always"
_gpumap_options() {
	"$gpumap" "$1" --help 2>/dev/null |
		sed -n 's/^  \(--[a-z-]*\)\[\(=[^]]*\)\].*/\1\2/p; t
			s/^  \(--[a-z-]*\)\( [^ ][^ ]*\)\{0,1\}.*/\1\2/p'
}

_gpumap_commands() {
	"$gpumap" --help 2>/dev/null | sed -n '/^commands/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p'
	echo help
}

# The processes of this user.
_gpumap_pids() {
	local folder

	for folder in /proc/[0-9]*; do
		[[ ! -O $folder ]] || echo "${folder#/proc/}"
	done
}

# _gpumap_values COMMAND OPTION: fills COMPREPLY with what may follow the option
_gpumap_values() {
	local spec words=()

	spec=$(_gpumap_options "$1" | sed -n "s/^$2[ =]//p")
	case $2 in
	--launcher) [[ $1 == config || $1 == lint ]] || spec='torchrun|accelerate|deepspeed|ray|dask|flux|slurm' ;;
	--profile) mapfile -t words < <("$gpumap" config list 2>/dev/null | sed -n 's/^[* ] profile  *\([^ ]*\).*/\1/p') ;;
	--pid) mapfile -t words < <(_gpumap_pids) ;;
	esac
	case $spec in
	'[VAR=]'*) spec='CUDA_VISIBLE_DEVICES=|CUDA_DEVICE_ORDER=PCI_BUS_ID' ;;
	esac
	# FILE, N and LIST stand for something; host and dp stand for themselves.
	mapfile -t -O "${#words[@]}" words < <(tr '|' '\n' <<<"$spec" | grep -vxE '([a-z]+:)?-*[A-Z]+(,\.\.\.)?')
	mapfile -t COMPREPLY < <(compgen -W "${words[*]}" -- "$cur")
	case $spec in
	FILE* | *MACHINE | DIR)
		compopt -o filenames 2>/dev/null
		mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$cur")
		;;
	CUDA*) compopt -o nospace 2>/dev/null ;;
	esac
}

# After "pretend ... --", "exec ... --": the program and its arguments.
_gpumap_program() {
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif [[ $COMP_CWORD -eq $1 ]]; then
		mapfile -t COMPREPLY < <(compgen -c -- "$cur")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	fi
}

_gpumap() {
	local gpumap=$1 cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local command option='' words i first=1

	COMPREPLY=()
	# --json and --color may stand before the command; "--color=always" comes as three words.
	while [[ $first -lt $COMP_CWORD && ${COMP_WORDS[first]} == @(--json|--color|=) ]]; do
		[[ ${COMP_WORDS[first]} != = ]] || first=$((first + 1))
		first=$((first + 1))
	done
	command=${COMP_WORDS[first]:-}
	if [[ $COMP_CWORD -eq $first && $cur != -* && $cur != = ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_gpumap_commands)" -- "$cur")
		return
	fi
	[[ $command == [a-z]* ]] || command=explain
	for ((i = first + 1; i < COMP_CWORD; i++)); do
		[[ $command != @(doctor|pretend|pick|plan|run|exec|emit) || ${COMP_WORDS[i]} != -- ]] || {
			_gpumap_program $((i + 1))
			return
		}
	done
	# "--mode=dp" comes as three words; what may be left out needs the "=".
	if [[ $cur == = ]]; then
		option=$previous cur=
	elif [[ $previous == = ]]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	elif [[ $previous == --[a-z]* ]] && _gpumap_options "$command" | grep -q -e "^$previous "; then
		option=$previous
	fi
	if [[ $option ]]; then
		_gpumap_values "$command" "$option"
	elif [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_gpumap_options "$command" | sed 's/[ =].*//')" -- "$cur")
	else
		case $command in
		rules) mapfile -t COMPREPLY < <(compgen -W "$({ "$gpumap" rules && "$gpumap" rules GM; } 2>/dev/null | sed -n 's/^\([A-Z]*[0-9][0-9a-z]*\) .*/\1/p')" -- "${cur^^}") ;;
		help) mapfile -t COMPREPLY < <(compgen -W "$(_gpumap_commands)" -- "$cur") ;;
		config)
			words='list help'
			[[ " ${COMP_WORDS[*]:first + 1} " != *' help '* ]] || words=
			mapfile -t COMPREPLY < <(compgen -W "$words $("$gpumap" config help 2>/dev/null | sed -n 's/^pro[a-z]* *\([a-z_]*\) .*/\1/p')" -- "$cur")
			;;
		emit) [[ $COMP_CWORD -gt $((first + 1)) ]] || mapfile -t COMPREPLY < <(compgen -W "$("$gpumap" emit --help 2>/dev/null | sed -n '/^launchers/,/^$/s/^  \([a-z]*\) .*/\1/p')" -- "$cur") ;;
		inventory | lint | plan | run)
			compopt -o filenames 2>/dev/null
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			;;
		esac
	fi
}

complete -F _gpumap gpumap
