/* SPDX-License-Identifier: MIT */
/* Recorded text that is not an inventory, contradicts itself, or is hostile. */
#include <stdio.h>

#include "recorded.h"

#define NO "no GPU can be read: "
#define LIST(n, uuid) "GPU " #n ": NVIDIA X1 (UUID: " uuid ")\n"
#define GOT(n, uuid) #n " uuid=" uuid " name=NVIDIA X1;"

static const struct recorded_row refuse_rows[] = {
	{"empty", "", GPUMAP_EINPUT, NULL, "the text is empty", -1},
	{"blanks", " \n\t\r\n", GPUMAP_EINPUT, NULL, "the text is empty", -1},
	{"prose", "hello\n", GPUMAP_EINPUT, NULL, "the format is not known", -1},
	{"no devices", "$ nvidia-smi -L\nNo devices were found\n", GPUMAP_EINPUT, NULL,
	 NO "nvidia-smi printed 'No devices were found'", 2},
	{"lost", "Unable to determine the device handle for GPU0000:C3:00.0: GPU is lost.\n",
	 GPUMAP_EINPUT, NULL,
	 NO "nvidia-smi printed 'Unable to determine the device handle for GPU0000:C3:00.0: GPU is "
	    "lost.'",
	 1},
	{"no driver",
	 "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
	 GPUMAP_EINPUT, NULL,
	 NO "nvidia-smi printed 'NVIDIA-SMI has failed because it couldn't communicate with the "
	    "NVIDIA driver.'",
	 1},
	{"versions", "# > Failed to initialize NVML: Driver/library version mismatch\nx\n",
	 GPUMAP_EINPUT, NULL,
	 NO "nvidia-smi printed 'Failed to initialize NVML: Driver/library version mismatch'", 1},
	{"bash", "$ nvidia-smi\nbash: nvidia-smi: command not found\n", GPUMAP_EINPUT, NULL,
	 NO "nvidia-smi was not found: 'bash: nvidia-smi: command not found'", 2},
	{"zsh", "zsh: command not found: nvidia-smi\n", GPUMAP_EINPUT, NULL,
	 NO "nvidia-smi was not found: 'zsh: command not found: nvidia-smi'", 1},
	{"cmd.exe", "'nvidia-smi' n'est pas reconnu\n", GPUMAP_EINPUT, NULL,
	 NO "nvidia-smi was not found: ''nvidia-smi' n'est pas reconnu'", 1},
	{"control characters", "No devices were found\001\n", GPUMAP_EINPUT, NULL,
	 NO "nvidia-smi printed 'No devices were found\\x01'", 1},
	{"NCCL", "h:1:2 [0] NCCL INFO Using network IB\n", GPUMAP_EINPUT, NULL,
	 NO "this is the log of NCCL, starting with 'h:1:2 [0] NCCL INFO Using network IB'", 1},
	{"TensorFlow", "tensorflow/core/device.cc:7] Found device 0\n", GPUMAP_EINPUT, NULL,
	 NO "this is the log of TensorFlow, starting with 'tensorflow/core/device.cc:7] Found "
	    "device 0'",
	 1},
	{"hosts", "$ scontrol show hostnames\nnode01\nnode02\n", GPUMAP_EINPUT, NULL,
	 NO "this is a list of hosts", -1},
	{"nvidia-smi -q", "==============NVSMI LOG==============\n", GPUMAP_EINPUT, NULL,
	 NO "this is the output of nvidia-smi -q, starting with "
	    "'==============NVSMI LOG=============='",
	 1},
	{"nvidia-smi -q -x", "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"x\">\n",
	 GPUMAP_EINPUT, NULL, NO "this XML is the output of nvidia-smi -q -x", 0},
	{"graph", "<graphs><graph><gpu dev=\"0\"/></graph></graphs>\n", GPUMAP_EINPUT, NULL,
	 NO "this is an NCCL graph dump, not a topology", 1},
	{"no GPU", "<system><pci busid=\"7:00.0\"/></system>\n", GPUMAP_EINPUT, NULL,
	 NO "this NCCL topology names no GPU: it has neither <gpu> nor a PCI class of one", 1},
	{"entities", "<!DOCTYPE a [<!ENTITY a \"b\">]><system>&a;</system>\n", GPUMAP_EINPUT, NULL,
	 NO "this XML is not an NCCL topology: it declares a document type", 1},
	{"columns", "$ nvidia-smi --query-gpu=fan.speed --format=csv,noheader\n30 %\n",
	 GPUMAP_EINPUT, NULL, NO "the columns 'fan.speed' name no GPU", 1},
	{"errors alone", "index, uuid\n[Unknown Error], [Unknown Error]\n", GPUMAP_EINPUT, NULL,
	 NO "a row has '[Unknown Error]'", 2},
	{"people", "name,age\nBob,7\n", GPUMAP_EINPUT, NULL, NO "the row 'Bob,7' names no GPU", 2},
	{"prose about a GPU", "GPU0 X marks the spot\nGPU 0 is fine\n", GPUMAP_EINPUT, NULL,
	 "the format is not known", -1},
};

static const struct recorded_row partial_rows[] = {
	{"one does not answer",
	 LIST(0, "GPU-" U0) "Unable to determine the device handle for gpu 1\n", 0,
	 GOT(0, "GPU-" U0),
	 "the inventory may be incomplete: nvidia-smi printed 'Unable to determine the device "
	 "handle "
	 "for gpu 1'",
	 2},
	{"list cut in the UUID", LIST(0, "GPU-" U0) "GPU 1: NVIDIA X1 (UUID: GPU-1a", 0,
	 GOT(0, "GPU-" U0) "1 name=NVIDIA X1;",
	 "the inventory may be incomplete: the last line is cut: 'NVIDIA X1 '", 2},
	{"list cut in the name", LIST(0, "GPU-" U0) "GPU 1: NVI", 0, GOT(0, "GPU-" U0) "1;",
	 "the inventory may be incomplete: the last line is cut: ''", 2},
	{"MIG without its GPU", "  MIG 1g.5gb Device 0: (UUID: MIG-GPU-" U0 "/7/0)\n", 0,
	 "-1 uuid=GPU-" U0 " mode=1 ( profile=1g.5gb uuid=MIG-GPU-" U0 "/7/0 gi=7 ci=0 );",
	 UNNUMBERED, 0},
	{"rows without keys", LIST(0, "GPU-" U0) LIST(1, "GPU-" U1) "name\nNVIDIA X1\n", 0,
	 GOT(0, "GPU-" U0) GOT(1, "GPU-" U1),
	 "the inventory may be incomplete: 1 rows name no GPU by index, UUID or PCI address and "
	 "are left out",
	 -1},
};

#define HIDDEN(text) "a UUID is hidden or not complete: '" text "'; it is taken as not known"

#define CUT "the inventory may be incomplete: the last row is cut: "

/* Without a newline the last value may go on. One that shows its end is whole. */
static const struct recorded_row cut_rows[] = {
	{"an index", "uuid, index\nGPU-" U0 ", 0\nGPU-" U1 ", 1", 0, "0 uuid=GPU-" U0 ";",
	 CUT "'GPU-" U1 ", 1'", 3},
	{"before the index", "uuid, index\nGPU-" U0 ", 0\nGPU-" U1 ",", 0, "0 uuid=GPU-" U0 ";",
	 CUT "'GPU-" U1 ",'", 3},
	{"an index alone", "index\n0\n1", 0, "0;", CUT "'1'", 3},
	{"an index without a header", "X, GPU-" U0 ", 0\nX, GPU-" U1 ", 1", 0, "0 uuid=GPU-" U0 ";",
	 CUT "'X, GPU-" U1 ", 1'", 2},
	{"a number that is not the index", "0, GPU-" U0 ", 40\n1, GPU-" U1 ", 4", 0,
	 "0 uuid=GPU-" U0 ";1 uuid=GPU-" U1 ";", NULL, 0},
	{"a number that is not the index by another row",
	 "0, GPU-" U0 ", 4\n1, GPU-" U1 ", 4\n2, GPU-" U2 ", 5", 0,
	 "0 uuid=GPU-" U0 ";1 uuid=GPU-" U1 ";2 uuid=GPU-" U2 ";", CUT "'2, GPU-" U2 ", 5'", 3},
	{"a name", "index, name\n0, NVIDIA A100\n1, NVIDIA A10", 0, "0 name=NVIDIA A100;1;",
	 CUT "'1, NVIDIA A10'", 3},
	{"a name alone", "name\nNVIDIA A10", GPUMAP_EINPUT, NULL,
	 NO "the last row is cut: 'NVIDIA A10'", 2},
	{"a UUID", "index, uuid\n0, GPU-1a2b3c4d-0000-4aaa-8bbb-00000000001", 0, "0;",
	 CUT "'0, GPU-1a2b3c4d-0000-4aaa-8bbb-00000000001'", 2},
	{"a whole UUID", "index, uuid\n0, GPU-" U0, 0, "0 uuid=GPU-" U0 ";", NULL, 0},
	{"an address", "index, pci.bus_id\n0, 00000000:07:0", 0, "0;", CUT "'0, 00000000:07:0'", 2},
	{"a whole address", "index, pci.bus_id\n0, 00000000:07:00.0", 0, "0 pci=0000:07:00.0;",
	 NULL, 0},
	{"memory", "index, memory.total [MiB]\n0, 819", 0, "0;", CUT "'0, 819'", 2},
	{"memory with a unit", "index, memory.total [MiB]\n0, 8192 MiB", 0, "0 mib=8192;", NULL, 0},
	{"a MIG mode", "index, mig.mode.current\n0, Enab", 0, "0;", CUT "'0, Enab'", 2},
	{"no value", "index, memory.total [MiB]\n0, [N/A]", 0, "0;", NULL, 0},
	{"an unknown column", "index, pstate\n0, P", 0, "0;", NULL, 0},
	{"a list of CPUs", "\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t0-3\t1", 0,
	 "0 cpus=0-3 links=;", CUT "'GPU0\\x09 X \\x090-3\\x091'", 2},
	{"CPUs between blanks", "      GPU0  CPU Affinity\nGPU0   X    0-3", 0, "0 links=;",
	 CUT "'GPU0   X    0-3'", 2},
	{"a minor number", "Model: X\nBus Location: 0000:07:00.0\nDevice Minor: 1", 0,
	 "-1 pci=0000:07:00.0 name=X;",
	 "the inventory may be incomplete: the last line may be cut: 'Device Minor: 1'", 3},
};

#define LOST "Unable to determine the device handle for gpu 0000:0A:00.0: GPU is lost.\n"

static const struct recorded_row masked_rows[] = {
	{"x", LIST(0, "GPU-xxxxxxxx-xxxx") LIST(1, "GPU-xxxxxxxx-xxxx"), 0,
	 "0 name=NVIDIA X1;1 name=NVIDIA X1;", HIDDEN("GPU-xxxxxxxx-xxxx"), 1},
	{"zeros", LIST(0, "GPU-00000002-0000-0000-0000-000000000002"), 0, "0 name=NVIDIA X1;",
	 HIDDEN("GPU-00000002-0000-0000-0000-000000000002"), 1},
	{"dots in CSV", "index, uuid\n0, GPU-1a2b3c4d...\n", 0, "0;", HIDDEN("GPU-1a2b3c4d..."), 2},
	{"MIG", LIST(0, "GPU-" U0) " MIG 1g.5gb Device 0: (UUID: MIG-GPU-****/7/0)\n", 0,
	 "0 uuid=GPU-" U0 " name=NVIDIA X1 mode=1 ( profile=1g.5gb gi=7 ci=0 );",
	 HIDDEN("MIG-GPU-****/7/0"), 2},
	{"listed again later", LIST(0, "GPU-...") "$ again\n" LIST(0, "GPU-..."), 0,
	 "0 name=NVIDIA X1;", HIDDEN("GPU-..."), 1},
};

static const struct recorded_row conflict_rows[] = {
	{"two tasks", LIST(0, "GPU-...") LIST(0, "GPU-..."), GPUMAP_EINPUT, NULL,
	 "GPU 0 is listed again and the UUIDs are hidden: several processes may have printed this",
	 2},
	{"two machines", LIST(0, "GPU-" U0) "\n" LIST(0, "GPU-" U1), GPUMAP_EINPUT, NULL,
	 "GPU 0 has the UUID GPU-" U0 " and the UUID GPU-" U1, 3},
	{"renumbered", LIST(0, "GPU-" U0) "\n" LIST(1, "GPU-" U0), GPUMAP_EINPUT, NULL,
	 "GPU 0 is also GPU 1", 3},
	{"crossed", LIST(0, "GPU-" U0) LIST(1, "GPU-" U1) LIST(0, "GPU-" U1), GPUMAP_EINPUT, NULL,
	 "GPU 0 is also GPU 1", 3},
	{"two addresses", "index, pci.bus_id\n0, 7:00.0\n0, 8:00.0\n", GPUMAP_EINPUT, NULL,
	 "GPU 0 has the PCI address 0000:07:00.0 and the PCI address 0000:08:00.0", 3},
	{"unlinked", "uuid\nGPU-" U0 "\n\nindex\n0\n1\n", GPUMAP_EINPUT, NULL,
	 "2 GPUs are numbered, 1 others are not, and they cannot be matched", -1},
	{"models differ", "uuid, name\nGPU-" U0 ", NVIDIA X1\n\nindex, name\n0, NVIDIA X2\n",
	 GPUMAP_EINPUT, NULL, "GPU 0 is a 'NVIDIA X2' in one part and a 'NVIDIA X1' in another",
	 -1},
	{"MIG",
	 LIST(0, "GPU-" U0) " MIG Device 0: (UUID: MIG-" U1 ")\n MIG Device 0: (UUID: MIG-" U2
			    ")\n",
	 GPUMAP_EINPUT, NULL, "MIG device 0 of GPU 0 is listed twice, differently", 3},
	{"a name", LIST(0, "GPU-" U0) "index, name\n0, NVIDIA X2\n", 0, GOT(0, "GPU-" U0),
	 "GPU 0 has the name 'NVIDIA X1' and the name 'NVIDIA X2'; the first is taken", 3},
	{"memory", "index, memory.total [MiB]\n0, 8 MiB\n0, 9 MiB\n", 0, "0 mib=8;",
	 "GPU 0 has the memory in MiB '8' and the memory in MiB '9'; the first is taken", 3},
	{"index", LIST(65536, "GPU-" U0), GPUMAP_ELIMIT, NULL, "a GPU's index is past 65535", 1},
	{"long index", LIST(99999999999999999999999, "GPU-" U0), GPUMAP_ELIMIT, NULL,
	 "a GPU's index is past 65535", 1},
};

#define TABLE_TEST(name) \
	START_TEST(name) \
	{ \
		check_recorded(&name##_rows[_i], strlen(name##_rows[_i].text)); \
	} \
	END_TEST

TABLE_TEST(refuse)
TABLE_TEST(partial)
TABLE_TEST(cut)
TABLE_TEST(masked)
TABLE_TEST(conflict)

/* From which GPU on CUDA's numbers are not known. */
static const struct {
	const char *name, *text;
	int doubt;
} lost_rows[] = {
	{"all answered", LIST(0, "GPU-" U0) LIST(1, "GPU-" U1), -1},
	{"a gap", LIST(0, "GPU-" U0) LIST(2, "GPU-" U1), -1},
	{"a gap, lost", LIST(0, "GPU-" U0) LOST LIST(2, "GPU-" U1), 1},
	{"a gap, errors first", LOST LIST(0, "GPU-" U0) LIST(2, "GPU-" U1), 1},
	{"the first", LOST LIST(1, "GPU-" U0) LIST(2, "GPU-" U1), 0},
	{"the last", LIST(0, "GPU-" U0) LIST(1, "GPU-" U1) LOST, 2},
	{"no gap", LIST(0, "GPU-" U0) LOST LIST(1, "GPU-" U1), 1},
	{"no gap, errors first", LOST LIST(0, "GPU-" U0) LIST(1, "GPU-" U1), 0},
	{"without an index", "uuid\nGPU-" U0 "\n" LOST "GPU-" U1 "\n", 0},
	{"addresses alone", "pci.bus_id\n7:00.0\n" LOST "8:00.0\n", 0},
	{"a row", "index, uuid\n0, GPU-" U0 "\n1, [GPU is lost]\n2, GPU-" U1 "\n", 1},
	{"a row with another failure", "index, uuid\n0, [Unknown Error]\n1, GPU-" U1 "\n", -1},
	{"a table",
	 LOST "| 0 X On | 07:00.0 Off | 0 |\n| 2 X On | 08:00.0 Off | 0 |\n| Processes: |\n", 1},
	{"several columns can be the index", "3, GPU-" U0 ", 0\n4, GPU-" U1 ", 1\n", 0},
	{"the same, and a list",
	 "3, GPU-" U0 ", 0\n4, GPU-" U1 ", 1\n" LIST(0, "GPU-" U0) LIST(1, "GPU-" U1), -1},
};

START_TEST(lost)
{
	for (size_t i = 0; i < ARRAY_SIZE(lost_rows); i++) {
		gpumap_inventory *inventory = NULL;
		struct span text = span_of(lost_rows[i].text);

		ROW_EQ_INT(lost_rows[i].name, recorded_parse(&inventory, text, NULL, NULL),
			   GPUMAP_OK);
		ROW_EQ_INT(lost_rows[i].name, inventory->doubt, lost_rows[i].doubt);
		gpumap_inventory_free(inventory);
	}
}
END_TEST

/* --- what no string constant holds ------------------------------------------------ */

static void check_text(const char *name, const char *text, size_t size, int code, const char *want,
		       const char *finding)
{
	const struct recorded_row row = {name, text, code, want, finding, 0};

	check_recorded(&row, size);
}

START_TEST(nul_bytes)
{
	static const char text[] = "GPU 0: X (UUID: GPU-" U0 ")\n\0\0";

	check_text("NUL", text, sizeof(text), GPUMAP_EINPUT, NULL,
		   NO "a NUL byte at offset 58, this is not text");
	check_text("NUL alone", "", 1, GPUMAP_EINPUT, NULL,
		   NO "a NUL byte at offset 0, this is not text");
}
END_TEST

START_TEST(utf16)
{
	static const char list[] = "GPU 0: X (UUID: GPU-" U0 ")\r\n";
	char little[2 * sizeof(list) + 3], big[sizeof(little)];

	memcpy(little, "\xff\xfe", 2);
	memcpy(big, "\xfe\xff", 2);
	for (size_t i = 0; i < sizeof(list) - 1; i++) {
		little[2 + 2 * i] = big[3 + 2 * i] = list[i];
		little[3 + 2 * i] = big[2 + 2 * i] = '\0';
	}
	check_text("little", little, 2 * sizeof(list), 0, "0 uuid=GPU-" U0 " name=X;", NULL);
	check_text("big", big, 2 * sizeof(list), 0, "0 uuid=GPU-" U0 " name=X;", NULL);
	check_text("odd", little, 2 * sizeof(list) - 1, 0, "0 uuid=GPU-" U0 " name=X;", NULL);
	check_text("surrogates", "\xff\xfe\x3d\xd8\x00\xde\x3d\xd8z\0\x00\xdc", 12, GPUMAP_EINPUT,
		   NULL, "the format is not known");
}
END_TEST

/* Every beginning of a good text gives an answer or a refusal. */
START_TEST(cut_anywhere)
{
	static const char text[] =
		"\033[4m> GPU 0: X (UUID: GPU-" U0 ")\n  MIG 1g Device 0: (UUID: MIG-" U1 ")\n"
		"|   0  X  On  | 07:00.0 Off | 0 |\n| N/A | 1MiB / 2MiB | N |\n| Processes: |\n"
		"index, uuid, memory.total [MiB]\n0, GPU-" U0 ", 2 MiB\n\n"
		"\tGPU0\tCPU Affinity\nGPU0\t X \t0-3\n"
		"<system><cpu numaid=\"0\"><pci busid=\"7:00.0\"><gpu "
		"dev=\"0\"/></pci></cpu></system>\n"
		"Model: X\nGPU UUID: GPU-" U0 "\nBus Location: 0000:07:00.0\n";

	for (size_t size = 0; size < sizeof(text); size++) {
		gpumap_inventory *inventory = NULL;
		char *copy = malloc(size + 1);
		int code;

		memcpy(copy, text, size);
		code = recorded_parse(&inventory, (struct span){copy, size}, NULL, NULL);
		ck_assert_msg(code == GPUMAP_OK || code == GPUMAP_EINPUT, "%zu: %d", size, code);
		gpumap_inventory_free(inventory);
		free(copy);
	}
}
END_TEST

static char *many(int count, bool mig)
{
	struct strbuf buf = {0};
	char line[128];

	strbuf_puts(&buf, "GPU 0: X (UUID: GPU-" U0 ")\n");
	for (int i = 0; i < count; i++) {
		if (mig)
			snprintf(line, sizeof(line), " MIG Device %d: (UUID: MIG-...)\n", i);
		else
			snprintf(line, sizeof(line), "GPU-%08x-1111-4222-8333-%012x\n", i, i);
		strbuf_puts(&buf, line);
	}
	return strbuf_take(&buf);
}

START_TEST(limits)
{
	gpumap_inventory *inventory = NULL;
	char *text = many(64, true);

	ck_assert_int_eq(recorded_parse(&inventory, span_of(text), NULL, NULL), GPUMAP_OK);
	ck_assert_uint_eq(gpumap_device_mig_count(gpumap_inventory_get(inventory, 0)), 64);
	gpumap_inventory_free(inventory);
	free(text);
	text = many(65, true);
	check_text("65", text, strlen(text), GPUMAP_ELIMIT, NULL,
		   "GPU 0 has more than 64 MIG instances");
	free(text);
	text = many(65537, false);
	check_text("65537", text, strlen(text), GPUMAP_ELIMIT, NULL, "more than 65536 GPUs");
	free(text);
}
END_TEST

START_TEST(ten_thousand)
{
	gpumap_inventory *inventory = NULL;
	struct strbuf buf = {0};

	for (int i = 9999; i >= 0; i--)
		strbuf_printf(&buf, "GPU %d: X (UUID: GPU-%08x-1111-4222-8333-000000000000)\n", i,
			      i);
	for (int i = 0; i < 10000; i++)
		strbuf_printf(&buf, "| %d X On | %04x:07:00.0 Off | 0 |\n", i, i);
	strbuf_puts(&buf, "| Processes: |\n");
	ck_assert_int_eq(
		recorded_parse(&inventory, (struct span){buf.text, buf.length}, NULL, NULL),
		GPUMAP_OK);
	ck_assert_uint_eq(gpumap_inventory_count(inventory), 10000);
	ck_assert_str_eq(
		gpumap_device_str(gpumap_inventory_get(inventory, 9999), GPUMAP_DEVICE_PCI),
		"270f:07:00.0");
	gpumap_inventory_free(inventory);
	strbuf_free(&buf);
}
END_TEST

START_TEST(about_the_whole)
{
	static const char text[] =
		"| NVIDIA-SMI 550.1   Driver Version: 550.1.2   CUDA Version: 12 |\n"
		"| 0 X On | 07:00.0 Off | 0 |\n| Processes: |\nGPU 0: X (UUID: GPU-" U0 ")\n";
	gpumap_inventory *inventory = NULL;

	ck_assert_int_eq(recorded_parse(&inventory, span_of(text), "a file", NULL), GPUMAP_OK);
	ROW_EQ_STR("driver", gpumap_inventory_str(inventory, GPUMAP_INVENTORY_DRIVER), "550.1.2");
	ROW_EQ_STR("origin", gpumap_inventory_str(inventory, GPUMAP_INVENTORY_ORIGIN), "a file");
	ROW_EQ_STR("source", gpumap_inventory_str(inventory, GPUMAP_INVENTORY_SOURCE),
		   "nvidia-smi -L, nvidia-smi");
	gpumap_inventory_free(inventory);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("recorded-bad");
	TCase *tests = tcase_create("recorded-bad");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, refuse, 0, ARRAY_SIZE(refuse_rows));
	tcase_add_loop_test(tests, partial, 0, ARRAY_SIZE(partial_rows));
	tcase_add_loop_test(tests, cut, 0, ARRAY_SIZE(cut_rows));
	tcase_add_test(tests, lost);
	tcase_add_loop_test(tests, masked, 0, ARRAY_SIZE(masked_rows));
	tcase_add_loop_test(tests, conflict, 0, ARRAY_SIZE(conflict_rows));
	tcase_add_test(tests, nul_bytes);
	tcase_add_test(tests, utf16);
	tcase_add_test(tests, cut_anywhere);
	tcase_add_test(tests, limits);
	tcase_add_test(tests, ten_thousand);
	tcase_add_test(tests, about_the_whole);
	return unit_run(suite);
}
