/* SPDX-License-Identifier: MIT */
/* The usage of devices as JSON. */
#include "explain/json.h"
#include "inventory/inventory.h"

static json_t *types_json(int64_t types)
{
	json_t *array = json_array();
	const char *word;
	unsigned type;

	for (size_t i = 0; types > 0 && (word = process_type_word(i, &type)); i++)
		if (types & type)
			json_push(&array, json_string(word));
	return array;
}

json_t *process_json(const gpumap_process *p)
{
	return JSON_OBJECT(
		{"pid", json_number(gpumap_process_int(p, GPUMAP_PROCESS_PID))},
		{"memory_bytes", json_number(gpumap_process_int(p, GPUMAP_PROCESS_MEMORY))},
		{"mig", json_number(gpumap_process_int(p, GPUMAP_PROCESS_MIG))},
		{"types", types_json(gpumap_process_int(p, GPUMAP_PROCESS_TYPES))},
		{"visible", json_flag(gpumap_process_int(p, GPUMAP_PROCESS_VISIBLE))},
		{"uid", json_number(gpumap_process_int(p, GPUMAP_PROCESS_UID))},
		{"user", json_text(gpumap_process_str(p, GPUMAP_PROCESS_USER))},
		{"start", json_text(gpumap_process_str(p, GPUMAP_PROCESS_START))},
		{"active", json_text(gpumap_process_str(p, GPUMAP_PROCESS_ACTIVE))},
		{"sampled", json_boolean(gpumap_process_int(p, GPUMAP_PROCESS_ACTIVE_TIME) >= 0)},
		{"container", json_text(gpumap_process_str(p, GPUMAP_PROCESS_CONTAINER))},
		{"command", json_text(gpumap_process_str(p, GPUMAP_PROCESS_COMMAND))});
}

json_t *processes_json(const gpumap_device *device)
{
	int count = gpumap_device_process_count(device);

	return count < 0 ? json_null()
			 : JSON_LIST(i, (size_t)count,
				     process_json(gpumap_device_process(device, i)));
}

static json_t *number_of(const gpumap_device *d, enum gpumap_device_int_attr attr)
{
	return json_number(gpumap_device_int(d, attr));
}

json_t *usage_json(const gpumap_device *d)
{
	int64_t mode = gpumap_device_int(d, GPUMAP_DEVICE_COMPUTE_MODE);

	return JSON_OBJECT({"memory_used_bytes", number_of(d, GPUMAP_DEVICE_MEMORY_USED)},
			   {"memory_free_bytes", number_of(d, GPUMAP_DEVICE_MEMORY_FREE)},
			   {"memory_reserved_bytes", number_of(d, GPUMAP_DEVICE_MEMORY_RESERVED)},
			   {"memory_hidden_bytes", number_of(d, GPUMAP_DEVICE_MEMORY_HIDDEN)},
			   {"utilization_percent", number_of(d, GPUMAP_DEVICE_UTILIZATION)},
			   {"temperature_celsius", number_of(d, GPUMAP_DEVICE_TEMPERATURE)},
			   {"compute_mode", json_text(compute_mode_word((int)mode))},
			   {"processes_complete",
			    json_flag(gpumap_device_int(d, GPUMAP_DEVICE_PROCESSES_COMPLETE))});
}
