#!/bin/sh
# SPDX-License-Identifier: MIT
# try-wheel.sh WHEEL: what an ordinary user does with the wheel on a system that has Python and nothing else. It prints
# the seconds from the wheel to the first answer. As root it installs Python and makes that user:
#	tests/systems/bare-root.sh --bring FOLDER trixie -- tests/systems/try-wheel.sh '/brought/*x86_64.whl'
set -eu
if [ "$(id -u)" -eq 0 ]; then
	apt-get update -q -o Acquire::Check-Valid-Until=false >/dev/null
	apt-get install -yq --no-install-recommends python3 python3-venv >/dev/null 2>&1
	id ann >/dev/null 2>&1 || useradd --create-home ann
	exec runuser -u ann -- "$0" "$@"
fi
cd "$(mktemp -d)"
# shellcheck disable=SC2086 # a pattern
wheel=$(ls $1)
begin=$(date +%s%N)
python3 -m venv env
env/bin/pip install -q --no-index "$wheel"
answer=$(env/bin/python -c 'import gpumap; print(gpumap.resolve(visible="2,3,4,5", device=1).physical)')
end=$(date +%s%N)
[ "$answer" = 3 ] || {
	echo "not ok - the module says $answer"
	exit 1
}
for words in '--visible 2,3,4,5 --device 1' 'pretend --inventory 8xH100 -- env/bin/gpumap inventory'; do
	# shellcheck disable=SC2086 # words
	env/bin/gpumap $words >out || {
		echo "not ok - gpumap $words"
		exit 1
	}
	sed 1q out
done
python3 --version
echo "from the wheel to the answer: $(((end - begin) / 1000000)) ms"
