#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""hostile.py GPUMAP HOLDER SECONDS JOBS [bare]: picks of two users race while a third one is hostile at random.

Run it as root, in an empty folder that all can reach. It makes a machine there (GPUs, and two with MIG instances), the
lease folder of root, and files as sysfs has them. With "bare" sysfs is missing, as in WSL. The first user's number is
in GPUMAP_TEST_USERS (60101); GPUMAP_TEST_SEED repeats what is drawn.

What the third user can do: remove, link, rename, exchange and change modes; lock any file or folder for up to a second,
also by waiting for it; make files of all kinds and names; write into what is open to him; close files in loops; stop
and end what he may; and lease GPUs as everyone. Each job proves by itself that it has what it was given (holder.c).
From time to time a job is alone, and must be served at once.

  overlaps  more jobs held a GPU than one of them allows
  lost      jobs whose GPU was given to another one while they ran
  unseen    jobs that gpumap leases did not list while they held, though it said that it knew all
  unserved  jobs that got nothing in time, with a message that does not name the third user or a process of his
  crashed   jobs that ended by a signal or a report of a sanitizer
  hung      jobs that ended neither in time nor after it

The exit status is 0 if all of these are 0. What jobs said is in the folder "said".
"""

import ctypes
import fcntl
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import traceback

gpumap, holder, seconds, count = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
bare = "bare" in sys.argv[5:]
first_user = int(os.environ.get("GPUMAP_TEST_USERS") or 60101)
victims, ham, group = (first_user, first_user + 1), first_user + 2, first_user + 3
seed = int(os.environ.get("GPUMAP_TEST_SEED") or random.randrange(1 << 31))
draw = random.Random(seed)
WAIT, MOST, HOSTILE, MOST_FILES = 60, 12, 3, 1500
GPU = "GPU-5eed0000-0000-4000-8000-00000000000%d"
INSTANCE = "MIG-5eed0000-0000-4000-8000-0000000000%d%d"
INSTANCES, WHOLE = {0: 3, 1: 2}, (2, 3, 4, 5)
here = os.getcwd()
folder, machine = os.path.join(here, "leases"), os.path.join(here, "machine")
sysfs = ("vendor", "device", "class", "revision", "irq", "subsystem_vendor", "subsystem_device", "local_cpus",
         "local_cpulist", "modalias", "resource", "numa_node")


def set_up():
    os.umask(0)
    os.chmod(".", 0o755)
    for name, mode, owner in (("leases", 0o1777, 0), ("held", 0o770, group), ("said", 0o700, 0)):
        os.mkdir(name)
        os.chown(name, 0, owner)
        os.chmod(name, mode)
    os.close(os.open("held/records", os.O_CREAT, 0o666))
    with open(machine, "w") as file:
        for gpu in (*INSTANCES, *WHOLE):
            file.write("GPU %d: NVIDIA H100 80GB HBM3 (UUID: %s)\n" % (gpu, GPU % gpu))
            for i in range(INSTANCES.get(gpu, 0)):
                file.write("  MIG 1g.10gb     Device  %d: (UUID: %s)\n" % (i, INSTANCE % (gpu, i)))
    os.chmod(machine, 0o644)
    for gpu in () if bare else (*INSTANCES, *WHOLE):
        device = os.path.join(folder, "pretended", "0000:%02x:00.0" % (gpu + 1))
        os.makedirs(device, 0o755)
        for name in sysfs:
            with open(os.path.join(device, name), "w") as file:
                file.write("0x10de\n")
            os.chmod(os.path.join(device, name), 0o444)


# --- only what this program has started gets signals: others may use the same numbers of users ----------------

def parent(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def is_ours(pid):
    """Whether this program has started it. Orphans become its children (PR_SET_CHILD_SUBREAPER)."""
    while pid > 1 and pid != main:
        pid = parent(pid)
    return pid == main


def send_to(pid, number):
    """The handle means the same process when it was looked at and when it gets the signal."""
    handle = os.pidfd_open(pid)
    try:
        if pid != main and is_ours(pid):
            signal.pidfd_send_signal(handle, number)
    finally:
        os.close(handle)


def ours(user=None):
    """The processes that this program has started, of one user."""
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and int(name) != main and user in (None, os.stat("/proc/" + name).st_uid) and \
                    is_ours(int(name)):
                found.append(int(name))
        except OSError:
            pass
    return found


def as_user(user, *words):
    return ["setpriv", "--reuid=%d" % user, "--regid=%d" % (group if user in victims else user), "--clear-groups",
            gpumap, "pretend", "--inventory", machine, "--", *words]


environment = dict(os.environ, GPUMAP_LEASES=folder, HOME="/nonexistent")


# --- the hostile user --------------------------------------------------------------------------------------

class Hostile:
    """One process of the third user: random acts until it is told to end. What it starts is named in "pids"."""

    def __init__(self, number, pids):
        self.draw, self.pids = random.Random("%d %d" % (seed, number)), pids
        self.open, self.children = [], []
        self.libc = ctypes.CDLL(None)
        self.mine = []

    def tell(self, pid):
        os.write(self.pids, b"%d\n" % pid)

    # what there is
    def name(self):
        """A name as jobs use them, or near one."""
        d = self.draw
        gpu = d.choice((*INSTANCES, *WHOLE))
        unit = "gpu-" + GPU % gpu
        if gpu in INSTANCES and d.randrange(3):
            unit += "-mig-" + INSTANCE % (gpu, d.randrange(INSTANCES[gpu]))
        slots = d.randint(1, 5)
        number = d.choice((1, 2, 9223372036854775799, 2**63 - 1, 2**64 - 1, time.time_ns(), time.time_ns() - 10**9))
        tickets = [name for name in self.names() if "ticket-" in name] or ["ticket-%020d" % number]
        some = (unit, "%s-slot-%d-of-%d" % (unit, d.randrange(slots), slots), unit + "-slot-0-of-1",
                "ticket-%020d" % number, "pass-%s-%020d" % (d.choice(tickets).split("-")[-1], time.time_ns()),
                "gate", "bell", "note-%d-%d" % (d.randrange(1, 40000), d.randrange(1 << 30)), "sub-1-gate",
                "sub-1-" + unit, "sub-1-ticket-%020d" % number, ".x%d" % d.randrange(30), "x" * 255,
                "ticket-" + "9" * 40, "gpu-\n\x1b[31m", unit + "-slot-9999999999999999999-of-0")
        return d.choice(some) + d.choice(("",) * 8 + ("~", ".", "-0"))

    def names(self):
        try:
            return os.listdir(folder)
        except OSError:
            return []

    def any_path(self):
        """Any file: of the folder mostly, else of sysfs, else the folder or the next one above."""
        kind = self.draw.randrange(10)
        if kind == 0:
            # What is missing in sysfs nobody can make.
            return self.draw.choice((folder, folder, here, folder if bare else os.path.join(folder, "pretended")))
        if kind < 3 and not bare:
            device = "0000:%02x:00.0" % (self.draw.choice((*INSTANCES, *WHOLE)) + 1)
            return os.path.join(folder, "pretended", device, self.draw.choice(sysfs))
        return os.path.join(folder, self.draw.choice(self.names() or ["x"]))

    def new_path(self):
        return os.path.join(folder, self.name())

    def own_path(self):
        self.mine = [path for path in self.mine if os.path.lexists(path)]
        return self.draw.choice(self.mine or [self.new_path()])

    def opened(self, path, flags, seconds=1.0):
        fd = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
        self.open.append((time.monotonic() + self.draw.uniform(0, seconds), fd))
        return fd

    # what he does
    def remove(self):
        path = self.draw.choice((self.any_path, self.own_path))()
        if not path.startswith(folder + "/"):
            return
        try:
            os.unlink(path)
        except IsADirectoryError:
            shutil.rmtree(path, ignore_errors=True)

    def rename(self):
        os.rename(self.draw.choice((self.any_path, self.own_path))(), self.new_path())

    def exchange(self):
        two = [os.fsencode(self.draw.choice((self.any_path, self.own_path))()) for _ in range(2)]
        self.libc.renameat2(-100, two[0], -100, two[1], 2)

    def link(self):
        path = self.new_path()
        os.link(self.any_path(), path)
        self.mine.append(path)

    def symlink(self):
        path = self.new_path()
        os.symlink(self.draw.choice((self.any_path(), "/dev/full", "/dev/zero", "..", "gate", "")) or "x", path)
        self.mine.append(path)

    def chmod(self):
        os.chmod(self.draw.choice((self.any_path, self.own_path))(),
                 self.draw.choice((0, 0o600, 0o644, 0o666, 0o777, 0o4755, 0o1777)))

    def make(self):
        if len(self.names()) > MOST_FILES:
            return
        path = self.new_path()
        self.mine.append(path)
        kind = self.draw.randrange(12)
        if kind == 0:
            os.mkfifo(path, self.draw.choice((0, 0o666)))
        elif kind == 1:
            os.mkdir(path, self.draw.choice((0, 0o777)))
        elif kind == 2:
            with socket.socket(socket.AF_UNIX) as one:
                os.chdir(folder)
                one.bind(os.path.basename(path))
        elif kind == 3:
            os.mknod(path, 0o666 | self.draw.choice((0o020000, 0o060000)), os.makedev(1, 7))
        else:
            fd = self.opened(path, os.O_RDWR | os.O_CREAT)
            os.fchmod(fd, self.draw.choice((0, 0o444, 0o644, 0o644, 0o666)))
            if self.draw.randrange(2):
                os.write(fd, self.text())
            if self.draw.randrange(2):
                fcntl.flock(fd, self.draw.choice((fcntl.LOCK_SH, fcntl.LOCK_EX)) | fcntl.LOCK_NB)

    def fill(self):
        for _ in range(self.draw.randrange(60)):
            try:
                self.make()
            except OSError:
                pass

    def text(self):
        d = self.draw
        units = " ".join("gpu-" + GPU % gpu for gpu in WHOLE)
        lines = [b"want %d\n" % d.choice((0, 1, 4, 64, 1 << 62)), b"from %s\n" % units.encode(), b"from \n",
                 b"slots %d\n" % d.choice((0, 1, 2, 9999)), b"passed\n", b"near\n", b"prefer x\n", b"\0" * 100,
                 b"free-memory -1\n", b"max-load 999\n", b"x" * 70000, b"want 64\nfrom %s\n" % units.encode(),
                 b"pid %d\nend 0\nfor 1\nidle 1\n" % d.choice((1, os.getpid(), 40000))]
        return b"".join(d.choice(lines) for _ in range(d.randint(1, 4)))

    def forge(self):
        fd = self.opened(self.any_path(), os.O_RDWR)
        if self.draw.randrange(2):
            os.ftruncate(fd, 0)
        os.lseek(fd, 0, self.draw.choice((os.SEEK_SET, os.SEEK_END)))
        os.write(fd, self.text())

    def lock(self):
        fd = self.opened(self.any_path(), os.O_RDONLY)
        fcntl.flock(fd, self.draw.choice((fcntl.LOCK_SH, fcntl.LOCK_EX)) | fcntl.LOCK_NB)

    def lock_ranges(self):
        fd = self.opened(self.own_path(), os.O_RDWR)
        if self.draw.randrange(2):
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            # Who opens the file then waits for its owner, or fails if he opens without waiting.
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)

    def begin(self, run):
        """A process of his: it ends after a few seconds at the latest."""
        if len(self.children) > 8:
            return
        pid = os.fork()
        if pid:
            self.children.append(pid)
            return
        self.tell(os.getpid())
        signal.alarm(3)
        try:
            run()
        finally:
            os._exit(0)

    def lock_in_turn(self):
        """Waits for a lock, so that it comes between those who wait."""
        path, shared, pause = self.any_path(), self.draw.randrange(3) == 0, self.draw.uniform(0, 1)

        def run():
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            fcntl.flock(fd, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
            time.sleep(pause)
        self.begin(run)

    def pick(self):
        """A lease of his, or what ends one."""
        d = self.draw
        sleep = ["--", "sleep", "%.2f" % d.uniform(0, 1)]
        words = d.choice((["pick", "1"] + sleep, ["pick", "1", "--wait=2s"] + sleep, ["pick", "2", "--slots", "2"] + sleep,
                          ["pick", "1", "--mig", "--wait=1s"] + sleep, ["pick", "1", "--slots", "3"] + sleep,
                          ["leases", "--revoke", str(d.choice(WHOLE))], ["leases", "--revoke", "0"], ["leases"]))
        null = os.open("/dev/null", os.O_RDWR)
        self.begin(lambda: [os.dup2(null, fd) for fd in (0, 1, 2)] and
                   os.execvpe("setpriv", as_user(ham, gpumap, *words), environment))
        os.close(null)

    def send(self):
        """Signals to what is his, and to the jobs."""
        pids = [pid for pid in ours() if pid not in self.all]
        signals = (signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT, signal.SIGTERM, signal.SIGUSR1)
        for pid in self.children + self.draw.sample(pids, min(4, len(pids))):
            try:
                send_to(pid, self.draw.choice(signals))
            except OSError:
                pass

    def close_often(self):
        for _ in range(self.draw.randrange(200)):
            os.close(os.open(self.any_path(), self.draw.choice((os.O_RDWR, os.O_WRONLY, os.O_RDONLY)) | os.O_NONBLOCK))

    def expire(self, now):
        for until, fd in self.open:
            if until <= now or len(self.open) > 200:
                os.close(fd)
        self.open = [one for one in self.open if one[0] > now] if len(self.open) <= 200 else []
        while self.children:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self.children = []
                break
            if not pid:
                break
            self.children = [child for child in self.children if child != pid]
        for pid in self.children:  # none stays stopped for long
            if self.draw.randrange(20) == 0:
                send_to(pid, signal.SIGCONT)

    def run(self):
        signal.signal(signal.SIGIO, signal.SIG_IGN)  # of F_SETLEASE
        while not os.path.exists("hostile"):
            time.sleep(0.01)
        with open("hostile") as file:
            self.all = {int(word) for word in file.read().split()}
        acts = (self.remove, self.remove, self.rename, self.exchange, self.link, self.symlink, self.chmod, self.make,
                self.make, self.fill, self.forge, self.forge, self.lock, self.lock, self.lock_ranges, self.lock_in_turn,
                self.pick, self.send, self.close_often)
        while os.getppid() == main:
            self.expire(time.monotonic())
            try:
                self.draw.choice(acts)()
            except OSError:
                pass
            time.sleep(self.draw.choice((0, 0, 0.001, 0.01, 0.05)))


def start_hostile():
    """Their numbers. The file "pids" has all that he ever had, "hostile" those that stay."""
    pids = os.open("pids", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    those = []
    for number in range(HOSTILE):
        pid = os.fork()
        if not pid:
            # Within a session anyone may send SIGCONT, which leaves LeakSanitizer waiting for a SIGSTOP of its own.
            os.setsid()
            os.setgroups([])
            os.setresgid(ham, ham, ham)
            os.setresuid(ham, ham, ham)
            try:
                Hostile(number, pids).run()
            except Exception:
                traceback.print_exc()
            os._exit(1)
        os.write(pids, b"%d\n" % pid)
        those.append(pid)
    os.close(pids)
    with open("hostile.new", "w") as file:
        file.write(" ".join(map(str, those)))
    os.chmod("hostile.new", 0o644)
    os.rename("hostile.new", "hostile")
    return those


def end_hostile():
    """With all that he started."""
    while True:
        those = ours(ham)
        for pid in those:
            try:
                send_to(pid, signal.SIGKILL)
            except OSError:
                pass
        for pid in those:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass
        if not those:
            return
        time.sleep(0.01)


# --- the jobs -----------------------------------------------------------------------------------------------

class Race:
    def __init__(self):
        self.jobs, self.started, self.was_killed, self.alone = {}, 0, 0, 0
        self.served = self.refused = self.blocked = self.looks = 0
        self.bad = {what: [] for what in ("overlaps", "lost", "unseen", "unserved", "crashed", "hung")}
        self.records = os.open("held/records", os.O_WRONLY | os.O_APPEND)
        self.rate = count / seconds
        self.held = {}

    def start(self, alone=False):
        number = self.started
        self.started += 1
        instances = draw.randrange(3) == 0
        slots = 1 if instances else draw.choice((1, 1, 2, 3, 4))
        most = sum(INSTANCES.values()) // 2 if instances else len(WHOLE) // 2
        words = ["pick", str(1 if alone else draw.randint(1, most))]
        waits = not alone and draw.randrange(5)
        words += ["--wait=%ds" % WAIT] if waits else []
        words += ["--mig"] if instances else draw.choice(([], ["--near"], ["--prefer", "3"], ["--from", "2,3,5"]))
        words += ["--slots", str(slots)] if slots > 1 else []
        # So that three of four units are held, whatever the number of jobs.
        hold = 0 if alone else int(min(3000, draw.uniform(0, 2) * 750 * 5 / self.rate))
        job = "%d" % number
        user = victims[number % 2]
        said = os.path.join("said", job)
        os.write(self.records, b"asked %s %d\n" % (job.encode(), time.monotonic_ns()))
        with open(said, "wb") as file:
            process = subprocess.Popen(as_user(user, gpumap, *words, "--", holder, os.path.join(here, "held"), str(hold),
                                               str(slots)), stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                                       env=dict(environment, RACE_JOB=job))
        process.job, process.said, process.words, process.waits, process.alone = job, said, words, waits, alone
        process.until, process.kill = time.monotonic() + WAIT + hold / 1000 + 30, not alone and draw.randrange(15) == 0
        process.killed = False
        self.jobs[job] = process
        return process

    def names_ham(self, text):
        """Whether it names the third user, or a process that is his."""
        with open("pids") as file:
            pids = set(file.read().split())
        return bool(re.search(r"\b%d\b" % ham, text) or pids & set(re.findall(r"[0-9]+", text)))

    def ended(self, process):
        with open(process.said, errors="replace") as file:
            text = file.read()
        what, status = "job %s (%s)" % (process.job, " ".join(process.words)), process.returncode
        last = text.strip().rpartition("\n")[2][-300:]
        if re.search("Sanitizer|runtime error", text) or status < 0 and not process.killed:
            self.bad["crashed"].append("%s: status %d: %s" % (what, status, text[:600]))
        elif process.killed:
            self.was_killed += 1
        elif status == 0:
            self.served += 1
        elif status == 9:
            pass  # it found an overlap, and left a file
        elif self.names_ham(text):
            self.blocked += 1
        elif status == 125 and not process.waits and not process.alone and "[GM320]" in text:
            self.refused += 1
        else:
            self.bad["unserved"].append("%s: status %d: %s" % (what, status, last))

    def collect(self):
        now = time.monotonic()
        for job, process in list(self.jobs.items()):
            if process.poll() is not None:
                self.ended(process)
                del self.jobs[job]
            elif now > process.until:
                with open(process.said, errors="replace") as file:
                    self.bad["hung"].append("job %s (%s): %s" % (job, " ".join(process.words), file.read()[-300:]))
                process.kill()
                process.wait()
                del self.jobs[job]
            elif process.kill and draw.randrange(50) == 0:
                os.write(self.records, b"killed %s %d\n" % (job.encode(), time.monotonic_ns()))
                process.killed, process.kill = True, False
                process.send_signal(signal.SIGKILL)

    def read_records(self):
        """What each job wrote down."""
        jobs = {}
        with open("held/records") as file:
            for line in file:
                what, job, moment, *held = line.split()
                one = jobs.setdefault(job, {})
                one[what] = int(moment)
                if len(held) > 1:
                    one["units"], one["slots"] = held[0].split(","), int(held[1])
        return jobs

    def reap(self):
        """Orphans of the jobs. The hostile ones must not end: without them nothing is shown."""
        with open("/proc/self/task/%d/children" % main) as file:
            pids = {int(word) for word in file.read().split()}
        for pid in pids - {process.pid for process in self.jobs.values()}:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done and pid in self.hostile:
                sys.exit("hostile.py: the hostile process %d has ended: status %d" % (pid, status))

    def look(self):
        """Root asks who has leases. Who began before that and ended after it must be listed."""
        before = time.monotonic_ns()
        done = subprocess.run([gpumap, "pretend", "--inventory", machine, "--", gpumap, "leases", "--json"],
                              stdin=subprocess.DEVNULL, capture_output=True, env=environment, text=True, check=False)
        after = time.monotonic_ns()
        self.looks += 1
        try:
            told = json.loads(done.stdout)
        except ValueError:
            self.bad["crashed"].append("leases: status %d: %s" % (done.returncode, done.stderr[-600:]))
            return
        if not told["leases_known"]:
            return
        listed = {lease["pid"] for lease in told["leases"]} | {lease["taker"]["pid"] for lease in told["leases"]
                                                               if lease["taker"]}
        running = {process.job: process.pid for process in self.jobs.values() if process.poll() is None and
                   not process.killed}
        records = self.read_records()
        for job, pid in running.items():
            one = records.get(job, {})
            if "began" in one and one["began"] < before and not (one.get("ended", after) < after) and pid not in listed:
                self.bad["unseen"].append("job %s, process %d" % (job, pid))

    def until_over(self):
        while self.jobs:
            self.collect()
            time.sleep(0.005)

    def run(self):
        begin = time.monotonic()
        next_look = begin
        while self.started < count or time.monotonic() < begin + seconds:
            self.collect()
            now = time.monotonic()
            if self.started < count and len(self.jobs) < MOST and now - begin >= self.started / self.rate:
                self.start()
                if self.started % 40 == 0:
                    self.until_over()
                    self.alone += 1
                    self.start(alone=True)
                    self.until_over()
            if now >= next_look:
                self.reap()
                self.look()
                next_look = now + max(0.2, seconds / 300)
            time.sleep(0.002)
        self.until_over()

    def all_free(self):
        """He has gone. What he left keeps nothing from anyone."""
        for words in (["pick", str(len(WHOLE))], ["pick", str(sum(INSTANCES.values())), "--mig"],
                      ["pick", str(len(WHOLE)), "--slots", "2"]):
            # What killed jobs started may live a moment longer.
            for user in victims:
                done = subprocess.run(as_user(user, gpumap, *words, "--wait=30s", "--", "true"), capture_output=True,
                                      stdin=subprocess.DEVNULL, env=environment, text=True, check=False)
                if done.returncode:
                    self.bad["unserved"].append("afterwards %s: status %d: %s" % (
                        " ".join(words), done.returncode, done.stderr.strip()[-300:]))

    def judge(self):
        """Overlaps, by the locks of the jobs and by their times; and who held then."""
        jobs = self.read_records()
        holds = {}
        for job, one in jobs.items():
            for unit in one.get("units", ()):
                end = one.get("ended", max(one["began"], one.get("killed", 0)))
                holds.setdefault(unit, []).append((one["began"], end, one["slots"], job))
        lost = set()
        for unit, those in holds.items():
            together = []
            for hold in sorted(those):
                together = [other for other in together if other[1] > hold[0]] + [hold]
                if len(together) > min(slots for _, _, slots, _ in together):
                    self.bad["overlaps"].append("jobs %s on %s" % (" ".join(job for *_, job in together), unit))
                    lost.update(job for *_, job in together[:-1])
        for name in os.listdir("held"):
            if not name.startswith("overlap-"):
                continue
            self.bad["overlaps"].append(name)
            when, unit = int(os.stat(os.path.join("held", name)).st_mtime_ns), name[8:].rpartition("-")[0]
            when += time.monotonic_ns() - time.time_ns()
            lost.update(job for began, end, _, job in holds.get(unit, ()) if began < when < end)
        self.bad["lost"] += sorted(lost)


ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
main = os.getpid()
set_up()
print("seed", seed, flush=True)
race = Race()
race.hostile = start_hostile()
try:
    race.run()
    left = len(os.listdir(folder))
finally:
    end_hostile()
race.all_free()
race.judge()
for key, value in (("jobs", race.started), ("served", race.served), ("alone", race.alone), ("refused", race.refused),
                   ("blocked", race.blocked), ("killed", race.was_killed), ("looks", race.looks), ("files", left)):
    print(key, value)
for key, those in race.bad.items():
    print(key, len(those))
    for text in those[:10]:
        print("#", text.replace("\n", "\n# "))
sys.exit(any(race.bad.values()))
