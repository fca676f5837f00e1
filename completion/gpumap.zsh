#compdef gpumap
# SPDX-License-Identifier: MIT
# zsh completion for gpumap(1), which answers what may stand at the cursor.

_gpumap() {
	local line begin=${words[CURRENT]} found=1
	local -a more spaced

	for line in "${(@f)$("${(Q)words[1]/#\~\//$HOME/}" completion --words zsh "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
		case $line in
		:open) spaced=(-S '') ;;
		:program*)
			shift ${line#* } words
			((CURRENT -= ${line#* }))
			_normal && found=0
			((CURRENT += ${line#* }))
			;;
		:files*) compset -p ${line#* } && _files && found=0 ;;
		:folders*) compset -p ${line#* } && _files -/ && found=0 ;;
		?*) more+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
		esac
	done
	((! $#more)) || { _describe gpumap more $spaced && found=0; }
	return found
}

# Loaded by "source", it has to name itself; as a file of $fpath it is the function.
if [[ $funcstack[1] == _gpumap ]]; then
	_gpumap "$@"
else
	compdef _gpumap gpumap
fi
