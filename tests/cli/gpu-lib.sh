# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # variables of lib.sh
# For tests of tests/gpu.

# make_compilers FOLDER: nvcc and cc there. As the real one, this nvcc never writes the same bytes twice. Its kernels are a
# script that agrees with everything, or KERNELS. cc is the real one, but for objects that go with kernels.
make_compilers() {
	mkdir -p "$1"
	cat >"$1/nvcc" <<'SH'
#!/bin/sh
case " $* " in
*' --version '*) echo "Cuda compilation tools, release 77.1, V${NVCC_VERSION:-77.1.5}" && exit ;;
*' --dryrun '*) echo '#$ TOP=/nonexistent' >&2 && exit ;;
esac
while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\n[ ! "${KERNELS:-}" ] || exec "$KERNELS" "$@"\necho ok 1 - a; echo 1..1; echo "check	a" # %s\n' "$(od -An -N8 -tx1 /dev/urandom)" >"$2"
chmod +x "$2"
SH
	cat >"$1/cc" <<SH
#!/bin/sh
case " \$* " in
*/kernels/*.o*) while [ "\$1" != -o ]; do shift; done && : >"\$2" ;;
*) exec '$(command -v cc)' "\$@" ;;
esac
SH
	chmod +x "$1/nvcc" "$1/cc"
}

# make_torch FOLDER: FOLDER/python has a PyTorch whose every object is everything. COMPILE is what torch.compile does: it
# hangs, or it fails.
make_torch() {
	mkdir -p "$1/torch"
	cat >"$1/torch/__init__.py" <<'PYTHON'
import os
import time


class Anything:
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_, **__):
        return self

    def __getitem__(self, _):
        return self

    def __len__(self):
        return 64

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def __contains__(self, _):
        return False

    def __str__(self):
        return "77.1"

    def item(self):
        return 1.0


anything = Anything()
__version__ = "9.8.7"


def __getattr__(name):
    return anything


def compile(function, mode):
    if os.environ.get("COMPILE") == "hangs":
        try:
            time.sleep(600)
        except Exception:
            pass
    if os.environ.get("COMPILE") == "fails":
        raise RuntimeError("no triton here")
    os.makedirs(os.environ["TORCHINDUCTOR_CACHE_DIR"], exist_ok=True)
    open(os.environ["TORCHINDUCTOR_CACHE_DIR"] + "/" + mode, "w").close()
    return function
PYTHON
	printf '#!/bin/sh\nPYTHONPATH=%s exec python3 "$@"\n' "$1" >"$1/python" && chmod +x "$1/python"
}
