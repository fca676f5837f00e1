# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# bash completion for gpumap(1), which answers what may stand at the cursor.

# After "run", "exec ... --": the program and its arguments.
_gpumap_program() {
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif [[ $COMP_CWORD -eq $1 ]]; then
		mapfile -t COMPREPLY < <(compgen -c -- "$2")
	else
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$2")
	fi
}

_gpumap() {
	local cur=${COMP_WORDS[COMP_CWORD]} line

	COMPREPLY=()
	while IFS= read -r line; do
		case $line in
		:open) compopt -o nospace 2>/dev/null ;;
		:program*) _gpumap_program "${line#* }" "$cur" ;;
		:f*)
			compopt -o filenames 2>/dev/null
			[[ $cur != [=:] ]] || cur=
			[[ $line == :files* ]] && line=-f || line=-d
			mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen "$line" -- "$cur")
			;;
		*) COMPREPLY+=("${line%%$'\t'*}") ;;
		esac
	done < <("${1/#~\//"$HOME"/}" completion --words bash "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}

complete -F _gpumap gpumap
