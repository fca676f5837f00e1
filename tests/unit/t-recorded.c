/* SPDX-License-Identifier: MIT */
/* Each format of recorded text, and the ways in which pasting spoils it. */
#include "recorded.h"

#define LIST_0 "GPU 0: NVIDIA X1 (UUID: GPU-" U0 ")\n"
#define LIST_1 "GPU 1: NVIDIA X1 (UUID: GPU-" U1 ")\n"
#define GOT_0 "0 uuid=GPU-" U0 " name=NVIDIA X1;"
#define GOT_1 "1 uuid=GPU-" U1 " name=NVIDIA X1;"

static const struct recorded_row list_rows[] = {
	{"plain", LIST_0 LIST_1, 0, GOT_0 GOT_1, NULL, 0},
	{"prompts", "$ nvidia-smi -L\n" LIST_0 "[me@host ~]$ \n", 0, GOT_0, NULL, 0},
	{"root", "(env) root@host:~# nvidia-smi -L\n" LIST_0, 0, GOT_0, NULL, 0},
	{"quoted", "> GPUs:\n> " LIST_0 "> " LIST_1, 0, GOT_0 GOT_1, NULL, 0},
	{"comment", "# " LIST_0, 0, GOT_0, NULL, 0},
	{"grep", "job.sh:12:# " LIST_0, 0, GOT_0, NULL, 0},
	{"log", "2026-01-02T03:04:05Z [rank 0] " LIST_0, 0, GOT_0, NULL, 0},
	{"srun -l", "0: " LIST_0 "0: " LIST_1, 0, GOT_0 GOT_1, NULL, 0},
	{"colours", "\033[1;32mGPU 0: NVIDIA X1\033[0m (UUID: GPU-" U0 ")\n", 0, GOT_0, NULL, 0},
	{"CRLF", "GPU 0: NVIDIA X1 (UUID: GPU-" U0 ")\r\n", 0, GOT_0, NULL, 0},
	{"CRCRLF", "GPU 0: NVIDIA X1 (UUID: GPU-" U0 ")\r\r\n", 0, GOT_0, NULL, 0},
	{"old Mac", "x\rGPU 0: NVIDIA X1 (UUID: GPU-" U0 ")\r", 0, GOT_0, NULL, 0},
	{"mark", "\xef\xbb\xbf" LIST_0, 0, GOT_0, NULL, 0},
	{"no newline", "GPU 0: NVIDIA X1 (UUID: GPU-" U0 ")", 0, GOT_0, NULL, 0},
	{"newlines lost", "GPU 0: NVIDIA X1 (UUID: GPU-" U0 ") GPU 1: NVIDIA X1 (UUID: GPU-" U1 ")",
	 0, GOT_0 GOT_1, NULL, 0},
	{"twice", LIST_0 LIST_1 LIST_0 LIST_1, 0, GOT_0 GOT_1, NULL, 0},
	{"out of order", LIST_1 LIST_0, 0, GOT_0 GOT_1, NULL, 0},
	{"name in brackets", "GPU 0: Orin (nvgpu) (UUID: " U0 ")\n", 0,
	 "0 uuid=" U0 " name=Orin (nvgpu);", NULL, 0},
	{"other lines", LIST_0 "CUDA_VISIBLE_DEVICES=0\n0: 10 MiB / 20 MiB used\n", 0, GOT_0, NULL,
	 0},
	{"bad UTF-8 in a name", "GPU 0: X\xff (UUID: GPU-" U0 ")\n", 0,
	 "0 uuid=GPU-" U0 " name=X\\xff;", NULL, 0},
	{"MIG new", LIST_0 "  MIG 1g.10gb     Device  0: (UUID: MIG-" U1 ")\n", 0,
	 "0 uuid=GPU-" U0 " name=NVIDIA X1 mode=1 ( profile=1g.10gb uuid=MIG-" U1 " );", NULL, 0},
	{"MIG legacy", LIST_0 "  MIG 1c.2g.10gb+me Device 0: (UUID: MIG-GPU-" U0 "/7/1)\n", 0,
	 "0 uuid=GPU-" U0 " name=NVIDIA X1 mode=1 ( profile=1c.2g.10gb+me uuid=MIG-GPU-" U0
	 "/7/1 gi=7 ci=1 );",
	 NULL, 0},
	{"MIG without profile", LIST_0 "  MIG Device 0: (UUID: MIG-GPU-" U0 "/1/0)\n", 0,
	 "0 uuid=GPU-" U0 " name=NVIDIA X1 mode=1 ( uuid=MIG-GPU-" U0 "/1/0 gi=1 ci=0 );", NULL, 0},
	{"MIG twice",
	 LIST_0 "  MIG Device 0: (UUID: MIG-" U1 ")\n" LIST_0 "  MIG Device 0: (UUID: MIG-" U1
		")\n",
	 0, "0 uuid=GPU-" U0 " name=NVIDIA X1 mode=1 ( uuid=MIG-" U1 " );", NULL, 0},
	{"nvlink -s",
	 LIST_0 "\t Link 0: 25 GB/s\n\t Link 1: <inactive>\n" LIST_1
		"NVML: Unable to retrieve NVLink information as all links are inActive\n",
	 0, GOT_0 GOT_1, NULL, 0},
};

#define HEAD "| NVIDIA-SMI 550.54.14   Driver Version: 550.54.14   CUDA Version: 12.4  |\n"
#define ROW_0 "|   0  NVIDIA X1        On  | 00000000:07:00.0 Off |        0 |\n"
#define ROW_0B "| N/A   25C    P0  9W / 99W |    1MiB /  8192MiB   | 0% Default |\n"
#define ROW_1 "|   1  NVIDIA Long Na...  Off  |   00000000:0F:00.0 Off |    0 |\n"
#define ROW_MODE "|                       |                  | Enabled |\n"
#define RULE "+-----------------+--------------+-------------+\n"
#define TAIL \
	"\n" RULE "| Processes:                             |\n| No running processes found |\n"
#define GOT_ROW_0 "0 pci=0000:07:00.0 name=NVIDIA X1 mib=8192"

static const struct recorded_row table_rows[] = {
	{"plain", RULE HEAD RULE ROW_0 ROW_0B RULE ROW_1 RULE TAIL, 0,
	 GOT_ROW_0 ";1 pci=0000:0f:00.0 name=NVIDIA Long Na...;", NULL, 0},
	{"MIG mode", HEAD ROW_0 ROW_0B ROW_MODE TAIL, 0, GOT_ROW_0 " mode=1;", NULL, 0},
	{"indented and quoted", "  > " ROW_0 "  > " ROW_0B "  > " TAIL, 0, GOT_ROW_0 ";", NULL, 0},
	{"one line",
	 "| NVIDIA-SMI 5.1 ||----+----||   0  NVIDIA X1  On | 0000:07:00.0 Off | 0 || N/A | 1MiB / "
	 "8192MiB | 0% |+----+----+| Processes: |",
	 0, GOT_ROW_0 ";", NULL, 0},
	{"blanks collapsed", "| 0 NVIDIA X1 WDDM | 7:00.0 Off | 0 |\n" ROW_0B TAIL, 0,
	 GOT_ROW_0 ";", NULL, 0},
	{"-L first, full names", LIST_0 HEAD "|   0  NVIDI...  On | 07:00.0 Off | 0 |\n" TAIL, 0,
	 "0 uuid=GPU-" U0 " pci=0000:07:00.0 name=NVIDIA X1;", NULL, 0},
	{"-L last, full names", "|   0  NVIDI...  On | 07:00.0 Off | 0 |\n" TAIL LIST_0, 0,
	 "0 uuid=GPU-" U0 " pci=0000:07:00.0 name=NVIDIA X1;", NULL, 0},
	{"MIG box",
	 ROW_0 ROW_0B "| MIG devices: |\n|  0    7   0   3  | 26MiB / 9984MiB | 60  0 |\n"
		      "|                  | 0MiB /  6184MiB | |\n" TAIL,
	 0, GOT_ROW_0 " mode=1 ( gi=7 ci=0 mib=9984 );", NULL, 0},
	{"cut", HEAD ROW_0 ROW_0B RULE, 0, GOT_ROW_0 ";",
	 "the inventory may be incomplete: the table ends after GPU 0, without the box of "
	 "processes",
	 4},
	{"start cut", ROW_0B RULE ROW_1 TAIL, 0, "1 pci=0000:0f:00.0 name=NVIDIA Long Na...;",
	 "the inventory may be incomplete: the table starts in the middle of a GPU", 0},
	{"a hole", ROW_1 TAIL, 0, "1 pci=0000:0f:00.0 name=NVIDIA Long Na...;",
	 "the inventory may be incomplete: GPU 0 is missing before GPU 1", 0},
	{"processes", ROW_0 TAIL "|    0   N/A  N/A   7   C   a|b|c   9MiB |\n", 0,
	 "0 pci=0000:07:00.0 name=NVIDIA X1;", NULL, 0},
};

#define GUESSED "the inventory may be incomplete: a column without a name is taken for the index"

static const struct recorded_row csv_rows[] = {
	{"header",
	 "index, name, pci.bus_id, memory.total [MiB]\n0, NVIDIA X1, 00000000:07:00.0, 8192 MiB\n",
	 0, GOT_ROW_0 ";", NULL, 0},
	{"no units", "index, memory.total [MiB]\n0, 8192\n", 0, "0 mib=8192;", NULL, 0},
	{"other columns",
	 "timestamp, uuid, mig.mode.current, index\n2026/01/02 03:04:05.678, GPU-" U0
	 ", Enabled, 3\n",
	 0, "3 uuid=GPU-" U0 " mode=1;",
	 "the inventory may be incomplete: GPU 0 is missing before GPU 3", 0},
	{"comment", "\t# index, uuid\n\t# 0, GPU-" U0 "\n", 0, "0 uuid=GPU-" U0 ";", NULL, 0},
	{"labelled rows", "index, uuid\n0: 0, GPU-" U0 "\n", 0, "0 uuid=GPU-" U0 ";", NULL, 0},
	{"quoted fields", "\"index\",\"uuid\"\n\"0\",\"GPU-" U0 "\"\n", 0, "0 uuid=GPU-" U0 ";",
	 NULL, 0},
	{"no header", "0, NVIDIA X1, GPU-" U0 ", 35, 6 MiB, 8192 MiB\n", 0,
	 "0 uuid=GPU-" U0 " name=NVIDIA X1 mib=8192;", NULL, 0},
	{"no header, one size", "0, NVIDIA X1, GPU-" U0 ", 6 MiB\n", 0, GOT_0, NULL, 0},
	{"no header, a command",
	 "$ nvidia-smi --query-gpu=index,memory.total --format=csv,noheader\n0, 8192 MiB\n", 0,
	 "0 mib=8192;", NULL, 0},
	{"no header, the index last", "X1, GPU-" U0 ", 3\nX1, GPU-" U1 ", 5\n", 0,
	 "3 uuid=GPU-" U0 ";5 uuid=GPU-" U1 ";", GUESSED, 0},
	{"no header, the index after memory", "32510, 3, GPU-" U0 "\n32510, 5, GPU-" U1 "\n", 0,
	 "3 uuid=GPU-" U0 ";5 uuid=GPU-" U1 ";", GUESSED, 0},
	{"no header, one row of numbers", "32510, 0, GPU-" U0 ", 0, 3\n", 0, "-1 uuid=GPU-" U0 ";",
	 UNNUMBERED, 0},
	{"no header, equal numbers", "0, GPU-" U0 ", 0\n1, GPU-" U1 ", 1\n", 0,
	 "0 uuid=GPU-" U0 ";1 uuid=GPU-" U1 ";", NULL, 0},
	{"no header, a temperature first", "35, GPU-" U0 ", 0\n36, GPU-" U1 ", 1\n", 0,
	 "0 uuid=GPU-" U0 ";1 uuid=GPU-" U1 ";", NULL, 0},
	{"no header, a cold GPU", "25, GPU-" U0 ", 0\n26, GPU-" U1 ", 1\n", 0,
	 "-1 uuid=GPU-" U0 ";-1 uuid=GPU-" U1 ";", UNNUMBERED, 0},
	{"no header, one load for two", "0, GPU-" U0 ", 1\n0, GPU-" U1 ", 2\n", 0,
	 "1 uuid=GPU-" U0 ";2 uuid=GPU-" U1 ";", GUESSED, 0},
	{"no header, a loop", "0, GPU-" U0 ", 7\n1, GPU-" U1 ", 8\n0, GPU-" U0 ", 9\n", 0,
	 "0 uuid=GPU-" U0 ";1 uuid=GPU-" U1 ";", NULL, 0},
	{"no header, a row without the number", "1, GPU-" U0 ", 0\n[N/A], GPU-" U1 ", 1\n", 0,
	 "0 uuid=GPU-" U0 ";1 uuid=GPU-" U1 ";", NULL, 0},
	{"no header, no number", "X1, GPU-" U0 "\nX1, GPU-" U1 "\n", 0,
	 "-1 uuid=GPU-" U0 ";-1 uuid=GPU-" U1 ";", UNNUMBERED, 0},
	{"no header, an address and no number", "7:00.0\n", GPUMAP_EINPUT, NULL,
	 "the format is not known", 0},
	{"no header, addresses", "0000:08:00.0, 40\n0000:07:00.0, 41\n", 0,
	 "-1 pci=0000:08:00.0;-1 pci=0000:07:00.0;", NULL, 0},
	{"no header, addresses out of order", "3, 0000:08:00.0\n1, 0000:07:00.0\n", 0,
	 "-1 pci=0000:08:00.0;-1 pci=0000:07:00.0;", UNNUMBERED, 0},
	{"no header, numbers that fall", "1, GPU-" U0 "\n0, GPU-" U1 "\n", 0,
	 "-1 uuid=GPU-" U0 ";-1 uuid=GPU-" U1 ";", UNNUMBERED, 0},
	{"no header, numbers that fall beside the index",
	 "7, GPU-" U0 ", 0\n5, GPU-" U1 ", 1\n7, GPU-" U0 ", 0\n", 0,
	 "0 uuid=GPU-" U0 ";1 uuid=GPU-" U1 ";", NULL, 0},
	{"no header, addresses and two numbers", "0000:08:00.0, 4, 2\n0000:07:00.0, 5, 1\n", 0,
	 "-1 pci=0000:08:00.0;-1 pci=0000:07:00.0;", UNNUMBERED, 0},
	{"no header, 17 numbers", "GPU-" U0 ",1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1\n", 0,
	 "-1 uuid=GPU-" U0 ";", UNNUMBERED, 0},
	{"no header, a list contradicts",
	 LIST_0 LIST_1 "1, GPU-" U0 ", 5 MiB, 9 MiB\n0, GPU-" U1 ", 5 MiB, 9 MiB\n", 0,
	 "0 uuid=GPU-" U0 " name=NVIDIA X1 mib=9;1 uuid=GPU-" U1 " name=NVIDIA X1 mib=9;", NULL, 0},
	{"blank lines", "temperature.gpu, uuid, index\n\n35, GPU-" U0 ", 0\n\n35, GPU-" U1 ", 1\n",
	 0, "0 uuid=GPU-" U0 ";1 uuid=GPU-" U1 ";", NULL, 0},
	{"blank lines, names", "name\nNVIDIA X1\n\nNVIDIA X2\n", 0,
	 "-1 name=NVIDIA X1;-1 name=NVIDIA X2;", UNNUMBERED, 0},
	{"a blank line, another header",
	 "index, name\n0, NVIDIA X1\n\nmemory.total [MiB], index\n9 MiB, 0\n", 0,
	 "0 name=NVIDIA X1 mib=9;", NULL, 0},
	{"a blank line, rows without a header",
	 "index, name\n0, NVIDIA X1\n\n1, GPU-" U1 ", 5 MiB, 9 MiB\n", 0,
	 "0 name=NVIDIA X1;1 uuid=GPU-" U1 " mib=9;", GUESSED, 0},
	{"processes, then rows without a header",
	 "gpu_uuid, pid\nGPU-" U1 ", 7\n\n0, X1, GPU-" U0 "\n", 0, "0 uuid=GPU-" U0 ";", NULL, 0},
	{"processes and a blank line", LIST_0 "gpu_uuid, pid\n\nGPU-" U1 ", 7\n", 0, GOT_0, NULL,
	 0},
	{"UUIDs alone", "uuid\nGPU-" U1 "\nGPU-" U0 "\n", 0,
	 "-1 uuid=GPU-" U1 ";-1 uuid=GPU-" U0 ";", UNNUMBERED, 0},
	{"names alone", "name\nNVIDIA X1\nNVIDIA X2\nother\n", 0,
	 "-1 name=NVIDIA X1;-1 name=NVIDIA X2;", UNNUMBERED, 0},
	{"names to a list", LIST_0 "name, memory.total [MiB]\nNVIDIA X1, 8192 MiB\n", 0,
	 "0 uuid=GPU-" U0 " name=NVIDIA X1 mib=8192;", NULL, 0},
	{"processes", LIST_0 "gpu_uuid, pid\nGPU-" U1 ", 77\n", 0, GOT_0, NULL, 0},
	{"no values", "index, uuid, memory.total [MiB]\n0, [N/A], [N/A]\n", 0, "0;", NULL, 0},
	{"an error", "index, memory.total [MiB]\n0, [Unknown Error]\n", 0, "0;",
	 "the inventory may be incomplete: a row has '[Unknown Error]'", 2},
	{"cut", "index, uuid, name\n0, GPU-" U0 ", NVIDIA X1\n1, GPU-1a2b3c", 0, GOT_0 "1;",
	 "the inventory may be incomplete: the last row is cut: '1, GPU-1a2b3c'", 3},
	{"unit cut", "index, memory.total [MiB]\n0, 8192 MiB\n1, 819", 0, "0 mib=8192;1;",
	 "the inventory may be incomplete: the last row is cut: '1, 819'", 3},
	{"a loop", "index, uuid\n0, GPU-" U0 "\n0, GPU-" U0 "\n", 0, "0 uuid=GPU-" U0 ";", NULL, 0},
	{"count", "count, index\n2, 0\n", 0, "0;",
	 "the inventory may be incomplete: a row counts 2 GPUs, but only 1 are listed", 0},
};

static const struct recorded_row topo_rows[] = {
	{"tabs",
	 "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
	 "GPU0\t X \tNV4\tSYS\t0-3\t0\t\tN/A\nGPU1\tNV4\t X \tSYS\t4-7\t1\t\tN/A\n"
	 "NIC0\tSYS\tSYS\t X \t\t\t\t\n",
	 0, "0 numa=0 cpus=0-3 links=1;1 numa=1 cpus=4-7 links=0;", NULL, 0},
	{"empty cells", "\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \t\t1\t\tN/A\n",
	 0, "0 numa=1 links=;", NULL, 0},
	{"blanks",
	 "      GPU0  GPU1  CPU Affinity  NUMA Affinity\n"
	 "GPU0   X    NV12  0-3           0\nGPU1  NV12   X    4-7           1\n",
	 0, "0 numa=0 cpus=0-3 links=1;1 numa=1 cpus=4-7 links=0;", NULL, 0},
	{"blanks, empty cells",
	 "      GPU0  CPU Affinity  NUMA Affinity\n"
	 "GPU0   X                  0\n",
	 0, "0 numa=0 links=;", NULL, 0},
	{"glued",
	 "\t    GPU0GPU1mlx5_0\tCPU Affinity\nGPU0\t X \tNV2SYS\t1-1\nGPU1\tNV2 X SYS\t1-1\n", 0,
	 "0 cpus=1-1 links=1;1 cpus=1-1 links=0;", NULL, 0},
	{"no header", "GPU0  X  PHB  0-3  N/A\nGPU1  PHB  X  0-3  N/A\n", 0,
	 "0 cpus=0-3 links=;1 cpus=0-3 links=;", NULL, 0},
	{"ESC lost", "\t[4mGPU0\tCPU Affinity[0m\nGPU0\t X \t0-3\n", 0, "0 cpus=0-3 links=;", NULL,
	 0},
	{"grep", "a/b.sh:# \tGPU0\tCPU Affinity\tNUMA Affinity\na/b.sh:# GPU0\t X \t0-3\t2\n", 0,
	 "0 numa=2 cpus=0-3 links=;", NULL, 0},
	{"rows missing", "\tGPU0\tGPU1\nGPU0\t X \tSYS\n", 0, "0 links=;",
	 "the inventory may be incomplete: the topology's heading names 2 GPUs, but only 1 rows "
	 "follow",
	 0},
	{"row cut", "\tGPU0\tGPU1\nGPU0\t X \tNV1\nGPU1\tNV", 0, "0 links=1;",
	 "the inventory may be incomplete: the topology's heading names 2 GPUs, but only 1 rows "
	 "follow",
	 0},
	{"after a list", LIST_0 "\tGPU0\tCPU Affinity\nGPU0\t X \t0-3\n", 0,
	 "0 uuid=GPU-" U0 " name=NVIDIA X1 cpus=0-3 links=;", NULL, 0},
};

/* Two parts that name one GPU differently, until a third one joins them. */
#define JOIN "uuid, pci.bus_id\nGPU-" U0 ", 00000000:07:00.0\n"
#define MIG_BOX "| MIG devices: |\n|  0    7   0   3  | 26MiB / 9984MiB | 60  0 |\n"

static const struct recorded_row join_rows[] = {
	{"instances and links come along",
	 "uuid\nGPU-" U0 "\n\n" ROW_0 ROW_0B MIG_BOX TAIL
	 "\tGPU0\tCPU Affinity\nGPU0\t X \t0-3\n" JOIN,
	 0,
	 "0 uuid=GPU-" U0 " pci=0000:07:00.0 name=NVIDIA X1 mib=8192 cpus=0-3 mode=1 links= "
	 "( gi=7 ci=0 mib=9984 );",
	 NULL, 0},
	{"instances on both sides",
	 ROW_0 ROW_0B MIG_BOX TAIL "  MIG 1g.5gb Device 0: (UUID: MIG-GPU-" U1 "/7/0)\n"
				   "uuid, pci.bus_id\nGPU-" U1 ", 00000000:07:00.0\n",
	 GPUMAP_EINPUT, NULL, "MIG instances of GPU 0 are listed twice", 0},
	{"an address of another GPU's", "uuid, pci.bus_id\nGPU-" U0 ", 1:00.0\n" JOIN,
	 GPUMAP_EINPUT, NULL,
	 "the GPU GPU-" U0 " has the PCI address 0000:01:00.0 and the PCI address 0000:07:00.0", 4},
};

#define PROC \
	"Model: \t\t NVIDIA X1\nIRQ:   \t\t 42\nGPU UUID: \t GPU-" U0 "\n" \
	"Bus Location: \t 0000:07:00.0\nDevice Minor: \t 3\nGPU Excluded:\t No\n"

static const struct recorded_row proc_rows[] = {
	{"plain", PROC, 0, "-1 uuid=GPU-" U0 " pci=0000:07:00.0 name=NVIDIA X1 minor=3;", NULL, 0},
	{"logged", "[12:00:00] [w 0] Model: X\n[12:00:01] [w 0] Bus Location: 0000:07:00.0\n", 0,
	 "-1 pci=0000:07:00.0 name=X;", NULL, 0},
	{"grep",
	 "/proc/driver/nvidia/gpus/0000:07:00.0/information:Model: X\n"
	 "/proc/driver/nvidia/gpus/0000:07:00.0/information:Bus Location: 0000:07:00.0\n",
	 0, "-1 pci=0000:07:00.0 name=X;", NULL, 0},
	{"before the driver looked",
	 "Model: Unknown\nGPU UUID: "
	 "GPU-\?\?\?\?\?\?\?\?-\?\?\?\?-\?\?\?\?-\?\?\?\?-\?\?\?\?\?\?\?\?\?\?\?\?\n"
	 "Bus Location: 0000:07:00.0\n",
	 0, "-1 pci=0000:07:00.0;", NULL, 0},
	{"numbered by a list",
	 "Model: X\nBus Location: 0000:0f:00.0\nModel: X\n"
	 "Bus Location: 0000:07:00.0\nGPU 0: X (UUID: GPU-" U0 ")\n"
	 "GPU 1: X (UUID: GPU-" U1 ")\n",
	 0, "0 uuid=GPU-" U0 " pci=0000:07:00.0 name=X;1 uuid=GPU-" U1 " pci=0000:0f:00.0 name=X;",
	 NULL, 0},
	{"numbered by a list, long domains",
	 "Bus Location: 10000:01:00.0\nBus Location: 2000:01:00.0\n" LIST_0 LIST_1, 0,
	 "0 uuid=GPU-" U0 " pci=2000:01:00.0 name=NVIDIA X1;"
	 "1 uuid=GPU-" U1 " pci=10000:01:00.0 name=NVIDIA X1;",
	 NULL, 0},
	{"joined by a row",
	 "Bus Location: 0000:07:00.0\nGPU 0: X (UUID: GPU-" U0 ")\n"
	 "index, pci.bus_id\n0, 00000000:07:00.0\n",
	 0, "0 uuid=GPU-" U0 " pci=0000:07:00.0 name=X;", NULL, 0},
	{"cut", "Model: X\nGPU UUID: GPU-" U0 "\n", 0, "-1 uuid=GPU-" U0 " name=X;", UNNUMBERED, 0},
	{"not lscpu", "Model: 85\n" PROC, 0,
	 "-1 uuid=GPU-" U0 " pci=0000:07:00.0 name=NVIDIA X1 minor=3;", NULL, 0},
};

#define CPU "<cpu numaid=\"1\" affinity=\"ff\">\n"
#define PCI(id, inner) "<pci busid=\"" id "\" class=\"0x030200\">" inner "</pci>\n"
#define BLANKS \
	"                                                                                  " \
	"                                                                                  " \
	"                                                                                  "
#define LINK(id, class) "<nvlink target=\"" id "\" tclass=\"" class "\"/>"

static const struct recorded_row xml_rows[] = {
	{"static", "<system version=\"1\">\n" CPU PCI("0001:00:00.0", "") "</cpu>\n</system>\n", 0,
	 "-1 pci=0001:00:00.0 numa=1;", NULL, 0},
	{"links",
	 "<system>" CPU PCI("1:00.0", "<gpu dev=\"0\">" LINK("2:00.0", "0x030200") "</gpu>") PCI(
		 "2:00.0", "<gpu dev=\"1\">" LINK("2:00.0", "0x030200") "</gpu>") "</cpu></system>",
	 0, "0 pci=0000:01:00.0 numa=1 links=1;1 pci=0000:02:00.0 numa=1 links=;", NULL, 0},
	{"switch",
	 "<system>" CPU PCI(
		 "1:00.0", "<gpu dev=\"0\">" LINK("9:00.0", "0x068000") "</gpu>") "</cpu></system>",
	 0, "0 pci=0000:01:00.0 numa=1;", NULL, 0},
	{"inside a switch, no NUMA",
	 "<!-- x -->\n<system>\n<cpu numaid=\"-1\">\n<pci busid=\"ffff:ff:01.0\" "
	 "class=\"0x060400\">\n" PCI("7:00.0", "") "</pci>\n</cpu>\n</system>\n",
	 0, "-1 pci=0000:07:00.0;", NULL, 0},
	{"other vendors",
	 "<system><pci busid=\"1:00.0\" class=\"0x030000\" vendor=\"0x1a03\"/>"
	 "<pci busid=\"2:00.0\" class=\"0x030000\" vendor=\"0x10de\"/></system>",
	 0, "-1 pci=0000:02:00.0;", NULL, 0},
	{"quoted, then a list",
	 "> <system>\n> " PCI("7:00.0", "<gpu dev=\"0\"/>") "> </system>\n> " LIST_0, 0,
	 "0 uuid=GPU-" U0 " pci=0000:07:00.0 name=NVIDIA X1;", NULL, 0},
	{"a long first line that goes on, then a list",
	 "<system " BLANKS BLANKS BLANKS "\nversion=\"1\">" PCI(
		 "7:00.0", "<gpu dev=\"0\"/>") "</system>\n" LIST_0 BLANKS "\n" BLANKS "\n",
	 0, "0 uuid=GPU-" U0 " pci=0000:07:00.0 name=NVIDIA X1;", NULL, 0},
	{"a comment, then a list", "<!-- my GPUs -->\n" LIST_0, 0, GOT_0, NULL, 0},
	{"fragment", CPU PCI("7:00.0", "<gpu dev=\"0\"/>") "</cpu>\n", 0,
	 "0 pci=0000:07:00.0 numa=1;",
	 "the inventory may be incomplete: a fragment of an NCCL topology: there is no <system>",
	 1},
	{"cut", "<system>\n" PCI("7:00.0", "<gpu dev=\"0\"/>"), 0, "0 pci=0000:07:00.0;",
	 "the inventory may be incomplete: the NCCL topology ends early: no element found", 1},
	{"broken, then a list", "<system>\n" PCI("7:00.0", "<gpu dev=\"0\"/>") "</cpu>\n" LIST_0, 0,
	 "0 uuid=GPU-" U0 " pci=0000:07:00.0 name=NVIDIA X1;",
	 "the inventory may be incomplete: the NCCL topology ends early: mismatched tag", 1},
};

#define TABLE_TEST(name) \
	START_TEST(name) \
	{ \
		check_recorded(&name##_rows[_i], strlen(name##_rows[_i].text)); \
	} \
	END_TEST

TABLE_TEST(list)
TABLE_TEST(table)
TABLE_TEST(csv)
TABLE_TEST(topo)
TABLE_TEST(join)
TABLE_TEST(proc)
TABLE_TEST(xml)

int main(void)
{
	Suite *suite = suite_create("recorded");
	TCase *tests = tcase_create("recorded");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, list, 0, ARRAY_SIZE(list_rows));
	tcase_add_loop_test(tests, table, 0, ARRAY_SIZE(table_rows));
	tcase_add_loop_test(tests, csv, 0, ARRAY_SIZE(csv_rows));
	tcase_add_loop_test(tests, topo, 0, ARRAY_SIZE(topo_rows));
	tcase_add_loop_test(tests, join, 0, ARRAY_SIZE(join_rows));
	tcase_add_loop_test(tests, proc, 0, ARRAY_SIZE(proc_rows));
	tcase_add_loop_test(tests, xml, 0, ARRAY_SIZE(xml_rows));
	return unit_run(suite);
}
