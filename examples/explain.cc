// SPDX-License-Identifier: MIT
//
// gpumap from C++17: the same answer as that of the command, as text or JSON.
//
//	explain LIST DEVICE [json]	such as: explain 2,3,4,5 1
//
// Build it with: c++ -std=c++17 explain.cc $(pkg-config --cflags --libs libgpumap)
#include <gpumap.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

namespace
{

struct Free {
	void operator()(gpumap_report *report) const
	{
		gpumap_report_free(report);
	}
	void operator()(gpumap_request *request) const
	{
		gpumap_request_free(request);
	}
	void operator()(gpumap_mapping *mapping) const
	{
		gpumap_mapping_free(mapping);
	}
	void operator()(char *text) const
	{
		std::free(text);
	}
};

template <typename T> using owned = std::unique_ptr<T, Free>;

void check(int code)
{
	if (code != GPUMAP_OK)
		throw std::runtime_error(gpumap_strerror(code));
}

// Calls a function that makes an object, and owns that.
template <typename T, typename Function, typename... Arguments>
owned<T> make(Function function, Arguments... arguments)
{
	T *made = nullptr;

	check(function(&made, arguments...));
	return owned<T>(made);
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 3) {
		std::cerr << "usage: explain LIST DEVICE [json]\n";
		return 2;
	}
	owned<gpumap_report> report;
	try {
		report = make<gpumap_report>(gpumap_report_new);

		auto request = make<gpumap_request>(gpumap_request_new);
		auto format = argc > 3 && std::string(argv[3]) == "json" ? GPUMAP_FORMAT_JSON
									 : GPUMAP_FORMAT_TEXT;

		check(gpumap_request_set(request.get(), "visible", argv[1], "LIST", report.get()));
		check(gpumap_request_set(request.get(), "device", argv[2], "DEVICE", report.get()));

		auto mapping =
			make<gpumap_mapping>(gpumap_resolve, request.get(), nullptr, report.get());
		auto text =
			make<char>(gpumap_mapping_format, mapping.get(), format, 0u, report.get());

		std::cout << text.get();
		return gpumap_mapping_int(mapping.get(), GPUMAP_MAPPING_ANSWERED) == 1 ? 0 : 1;
	} catch (const std::exception &error) {
		std::cerr << "explain: " << error.what() << '\n';
		for (size_t i = 0; i < gpumap_report_count(report.get()); i++)
			std::cerr << "explain: "
				  << gpumap_finding_str(gpumap_report_get(report.get(), i),
							GPUMAP_FINDING_TEXT)
				  << '\n';
		return 2;
	}
}
