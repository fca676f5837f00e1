/* SPDX-License-Identifier: MIT */
/* Profiles that are refused: each error with its place and remedy, all of them together. */
#include <dlfcn.h>

#include "profiles.h"

/* 253 and 200 bytes. */
#define TEN "nnnnnnnnnn"
#define FIFTY TEN TEN TEN TEN TEN
#define LONG_NAME_CUT FIFTY FIFTY FIFTY FIFTY
#define LONG_NAME LONG_NAME_CUT FIFTY "nnn"

static const struct {
	const char *name, *files, *profile, *want;
} rows[] = {
	{"unknown key", "[profile a]\n  gpsu = 2\n", NULL,
	 "t.ini:2:3 unknown key 'gpsu' in [profile a]; did you mean gpus? [GM003]\n"},
	{"unknown key, no near name", "[profile a]\nfrobnicate = 2\n", NULL,
	 "t.ini:2:1 unknown key 'frobnicate' in [profile a]; start your own keys with x_ "
	 "[GM003]\n"},
	{"a key of another section", "[profile a]\ndevice = cuda:0\n", NULL,
	 "t.ini:2:1 device does not belong in [profile]; write it into [program NAME], and program "
	 "= NAME here [GM003]\n"},
	{"a condition in a profile", "[profile a]\nwhen_host = x\n", NULL,
	 "t.ini:2:1 when_host does not belong in [profile]; write it into [override NAME] "
	 "[GM003]\n"},
	{"inherit in an override", "[profile a]\n[override o]\nprofile=a\ninherit=a\n", NULL,
	 "t.ini:4:1 inherit does not belong in [override]; write it into [profile NAME] [GM003]\n"},
	{"unknown section", "[profil a]\ngpus=1\n[sweeps]\n", NULL,
	 "t.ini:1:1 unknown section [profil a]; did you mean [profile NAME]? [GM039]\n"
	 "t.ini:3:1 unknown section [sweeps]; did you mean [sweep NAME]? [GM039]\n"},
	{"a profile without its word", "[mine]\ngpus=1\n", NULL,
	 "t.ini:1:1 unknown section [mine]; did you mean [profile mine]? sections of your own "
	 "begin with x_ [GM039]\n"},
	{"a section without a name", "[profile]\ngpus=1\n", NULL,
	 "t.ini:1:1 [profile] without a name; write [profile NAME] [GM039]\n"},
	{"a name with blanks", "[profile a b]\ngpus=1\n", NULL,
	 "t.ini:1:1 no name: 'a b'; a name has no blanks, commas and * [GM039]\n"},
	{"[gpumap] with a name", "[gpumap x]\n", NULL,
	 "t.ini:1:1 [gpumap] has no name: 'x'; write [gpumap] [GM039]\n"},
	{"two heads", "[gpumap]\n[profile a]\n[gpumap]\n", NULL,
	 "t.ini:3:1 a second [gpumap]; keep one of the two [GM039]\n"},
	{"a key twice", "[profile a]\ngpus=1\ngpus=2\n", NULL,
	 "t.ini:3:1 'gpus' was given on line 2 already; keep one of the two [GM039]\n"},
	{"a variable twice", "[profile a]\n[env a]\nA=1\nA=2\n", NULL,
	 "t.ini:4:1 'A' was given on line 3 already; keep one of the two [GM039]\n"},
	{"a section twice", "[profile a]\n[profile b]\n[profile a]\n", NULL,
	 "t.ini:3:1 [profile a] stands at t.ini:1 already; keep one of the two, or give it another "
	 "name [GM039]\n"},
	{"a section twice, by include",
	 "[gpumap]\ninclude=b.ini\n[profile a]\n== b.ini\n[profile a]\n", NULL,
	 "t.ini:3:1 [profile a] stands at b.ini:1 already; keep one of the two, or give it another "
	 "name [GM039]\n"},
	{"words", "[profile a]\nmode=dpp\norder=fastest\nshare=LIST\n", NULL,
	 "t.ini:2:6 mode cannot be 'dpp'; did you mean dp? [GM002]\n"
	 "t.ini:3:7 order cannot be 'fastest'; write listed, pci, numa or nvlink [GM002]\n"
	 "t.ini:4:7 share cannot be 'LIST'; did you mean list? [GM002]\n"},
	{"numbers", "[profile a]\nranks=0\nranks_per_gpu=-1\nthreads=many\nmaster_port=70000\n",
	 NULL,
	 "t.ini:2:7 ranks cannot be '0'; write auto or a number, 1 or more [GM002]\n"
	 "t.ini:3:15 ranks_per_gpu cannot be '-1'; write a number, 1 or more [GM002]\n"
	 "t.ini:4:9 threads cannot be 'many'; write auto, keep or a number, 1 or more [GM002]\n"
	 "t.ini:5:13 master_port cannot be '70000'; write auto, job or a number from 1 to "
	 "65535 [GM002]\n"},
	{"durations", "[profile a]\nkill_grace=30 s\ntimeout=1d\n", NULL,
	 "t.ini:2:12 kill_grace cannot be '30 s'; write a time such as 10 (seconds), "
	 "500ms, 30s, 5m or 2h [GM002]\n"
	 "t.ini:3:9 timeout cannot be '1d'; write a time such as 10 (seconds), "
	 "500ms, 30s, 5m or 2h [GM002]\n"},
	{"variables where none is known yet",
	 "[profile a]\ninherit=${B:-b}\n[override o]\nprofile=${A}\n[sweep "
	 "s]\nprofile=${A}\njobs=${J}\n"
	 "x=1\n",
	 NULL,
	 "t.ini:2:9 ${ is not replaced in inherit: '${B:-b}'; write the value itself [GM002]\n"
	 "t.ini:4:9 ${ is not replaced in profile: '${A}'; write the value itself [GM002]\n"
	 "t.ini:6:9 ${ is not replaced in profile: '${A}'; write the value itself [GM002]\n"
	 "t.ini:7:6 ${ is not replaced in jobs: '${J}'; write the value itself [GM002]\n"},
	{"gpus",
	 "[profile a]\ngpus = 2, 3 ,0-3\n[profile b]\ngpus=inherit,2\n[profile "
	 "c]\ngpus=pci:zz\n[profile d]\ngpus=1,,2\n[profile e]\ngpus=2,3,2\n[profile "
	 "f]\ngpus=name:\"\"\n",
	 NULL,
	 "t.ini:2:14 gpus cannot hold '0-3'; write every number: 0,1,2,3 [GM002]\n"
	 "t.ini:4:6 gpus cannot hold 'inherit'; leave the other entries out [GM002]\n"
	 "t.ini:6:6 gpus cannot be 'pci:zz'; write inherit, all, none, free:COUNT or "
	 "GPUs: numbers, GPU-UUID, MIG-UUID, pci:0000:1b:00.0 or name:\"NVIDIA H100*\" [GM002]\n"
	 "t.ini:8:8 gpus cannot hold ''; leave the comma out [GM002]\n"
	 "t.ini:10:10 gpus: a GPU is named twice: '2'; name it once, and share it with "
	 "ranks_per_gpu = 2 [GM002]\n"
	 "t.ini:12:6 gpus cannot be 'name:\"\"'; write inherit, all, none, free:COUNT or "
	 "GPUs: numbers, GPU-UUID, MIG-UUID, pci:0000:1b:00.0 or name:\"NVIDIA H100*\" [GM002]\n"},
	{"signals", "[profile a]\nkill_signal=FOO\nforward=USR1,KILL\n", NULL,
	 "t.ini:2:13 kill_signal cannot be 'FOO'; write a signal's name, as in TERM [GM002]\n"
	 "t.ini:3:14 forward cannot hold 'KILL'; write none or names of signals that can "
	 "be caught, as in USR1,USR2 [GM002]\n"},
	{"hosts", "[profile a]\nhosts=tux[1-,b\n[profile b]\nhosts=tux*\n[profile c]\nhosts=a/b\n",
	 NULL,
	 "t.ini:2:7 hosts cannot hold 'tux[1-'; write slurm, file:FILE or names of hosts, as "
	 "in tux[08-11],gpu1 "
	 "[GM002]\n"
	 "t.ini:4:7 hosts cannot be 'tux*'; write slurm, file:FILE or names of hosts, as in "
	 "tux[08-11],gpu1 [GM002]\n"
	 "t.ini:6:7 hosts cannot be 'a/b'; write slurm, file:FILE or names of hosts, as in "
	 "tux[08-11],gpu1 [GM002]\n"},
	{"forms with a colon",
	 "[profile a]\ncpu_bind=cores:0\non_fail=restart\npass_local_rank=local_rank\n", NULL,
	 "t.ini:2:16 cpu_bind cannot hold '0'; write none, numa, cores:COUNT or list:CPUS "
	 "(COUNT: a number, 1 or more) [GM002]\n"
	 "t.ini:3:9 on_fail cannot be 'restart'; write kill, wait or restart:COUNT [GM002]\n"
	 "t.ini:4:17 pass_local_rank cannot be 'local_rank'; write yes, no or an option's "
	 "name, as in --local_rank [GM002]\n"},
	{"devices", "[program p]\ndevice=cuda:x\nset_device=cuda\ndevice_ids=0,a\n", NULL,
	 "t.ini:2:13 device cannot hold 'x'; write unknown, cuda, cpu, cuda:N or a number, "
	 "%l (the local rank), %r, %n, modulo or local-modulo [GM002]\n"
	 "t.ini:3:12 set_device cannot be 'cuda'; write a number, %l (the local rank), %r, %n, "
	 "modulo or local-modulo [GM002]\n"
	 "t.ini:4:14 device_ids cannot hold 'a'; write numbers, or %l for the local rank "
	 "[GM002]\n"},
	{"macros", "[profile a]\nlog_file=%d.log\nlog_dir=%s\nworkdir=%5h\n[env a]\nF=%H\n", NULL,
	 "t.ini:2:10 log_file: no such macro: '%d.log'; known are %r %l %n %h %j %s; write %% for "
	 "a percent sign [GM002]\n"
	 "t.ini:3:9 log_dir: %s has a meaning in log_file only: '%s'; write %% for a percent sign "
	 "[GM002]\n"
	 "t.ini:4:9 workdir: a width before h: '%5h'; only %r %l %n have one [GM002]\n"
	 "t.ini:6:3 F: no such macro: '%H'; known are %r %l %n %h %j %s; write %% for a percent "
	 "sign [GM002]\n"},
	{"variables", "[profile a]\nworkdir=${\nlog_dir = x${A:-${B}}\n[env a]\nX=${1}\n", NULL,
	 "t.ini:2:9 workdir: ${ without a }: '${'; write $${ for these two characters [GM002]\n"
	 "t.ini:3:11 log_dir: ${ inside ${...}: '${B}}'; write the text itself after :- [GM002]\n"
	 "t.ini:5:3 X: no variable: '${1}'; write ${NAME} or ${NAME:-text} [GM002]\n"},
	{"commands",
	 "[program p]\ncommand = a 'b\n[program q]\ncommand = a \\\n[program r]\ncommand = '' "
	 "b\n[program s]\ncommand = echo %d\n",
	 NULL,
	 "t.ini:2:13 a quote is not closed: ''b'; close it; \\\" is a quote inside \"...\" "
	 "[GM039]\n"
	 "t.ini:4:13 command: a backslash at the end: '\\'; write \\\\ for a backslash [GM002]\n"
	 "t.ini:6:11 command: the program's name is empty: ''' b'; name the program first [GM002]\n"
	 "t.ini:8 command: no such macro: '%d'; known are %r %l %n %h %j %s; write %% for a "
	 "percent sign [GM002]\n"},
	{"no parent", "[profile bases]\n[profile a]\ninherit=base\n", NULL,
	 "t.ini:3:9 no such profile: 'base'; did you mean bases? [GM161]\n"},
	{"two parents", "[profile a]\n[profile b]\n[profile c]\ninherit=a,b\n", NULL,
	 "t.ini:4:9 inherit cannot be 'a,b'; write one name, without blanks [GM002]\n"},
	{"a circle",
	 "[profile a]\ninherit=c\n[profile b]\ninherit=a\n[profile c]\ninherit = b\n[profile "
	 "d]\ninherit=a\n",
	 NULL,
	 "t.ini:2:9 profiles inherit in a circle: a (t.ini:2), c (t.ini:6), b (t.ini:4), a; take "
	 "one of these inherit lines out [GM160]\n"},
	{"its own parent", "[profile a]\ninherit=a\n", NULL,
	 "t.ini:2:9 profiles inherit in a circle: a (t.ini:2), a; take one of these inherit lines "
	 "out [GM160]\n"},
	{"a circle over files",
	 "[gpumap]\ninclude=b.ini\n[profile a]\ninherit=b\n== b.ini\n[profile b]\ninherit=a\n",
	 NULL,
	 "b.ini:2:9 profiles inherit in a circle: b (b.ini:2), a (t.ini:4), b; take one of these "
	 "inherit lines out [GM160]\n"},
	{"a long chain",
	 "[profile a]\n[profile b]\ninherit=a\n[profile c]\ninherit=b\n[profile "
	 "d]\ninherit=c\n[profile e]\ninherit=d\n[profile f]\ninherit=e\n[profile "
	 "g]\ninherit=f\n[profile h]\ninherit=g\n[profile i]\ninherit=h\n[profile j]\ninherit=i\n",
	 NULL,
	 "t.ini:17:9 a chain of more than 8 profiles; inherit from a profile nearer to the root "
	 "[GM005]\n"},
	{"no such profile", "[profile train]\n", "trian",
	 "t.ini no such profile: 'trian'; did you mean train? profiles: train [GM161]\n"},
	{"no such profile of several", "[profile train]\n[profile test]\n[env test]\n", "zzz",
	 "t.ini no such profile: 'zzz'; profiles: train, test [GM161]\n"},
	{"no profile at all", "[program a]\n", "zzz",
	 "t.ini no such profile: 'zzz'; write a [profile zzz] [GM161]\n"},
	{"no such default", "[gpumap]\ndefault = x\n[profile a]\n", NULL,
	 "t.ini:2:11 no such profile: 'x'; profiles: a [GM161]\n"},
	{"no such program", "[profile a]\nprogram=trianer\n[program trainer]\n", NULL,
	 "t.ini:2:9 no such program: 'trianer'; did you mean trainer? [GM161]\n"},
	{"a program's file", "[profile a]\nprogram=train.py\n", NULL,
	 "t.ini:2:9 no such program: 'train.py'; write command = train.py into a [program NAME], "
	 "and program = NAME here [GM161]\n"},
	{"a key of another launcher", "[profile a]\nnproc_per_node=2\n", NULL,
	 "t.ini:2:1 unknown key 'nproc_per_node' in [profile a]; write ranks = N [GM003]\n"},
	{"hours of Slurm", "[profile a]\ntimeout = 2:00:00\n", NULL,
	 "t.ini:2:11 timeout cannot be '2:00:00'; write timeout = 2h [GM002]\n"},
	{"minutes of Slurm", "[profile a]\ntimeout = 90:00\n", NULL,
	 "t.ini:2:11 timeout cannot be '90:00'; write timeout = 90m [GM002]\n"},
	{"seconds of Slurm", "[profile a]\nkill_grace = 1:30\n", NULL,
	 "t.ini:2:14 kill_grace cannot be '1:30'; write kill_grace = 90s [GM002]\n"},
	{"days of Slurm", "[profile a]\ntimeout = 1-12\n", NULL,
	 "t.ini:2:11 timeout cannot be '1-12'; write timeout = 36h [GM002]\n"},
	{"days, hours and minutes of Slurm", "[profile a]\ntimeout = 1-12:30\n", NULL,
	 "t.ini:2:11 timeout cannot be '1-12:30'; write timeout = 2190m [GM002]\n"},
	{"no time of Slurm", "[profile a]\ntimeout = 1:75\n", NULL,
	 "t.ini:2:11 timeout cannot be '1:75'; write a time such as 10 (seconds), "
	 "500ms, 30s, 5m or 2h [GM002]\n"},
	{"too many parts", "[profile a]\ntimeout = 1:0:0:0\n", NULL,
	 "t.ini:2:11 timeout cannot be '1:0:0:0'; write a time such as 10 (seconds), "
	 "500ms, 30s, 5m or 2h [GM002]\n"},
	{"a host with slots", "[profile a]\nhosts = tux1:8\n", NULL,
	 "t.ini:2:9 hosts cannot be 'tux1:8'; write hosts = tux1 and ranks = 8, and inventory = 8 "
	 "if each host has 8 GPUs [GM002]\n"},
	{"hosts with slots", "[profile a]\nhosts = tux[1,3]:8, gpu1*8\n", NULL,
	 "t.ini:2:9 hosts cannot hold 'tux[1,3]:8'; write hosts = tux[1,3],gpu1 and ranks = 8, and "
	 "inventory = 8 if each host has 8 GPUs [GM002]\n"},
	{"hosts with other slots", "[profile a]\nhosts = tux1:8,tux2:4\n", NULL,
	 "t.ini:2:9 hosts cannot hold 'tux1:8'; write hosts = file:FILE, with a line HOST slots=N "
	 "in FILE for each host [GM002]\n"},
	{"no host with slots", "[profile a]\nhosts = tu_/1:8\n", NULL,
	 "t.ini:2:9 hosts cannot be 'tu_/1:8'; write slurm, file:FILE or names of hosts, as "
	 "in tux[08-11],gpu1 [GM002]\n"},
	{"a condition by another name", "[override a]\nprofile = *\nnodes = 0\n", NULL,
	 "t.ini:3:1 unknown key 'nodes' in [override a]; write when_node = 0,2-3 [GM003]\n"},
	{"a condition by its variable", "[override a]\nprofile = *\nlocal_rank = 0\n", NULL,
	 "t.ini:3:1 unknown key 'local_rank' in [override a]; write when_local_rank = 0,2-3 "
	 "[GM003]\n"},
	{"a condition on hosts", "[override a]\nprofile = *\nhost = tux1\n", NULL,
	 "t.ini:3:1 unknown key 'host' in [override a]; write when_host = HOST-PATTERN,... "
	 "[GM003]\n"},
	{"a key of another launcher in [program]", "[program a]\nnproc_per_node=2\n", NULL,
	 "t.ini:2:1 unknown key 'nproc_per_node' in [program a]; write ranks = N into [profile "
	 "NAME] [GM003]\n"},
	{"a key of others in [program]", "[program a]\nscript=train.py\n", NULL,
	 "t.ini:2:1 unknown key 'script' in [program a]; write command = PROGRAM ARGUMENT... into "
	 "[program NAME], and program = NAME into [profile NAME] [GM003]\n"},
	{"no profile of an environment", "[profile a]\n[env b]\nX=1\n[unset long-name]\n", NULL,
	 "t.ini:2:1 [env b] has no [profile b]; write a [profile b] [GM161]\n"
	 "t.ini:4:1 [unset long-name] has no [profile long-name]; write a [profile long-name] "
	 "[GM161]\n"},
	{"an override of no profile",
	 "[profile a]\n[override o]\ngpus=1\n[override p]\nprofile=b\n", NULL,
	 "t.ini:2:1 [override o] does not name the profile that it changes; write profile = NAME, "
	 "or * "
	 "for every one [GM164]\n"
	 "t.ini:5:9 no such profile: 'b'; write a [profile b] [GM161]\n"},
	{"an override finer than its key",
	 "[profile a]\n[override "
	 "o]\nprofile=a\nwhen_host=x\nwhen_rank=0\nhosts=y\ngpus=1\nworkdir=/\n",
	 NULL,
	 "t.ini:6:7 hosts cannot depend on when_rank; it is the same for the whole job [GM164]\n"
	 "t.ini:7:6 gpus cannot depend on when_rank; it is the same for all ranks of a host "
	 "[GM164]\n"},
	{"conditions",
	 "[profile a]\n[override o]\nprofile=a\nwhen_rank=x\nwhen_node=5-2\nwhen_host=[\n", NULL,
	 "t.ini:4:11 when_rank cannot be 'x'; write numbers, as in 0,2-5 [GM002]\n"
	 "t.ini:5:11 when_node cannot be '5-2'; write numbers, as in 0,2-5 [GM002]\n"
	 "t.ini:6:11 when_host cannot be '['; write names of hosts, as in tux[00-03],gpu* "
	 "[GM002]\n"},
	{"hosts of conditions and of jobs",
	 "[profile a]\nhosts = n1,gpu*\n[override o]\nprofile=a\n"
	 "when_host = tux, n[1-2]-bmc, b\n[override p]\nprofile=a\nwhen_host = a:b\n"
	 "[override q]\nprofile=a\nwhen_host = n1,tux[00-\n",
	 NULL,
	 "t.ini:2:12 hosts cannot hold 'gpu*'; write slurm, file:FILE or names of hosts, as "
	 "in tux[08-11],gpu1 "
	 "[GM002]\n"
	 "t.ini:5:18 when_host cannot hold 'n[1-2]-bmc'; write names of hosts, as in "
	 "tux[00-03],gpu* [GM002]\n"
	 "t.ini:8:13 when_host cannot be 'a:b'; write names of hosts, as in tux[00-03],gpu* "
	 "[GM002]\n"
	 "t.ini:11:16 when_host cannot hold 'tux[00-'; write names of hosts, as in "
	 "tux[00-03],gpu* [GM002]\n"},
	{"a condition on more hosts than there may be",
	 "[profile a]\n[override o]\nprofile=a\nwhen_host = a[1-60000]\n"
	 "[override p]\nprofile=b\nwhen_host = x, b[1-60000]\n[profile b]\n",
	 "a",
	 "t.ini:7:13 more than 100000 hosts in the conditions of overrides; name fewer, or by a "
	 "pattern as in tux* [GM005]\n"},
	{"a condition on a name that is too long",
	 "[profile a]\n[override o]\nprofile=a\nwhen_host = " LONG_NAME "[1]\n", NULL,
	 "t.ini:4:13 when_host cannot be '" LONG_NAME_CUT
	 "...'; names have at most 253 characters [GM002]\n"},
	{"refused variables",
	 "[profile a]\n[env "
	 "a]\nCUDA_VISIBLE_DEVICES=1\nCUDA_DEVICE_ORDER=x\nRANK=0\nMASTER_PORT=1\nOMPI_COMM_WORLD_"
	 "RANK=1\n[unset a]\nLOCAL_RANK=\nX=1\nA.B=\n",
	 NULL,
	 "t.ini:3:1 CUDA_VISIBLE_DEVICES cannot stand in [env a]; set gpus and share in [profile "
	 "NAME] [GM163]\n"
	 "t.ini:4:1 CUDA_DEVICE_ORDER cannot stand in [env a]; set ids in [profile NAME] "
	 "[GM163]\n"
	 "t.ini:5:1 RANK cannot stand in [env a]; leave it out: gpumap sets it for each rank "
	 "[GM163]\n"
	 "t.ini:6:1 MASTER_PORT cannot stand in [env a]; set master_port in [profile NAME] "
	 "[GM163]\n"
	 "t.ini:7:1 OMPI_COMM_WORLD_RANK cannot stand in [env a]; leave it out: gpumap sets it for "
	 "each rank [GM163]\n"
	 "t.ini:9:1 LOCAL_RANK cannot stand in [unset a]; leave it out: gpumap sets it for each "
	 "rank [GM163]\n"
	 "t.ini:10:3 [unset] takes no value: '1'; leave the value out, or write it into [env NAME] "
	 "[GM039]\n"
	 "t.ini:11:1 no name of a variable: 'A.B'; it has letters, digits and _ alone, and begins "
	 "with no digit [GM039]\n"},
	{"set and unset", "[profile a]\n[env a]\nX=1\n[unset a]\nX=\n", NULL,
	 "t.ini:5:1 X is set at t.ini:3; keep one of the two [GM039]\n"},
	{"no file", "[gpumap]\ninclude = none.ini\n", NULL,
	 "t.ini:2:11 cannot include 'none.ini'; a ? before the name lets it be absent [GM006]\n"},
	{"an include of nothing", "[gpumap]\ninclude = a.ini,\n== a.ini\n[profile a]\n", NULL,
	 "t.ini:2:17 include cannot hold ''; write names of files [GM002]\n"},
	{"a file in itself", "[gpumap]\ninclude = t.ini\n", NULL,
	 "t.ini:2:11 files include each other in a circle: t.ini:2; take one of these includes out "
	 "[GM160]\n"},
	{"files in a circle",
	 "[gpumap]\ninclude = b.ini\n== b.ini\n[gpumap]\n\ninclude = c.ini\n== "
	 "c.ini\n[gpumap]\ninclude = b.ini\n",
	 NULL,
	 "c.ini:2:11 files include each other in a circle: c.ini:2, b.ini:3; take one of these "
	 "includes out [GM160]\n"},
	{"errors of all files",
	 "[gpumap]\ninclude=b.ini\n[profile a]\nmode=x\nnoequals\n== b.ini\n[profile b]\nids=y\n",
	 NULL,
	 "b.ini:2:5 ids cannot be 'y'; write uuid or index [GM002]\n"
	 "t.ini:4:6 mode cannot be 'x'; write single, dp, ddp or mp [GM002]\n"
	 "t.ini:5:1 no '=' in 'noequals'; write key = value, or [section] [GM039]\n"},
	{"schemas", "[gpumap]\nschema = 2\nnew = 1\n[news]\n", NULL,
	 "t.ini:2:10 schema 2 is newer than this gpumap, which knows 1; use a newer gpumap "
	 "[GM002]\n"},
	{"no schema", "[gpumap]\nschema = one\n", NULL,
	 "t.ini:2:10 no such schema: 'one'; write schema = 1 [GM002]\n"},
	{"sweeps",
	 "[profile a]\n[sweep s]\n[sweep t]\nprofile=b\nx=1,,2\n[sweep "
	 "u]\nprofile=a\njobs=0\ny=\nz=${A}\n",
	 NULL,
	 "t.ini:5:3 x has an empty entry: '1,,2'; write values between commas, \"\" for an empty "
	 "one [GM002]\n"
	 "t.ini:8:6 jobs cannot be '0'; write a number, 1 or more [GM002]\n"
	 "t.ini:9:3 y has an empty entry: ''; write values between commas, \"\" for an empty one "
	 "[GM002]\n"
	 "t.ini:10:3 ${ is not replaced in [sweep]: '${A}'; write the values themselves [GM002]\n"
	 "t.ini:2:1 [sweep s] does not name the profile that it runs; write profile = NAME "
	 "[GM039]\n"
	 "t.ini:4:9 no such profile: 'b'; write a [profile b] [GM161]\n"},
	{"too many combinations",
	 "[profile a]\n[sweep "
	 "s]\nprofile=a\na=1,2,3,4,5,6,7,8,9\nb=1,2,3,4,5,6,7,8,9\nc=1,2,3,4,5,6,7,8,9\nd=1,2,3,4,"
	 "5,6,7,8,9\ne=1,2,3,4,5,6,7,8,9\nf=1,2,3,4,5,6,7,8,9\n",
	 NULL,
	 "t.ini:2:1 [sweep s] has more than 65536 combinations; make several sweeps of it "
	 "[GM005]\n"},
	{"hostile bytes", "[profile a]\nworkdir=\001\033[2J\nlog_dir=\377\n[profile \"x]\n", NULL,
	 "t.ini:2:9 a control character (\\x01); remove it, or write it as \\xNN inside \"...\" "
	 "[GM039]\n"
	 "t.ini:3:9 not UTF-8: the byte \\xff; save the file as UTF-8 [GM039]\n"},
};

static char *refusal(int row)
{
	gpumap_report *report;
	gpumap_profile *p = NULL;
	char *got;
	int r;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	r = load_files(&p, rows[row].files, rows[row].profile, report);
	got = findings_text(report);
	ck_assert_msg(r == GPUMAP_EINPUT || r == GPUMAP_ELIMIT, "%s: gives %d", rows[row].name, r);
	ck_assert_ptr_null(p);
	gpumap_report_free(report);
	return got;
}

START_TEST(bad)
{
	char *got = refusal(_i);

	ROW_EQ_STR(rows[_i].name, got, rows[_i].want);
	free(got);
}
END_TEST

/* The same under settings of inih that would lose lines, names and long values. */
START_TEST(other_inih)
{
	static const char *const off[] = {"ini_allow_multiline", "ini_allow_inline_comments",
					  "ini_allow_bom"};
	int *max = dlsym(RTLD_DEFAULT, "ini_max_line");

	for (size_t i = 0; i < ARRAY_SIZE(off); i++) {
		bool *flag = dlsym(RTLD_DEFAULT, off[i]);

		if (flag)
			*flag = false;
	}
	if (max)
		*max = 24;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *got = refusal((int)i);

		ROW_EQ_STR(rows[i].name, got, rows[i].want);
		free(got);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("profile-bad");
	TCase *tests = tcase_create("profile-bad");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, bad, 0, ARRAY_SIZE(rows));
	tcase_add_test(tests, other_inih);
	return unit_run(suite);
}
