# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# bash completion for gpumap-train(1), read from its own help.

# Lines "--mode single|dp|ddp|mp"; a flag is "--augment".
_gpumap_train_options() {
	"${1/#~\//"$HOME"/}" --help 2>/dev/null |
		sed -n 's/^  \(--[a-z0-9-]*\)\(\[=[^]]*\]\)\{0,1\}\( [^ ][^ ]*\)\{0,1\}.*/\1\3/p'
}

# What an option takes, by its line: nothing else of the line is read.
_gpumap_train_value() {
	local option value

	while read -r option value; do
		[[ $option != "$2" ]] || printf '%s\n' "$value"
	done < <(_gpumap_train_options "$1")
}

_gpumap_train() {
	local cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} spec='' words=()

	COMPREPLY=()
	# "--mode=dp" comes as three words.
	if [[ $cur == = ]]; then
		cur=
	elif [[ $previous == = ]]; then
		previous=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	[[ $previous != --* ]] || spec=$(_gpumap_train_value "$1" "$previous")
	if [[ $spec == *FILE* || $spec == *MACHINE || $spec == *DIR* ]]; then
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	fi
	if [[ $spec ]]; then
		# FILE, N and LIST stand for something; host and dp stand for themselves.
		mapfile -t words < <(tr '|' '\n' <<<"$spec" | grep -E '^[a-z][a-z0-9-]*$')
		mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "${words[*]}" -- "$cur")
	elif [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_gpumap_train_options "$1" | sed 's/ .*//')" -- "$cur")
	fi
}

complete -F _gpumap_train gpumap-train
