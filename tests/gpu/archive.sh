# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # variables of run-all and lib.sh
# One file that brings back what the stages have found, and what a next machine can go on from.
archive_limit=16000000 # bytes; what PyTorch compiled is left out if the file had more

# Makes archive an absolute path, in a folder that is there.
archive_place() {
	archive_folder=$(cd "$(dirname "$archive")" 2>/dev/null && pwd) ||
		stage_usage "--archive $archive: there is no folder $(dirname "$archive")"
	archive=$archive_folder/$(basename "$archive")
}

# Writes the archive, after each step: nobody knows how long the machine is there.
bring_back() {
	[ "$archive" ] || return 0
	[ "$stage" != peer ] || keep_compiled
	(
		cd "$build" && mkdir -p records results || exit
		set -- records results facts.txt
		[ ! -e driver-visible.tsv ] || set -- "$@" driver-visible.tsv
		[ ! -e compiled.tar.gz ] || set -- "$@" compiled.tar.gz
		tar -czf "$archive.new" "$@"
	) && mv "$archive.new" "$archive"
}

# keep_compiled: packs what PyTorch compiled
keep_compiled() {
	[ -d "$build/inductor" ] || return 0
	tar -C "$build" -czf "$build/compiled.tar.gz" inductor
	[ "$(wc -c <"$build/compiled.tar.gz")" -gt "$archive_limit" ] || return 0
	echo "# what PyTorch compiled is not in the archive: it has more than $archive_limit bytes"
	rm "$build/compiled.tar.gz"
}

# unpack_archive FILE: records go to where the stages find them, and in a source tree into bench/results
unpack_archive() {
	unpacked=$build/unpacked
	rm -rf "$unpacked" && mkdir -p "$unpacked" || exit 99
	if ! tar -C "$unpacked" -xzf "$1" 2>"$build/unpack.log" || [ ! -d "$unpacked/records" ]; then
		echo "run-all: $1 is no archive of run-all --archive: $(head -n 1 "$build/unpack.log")" >&2
		exit 2
	fi
	[ ! -e "$unpacked/compiled.tar.gz" ] || tar -C "$build" -xzf "$unpacked/compiled.tar.gz" || exit 99
	for folder in "$unpacked"/records/*/; do
		stage=$(basename "$folder")
		[ -e "$here/$stage.sh" ] || continue
		# A stage that was left out as a whole has none.
		ls "$folder"*.txt >/dev/null 2>&1 || continue
		mkdir -p "$build/records/$stage"
		take_records "$folder" "$build/records/$stage"
		[ -e "$top/VERSION" ] || publish_records "$folder"
	done
	rm -rf "$unpacked"
}

# take_records FROM TO: but nothing that failed replaces what succeeded with the same programs
take_records() {
	for file in "$1"/*.txt; do
		old=$2/$(basename "$file")
		if [ -e "$old" ] && grep -qx 'result	ok' "$old" && ! grep -qx 'result	ok' "$file" &&
			[ "$(grep '^made by	' "$old")" = "$(grep '^made by	' "$file")" ]; then
			continue
		fi
		cp "$file" "$old" || exit 99
	done
}

# publish_records FOLDER: adds the records of a stage to bench/results/STAGE-GPU.txt
publish_records() {
	gpu=$(sed -n 's/^gpu	0	\([^	]*\).*/\1/p' "$1"/*.txt | head -n 1 | sed 's/^NVIDIA //' |
		tr '[:upper:] ' '[:lower:]-' | tr -cd '[:alnum:]-')
	result=$top/bench/results/$stage-${gpu:-unknown}.txt parts=$unpacked/parts
	rm -rf "$parts" && mkdir -p "$parts" "$top/bench/results" || exit 99
	[ ! -e "$result" ] || split_result "$result" "$parts"
	take_records "$1" "$parts"
	# shellcheck source=/dev/null
	. "$here/$stage.sh"
	{ stage_steps | cut -d ' ' -f 1 && (cd "$parts" && ls) | sed 's/\.txt$//'; } | awk '!seen[$0]++' |
		while read -r step; do
			[ ! -e "$parts/$step.txt" ] || { cat "$parts/$step.txt" && echo; }
		done >"$result"
	echo "bench/results/${result##*/}"
}

# split_result FILE FOLDER: a file for each step
split_result() {
	awk -v folder="$2" '
		/^stage\t/ { head = $0; file = ""; blank = 0; next }
		/^step\t/ && head { file = folder "/" substr($0, 6) ".txt"; print head >file; head = "" }
		file && /^$/ { blank++; next }
		file { for (; blank; blank--) print "" >file; print >file }' "$1"
}
