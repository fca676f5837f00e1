#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes each allocation of each command fail once, and prints TAP: nomem.py GPUMAP-FAILING FOLDER [NAME...]

Afterwards the command prints what it usually does and ends as it usually does, or it ends with
status 2 (125 for run and exec) and a message. If what it printed before is cut off, a message reports that. Files
that it writes are whole or not there. Without GPUMAP_TEST_FULL every so many allocations are tried, beginning with a
drawn one. FOLDER has the library of pretended machines."""
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from emit import targets

FULL = bool(os.environ.get("GPUMAP_TEST_FULL"))
TRIED = 40  # of a command's allocations, if not all
FOREIGN = ("CUDA", "GPUMAP", "SLURM", "NVIDIA", "ROCR", "HIP", "NO_COLOR", "RANK", "WORLD_", "LOCAL_",
           "GROUP_", "ROLE_", "NODE_", "CROSS_", "OMPI", "PMI", "MPI_", "MV2_", "MASTER_")

FILES = {
    "gpumap.ini": "[program p]\ncommand = echo hi ${width:-0}\ndevice = cuda:%l\n"
                  "[profile a]\nprogram = p\ngpus = 0,1,2,3\ncpu_bind = none\n"
                  "[profile b]\ninherit = a\nranks = 2\n"
                  "[override one]\nprofile = *\nranks = 1\n"
                  "[sweep s]\nprofile = b\nwidth = 1, 2\n",
    "smi.txt": "GPU 0: NVIDIA H100 (UUID: GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77)\n"
               "GPU 1: NVIDIA H100 (UUID: GPU-6d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77)\n",
    "train.py": "import os, torch\nos.environ['CUDA_VISIBLE_DEVICES'] = '2,3'\n"
                "rank = int(os.environ['RANK'])\ntorch.cuda.set_device(rank)\n"
                "model = torch.nn.DataParallel(torch.nn.Linear(1, 1).cuda(1), device_ids=[0, 1])\n",
    "many.py": "import os, torch\nimport torch.nn as nn\nfrom torch import distributed as dist\n"
               "os.environ['CUDA_VISIBLE_DEVICES'] = '2,2'\nos.environ['RANK'] = '1'\n"
               "os.environ['CUDA_VISABLE_DEVICES'] = '1'\nrank = dist.get_rank()\ndef f(a, b):\n"
               "    torch.cuda.set_device(rank)\nm = nn.DataParallel(Net().cuda(1), device_ids=[0, 1])\n"
               "dist.init_process_group('nccl', init_method='tcp://a:1')\n"
               "p.add_argument('--n', default=2)\nn = [0, 1]\nos.environ['MASTER_PORT'] = '1'\n"
               "dist.init_process_group('nccl', world_size=args.n * 2)\n"
               "os.system('CUDA_VISIBLE_DEVICES=0,0 torchrun --nproc_per_node 4 b.py')\n",
    "many.sh": "#!/bin/bash\r\n#SBATCH --gres=gpu:2 --nodes=2 --ntasks-per-node=4\n"
               "export CUDA_VISIBLE_DEVICES=0,0 A=(1 2) B\nCUDA_VISABLE_DEVICES=1\nA+=(3)\n"
               "if true; then CUDA_VISIBLE_DEVICES=1,0; fi\nf() { N=$(echo `date`); }\nf\n"
               "CUDA_VISIBLE_DEVICES=3,1 deepspeed a.py &\nexport CUDA_VISIBLE_DEVICES=1\n"
               "CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=4 \"${A[@]}\" t.py &\n"
               "env CUDA_VISIBLE_DEVICES=GPU-x deepspeed b.py\n"
               "for i in 0 1; do torchrun --master_port 29501 t.py & done\nsudo python u.py\n"
               "N=$((SLURM_NNODES * 2))\nexport MASTER_ADDR=localhost\nsrun python v.py\n"
               "srun bash -c 'torchrun --nproc_per_node=$SLURM_NTASKS_PER_NODE w.py'\n"
               "sbatch --gpus-per-node=a:2 --wrap=\"CUDA_VISIBLE_DEVICES=$N python x.py\"\n"
               "docker run --gpus device=0,1 -e CUDA_VISIBLE_DEVICES i\n"
               "CUDA_VISIBLE_DEVICES+=,1 CUDA_DEVICE_ORDER=PCI CUDA_VISIBLE=1 python y.py\n  --z\n"
               "torchrun --nnodes=$N --nproc_per_node=$SLURM_GPUS_PER_NODE z.py\n",
    "starts.sh": "export CUDA_VISIBLE_DEVICES=2\nexport CUDA_DEVICE_ORDER=PCI_BUS_ID\n"
                 "torchrun --nproc_per_node=2 --master_port=29501 many.py --n 4\n",
    "started/a.py": "import os\nos.environ['RANK'] = '1'  # gpumap: ignore=GM001\n"
                    "s = '\u00e4'; os.environ['CUDA_VISIBLE_DEVICES'] = '0,0'\n"
                    "if s:\n  os.environ['CUDA_VISIBLE_DEVICES'] = '2,3'\n",
    "started/nb.ipynb": "{\"cells\": [{\"cell_type\": \"code\", \"source\": [\"%env CUDA_VISIBLE_DEVICES=1\\n\", "
                        "\"!CUDA_VISABLE_DEVICES=1 python x.py\"]}, {\"cell_type\": \"code\", \"source\": "
                        "\"import torch # gpumap: ignore\\ntorch.cuda.set_device(1)\"}, {\"cell_type\": "
                        "\"code\", \"source\": \"%%bash\\nexport CUDA_VISIBLE_DEVICES=0,0\\npython a.py\"}]}",
    "started/run.sh": "#!/bin/sh\n# gpumap: ignore\ntorchrun --nproc_per_node=2 a.py\n"
                      "CUDA_VISABLE_DEVICES=1 python3 sub/b.py\n",
    "started/sub/b.py": "p.add_argument('--local_rank')\nprint(args.local_rank)\n",
    "started/venv/c.py": "",
    "started/gpumap.ini": "[profile p]\nprogram = q\ngups = 1\n[program q]\ncommand = python3 a.py\n",
    "job.sh": "#!/bin/bash\n#SBATCH --gres=gpu:4\n#SBATCH -n 4\n"
              "export CUDA_VISIBLE_DEVICES=0-3\nsrun torchrun --nproc_per_node=4 train.py\n"
              "docker run --gpus all -e CUDA_VISIBLE_DEVICES=1 image\n",
    "leases.ini": "[leases]\ngpus_per_user = 9\nlongest = 8h\nslots = 2\n",
    "root/etc/os-release": "PRETTY_NAME=\"Debian\"\n",
    "root/proc/version": "Linux version 6.1 x\n",
    "root/proc/driver/nvidia/version": "NVRM version: Module  570.86.15  x\n",
    "root/proc/driver/nvidia/gpus/0000:07:00.0/information": "Model: NVIDIA H100\n",
    "root/proc/self/limits": "Max open files 1024 4096 files\n",
    "root/proc/self/status": "Cpus_allowed_list: 0-3\nMems_allowed_list: 0\n",
    "root/proc/self/mounts": "tmpfs /dev/shm tmpfs rw,size=65536k 0 0\n",
    "root/proc/self/environ": "VIRTUAL_ENV=/v\0HOME=/home/ada",
    "root/sys/bus/pci/devices/0000:07:00.0/vendor": "0x10de\n",
    "root/sys/bus/pci/devices/0000:07:00.0/class": "0x030200\n",
    "root/sys/bus/pci/devices/0000:07:00.0/local_cpulist": "8-15\n",
    "root/etc/ld.so.cache": "glibc-ld.so.cache1.1",
    "root/dev/nvidiactl": "",
    "root/usr/lib/libcuda.so.1": "",
    "root/v/pyvenv.cfg": "home = /usr/bin\n",
    "root/v/bin/python3.11": "\177ELF",
    "root/v/bin/python3": "\177ELF",
    "root/v/lib/python3.11/site-packages/jax_cuda12_plugin-0.4.30.dist-info": "",
    "root/v/lib/python3.11/site-packages/jax-0.4.30.dist-info": "",
    "root/v/lib/python3.11/site-packages/torch/version.py": "__version__ = '2.5.1+cu124'\ncuda = '12.4'\n",
    "root/var/log/dmesg": "NVRM: Xid (PCI:0000:07:00): 79, x\n",
}

# name, variables and arguments, a file that it writes
COMMANDS = [
    ("explain", "--visible 2,3,4,5 --device 1 --inventory 8", None),
    ("explain, JSON", "--json --visible 2,3,4,5 --device 1 --inventory 8", None),
    ("explain, SVG", "explain --format svg --visible 2,3 --device-ids 0,1 --inventory 8xH100", None),
    ("explain, a no", "--visible 2,x --device 1 --inventory 4", None),
    ("explain, a process", "--pid {pid} --inventory 4", None),
    ("explain, profile", "explain --profile a --inventory 8", None),
    ("inventory", "inventory --inventory 8xH100", None),
    ("inventory, JSON", "inventory --json --inventory 2xH100+1xA100", None),
    ("inventory, saved", "inventory --inventory 8xH100 --save saved.ini", "saved.ini"),
    ("plan", "plan --profile a --inventory 8", None),
    ("plan, JSON", "plan --json --hosts n[0-3] --inventory 8 --device cuda:%l -- python3 x.py", None),
    ("plan, SVG", "plan --format svg --ranks 2 --inventory 8xH100 -- true", None),
    ("plan, written", "plan --inventory 8 --ranks 2 -o plan.json -- true", "plan.json"),
    ("plan, a fault", "plan --inventory 2 --device cuda:%r --hosts a,b -- true", None),
    ("plan, program", "plan --inventory 4 -- train.py", None),
    ("plan, script", "plan --inventory 4 -- sh starts.sh", None),
    ("plan, inherited list", "CUDA_VISIBLE_DEVICES=1,2,x,3 plan --inventory 4 --gpus inherit "
     "--cpu-bind none --device cuda:%l -- true", None),
    ("explain, environment", "CUDA_VISIBLE_DEVICES=1,2,x,3 SLURM_JOB_GPUS=4,5,6,7 --device 1", None),
    ("doctor", "doctor --root root", None),
    ("doctor, JSON", "doctor --json --root root -- /v/bin/python3.11", None),
    ("doctor, this machine", "doctor -- train.py", None),
    ("explain, no driver", "inventory --json --inventory host --ask-driver", None),
    ("config", "config", None),
    ("config, JSON", "config --json --profile b", None),
    ("rules", "rules", None),
    ("rules, one", "rules GM019", None),
    ("rules, JSON", "rules --json S1", None),
    ("lint, program", "lint many.py", None),
    ("lint, script", "lint many.sh", None),
    ("lint, script of a program", "lint starts.sh", None),
    ("lint, profile", "lint gpumap.ini", None),
    ("lint, folder", "lint started", None),
    ("lint, notebook", "lint --inventory 4 started/nb.ipynb", None),
    ("lint, environment", "CUDA_VISIBLE_DEVICES=0,0 RANK=1 MASTER_PORT=x NCCL_P2P_DISABLE=1 lint", None),
    ("lint, JSON", "lint --json train.py job.sh", None),
    ("lint, SARIF", "lint --format sarif started", None),
    ("lint, GitHub", "lint --format github started", None),
    ("emit, written", "emit sbatch --inventory 4 --device cuda:%l -o job.sbatch -- python3 x.py",
     "job.sbatch"),
    ("run", "run --inventory 4 --ranks 2 --cpu-bind none -- echo hi", None),
    ("run, dry", "run --dry-run --inventory 4 --ranks 2 -- echo hi", None),
    ("run, a fault", "run --inventory 4 --ranks 2 --cpu-bind none -- sh -c 'exit 3'", None),
    ("exec", "exec --inventory 4 -- echo hi", None),
    ("exec, dry", "exec --dry-run --inventory 4 -- echo hi", None),
    ("completion", "completion --words bash run --inventory = 8 --gpus 0,", None),
    ("completion, profiles", "completion --words zsh run --profile ''", None),
    ("plan, diff", "plan --diff one.json two.json", None),
    ("run, plan", "run --plan one.json", None),
    ("exec, plan", "exec --plan one.json", None),
    ("run, logs", "run --inventory 4 --ranks 2 --cpu-bind none --log-dir logs --tee 3 -- echo hi", None),
    ("run, sweep", "run --profile b --sweep s --inventory 4", None),
    ("config, a key", "config --profile b device", None),
    ("inventory, read", "inventory --inventory smi.txt", None),
    ("pretend", "pretend --inventory 2xH100 -- echo hi", None),
    ("pick", "pick 1 -- echo hi", None),
    ("pick, a container", "pick 1 -- echo {docker} {cdi}", None),
    ("pick, not in a lease", "GPUMAP_LEASE=1 pick 1 -- echo hi", None),
    ("pick, bound", "GPUMAP_PRETEND_INVENTORY=2 GPUMAP_PRETEND_SETTINGS=leases.ini pick 1 -- echo hi", None),
    ("pick, MIG", "pick 1 --mig=1g.10gb --from 0 -- echo hi", None),
    ("pick, a process", "pick 1 --hold {pid}", None),
    ("pick, a shell", "pick 1 --shell --hold {pid}", None),
    ("pick, adopt", "pick --adopt {pid}", None),
    ("leases", "leases", None),
    ("leases, JSON", "leases --json", None),
    ("leases, revoke", "leases --revoke 0", None),
    ("run, free GPUs", "run --gpus free:1 --wait=1ms --cpu-bind none -- echo hi", None),
    ("plan, free GPUs", "plan --gpus free:1 --device cuda:0 -- true", None),
    ("verify, a process", "verify --pid {pid}", None),
    ("verify, pretended", "{on} verify --pid {pid}", None),
    ("verify, JSON", "{on} verify --json --pid {pid}", None),
    ("ps", "{on} COLUMNS=60 ps", None),
    ("ps, stale", "{on} ps --stale", None),
    ("ps, JSON", "{on} ps --json --gpus 1,0", None),
    ("leases, pretended", "{on} leases --json", None),
    ("verify, no run", "verify --json 20260101-000000-1", None),
    ("help", "--help", None),
    ("run, help", "run --help", None),
    ("a misspelling", "--visble 1", None),
    ("no command", "lits", None),
]
EMIT = "emit {target} --inventory 4 --hosts a,b --device cuda:%l -- python3 x.py"
# Commands whose output differs from run to run.
LOOSE = ("run", "run, a fault", "run, plan", "run, logs", "run, sweep", "run, free GPUs", "leases, JSON")
# In these the pretended driver, which is in the process, can be the one that lacks memory. It then says less, as any
# driver may, and the command answers with what it has.
DRIVEN = ("verify, pretended", "verify, JSON", "ps", "ps, stale", "ps, JSON", "leases, pretended")


def split(words):
    """The environment of a command of the table, and its arguments."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
    environment.update(HOME=os.getcwd(), XDG_CONFIG_HOME=os.getcwd() + "/none")
    if words[0] == "exec":
        environment.update(RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", LOCAL_WORLD_SIZE="1")
    while "=" in words[0]:
        environment.update([words[0].split("=", 1)])
        words = words[1:]
    return environment, words


def prepare(gpumap):
    """Writes what the commands read into the current folder."""
    for path, text in FILES.items():
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    for name, ranks in ("one.json", 1), ("two.json", 2):
        plan = f"plan --inventory 4 --ranks {ranks} --cpu-bind none -o {name} -- echo hi"
        subprocess.run([gpumap, *plan.split()], check=True, capture_output=True, env=split(["plan"])[0])


def all_commands(gpumap):
    return COMMANDS + [(f"emit {target}", EMIT.format(target=target), None) for target in targets(gpumap)]


class Outcome:
    def __init__(self, gpumap, arguments, written, number):
        read, write = os.pipe()
        environment, arguments = split(arguments)
        environment["GPUMAP_TEST_FAIL"] = str(number)
        if written and os.path.exists(written):
            os.remove(written)
        os.dup2(write, 9)
        os.close(write)
        done = subprocess.run([gpumap, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                              env=environment, pass_fds=(9,), timeout=120)
        os.close(9)
        self.failed = os.read(read, 1) == b"!"
        os.close(read)
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr
        self.file = None
        if written and os.path.exists(written):
            with open(written, "rb") as file:
                self.file = file.read()


def masked(text):
    """Its lines without numbers, which may be pids and times, in any order."""
    return sorted(re.sub(rb"[0-9.]+", b"#", line) for line in text.splitlines())


def fault(name, usual, got):
    """What is wrong with an outcome, or None."""
    same_out, same_err = (a == b or (name in LOOSE and masked(a) == masked(b))
                          for a, b in ((usual.out, got.out), (usual.err, got.err)))
    if got.file not in (None, usual.file):
        return f"a cut file: {got.file[-80:]!r}"
    if got.status == usual.status and same_out and same_err and got.file == usual.file:
        return None
    if got.status < 0:
        return f"signal {-got.status}"
    # GM036: --gpus names a GPU that does not answer, and the command says so.
    if name in DRIVEN and (got.status in (0, 1) or b"[GM036]" in got.err):
        return None
    # A run ends with the status of its ranks, so only GM001 reports the failure.
    if got.status == usual.status and name in LOOSE and same_out and b"GM001" in got.err:
        return None
    if got.status == usual.status and usual.status == 0:
        return f"status 0, but out {got.out[-120:]!r} err {got.err[-120:]!r}"
    if got.status not in (2, 125):
        return f"status {got.status}: {got.err[-160:]!r}"
    # GM193: jansson reports a syntax error. "Cannot allocate memory": the system could not start a program.
    if not any(word in got.err + got.out for word in (b"GM001", b"GM193", b"Cannot allocate memory")):
        return f"status {got.status} without a word: out {got.out[-120:]!r} err {got.err[-120:]!r}"
    return None


def sweep(gpumap, name, arguments, written, draw):
    """The number of allocations that were tried, and what is wrong."""
    usual = Outcome(gpumap, arguments, written, 0)
    wrong, tried, number, step = [], 0, 1, 1
    if not FULL:
        total = 1
        while Outcome(gpumap, arguments, written, total).failed:
            total *= 2
        step = max(1, total // TRIED)
        number = draw.randint(1, step)
    while True:
        got = Outcome(gpumap, arguments, written, number)
        if not got.failed:
            return tried, wrong
        why = fault(name, usual, got)
        if why:
            wrong.append(f"allocation {number}: {why}")
        tried += 1
        number += step


def main():
    gpumap, names = os.path.abspath(sys.argv[1]), sys.argv[3:]
    able = subprocess.run([gpumap], env={**os.environ, "GPUMAP_TEST_FAIL": "?"}, check=True,
                          capture_output=True, text=True).stdout.strip()
    if able != "yes":
        print("1..0 # SKIP allocations cannot be made to fail under this allocator")
        return 0
    seed = int(os.environ.get("GPUMAP_TEST_SEED") or random.randrange(1 << 30))
    print(f"# GPUMAP_TEST_SEED={seed}")
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    prepare(gpumap)
    sleep = subprocess.Popen(["sleep", "1000"], env={"CUDA_VISIBLE_DEVICES": "1,0"})
    stale = subprocess.Popen(["sleep", "1000"], env={"CUDA_VISIBLE_DEVICES": "1", "GPUMAP_RUN_RANK": "3",
                                                     "GPUMAP_RUN_ID": "named"})
    with open("use", "w", encoding="utf-8") as file:
        file.write(f"0 {sleep.pid} 500\n0 4194305 20\n1 {stale.pid} 30 graphics\n1 reserved 1600\n")
    on = (f"LD_LIBRARY_PATH={sys.argv[2]} GPUMAP_PRETEND_INVENTORY=2xH100 GPUMAP_PRETEND_USE=use "
          "GPUMAP_LEASES=leases")
    commands = [c for c in all_commands(gpumap) if not names or c[0] in names]
    failed = 0
    print(f"1..{len(commands)}")
    try:
        for i, (name, arguments, written) in enumerate(commands, 1):
            words = shlex.split(arguments.replace("{pid}", str(sleep.pid)).replace("{on}", on))
            tried, wrong = sweep(gpumap, name, words, written, random.Random(seed + i))
            print(("not ok " if wrong else "ok ") + f"{i} - {name}: {tried} allocations fail", flush=True)
            for line in wrong[:12]:
                print("#   " + line)
            if len(wrong) > 12:
                print(f"#   and {len(wrong) - 12} more")
            failed += bool(wrong)
    finally:
        sleep.kill()
        stale.kill()
        os.chdir("/")
        shutil.rmtree(folder)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
