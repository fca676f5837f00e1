# SPDX-License-Identifier: MIT
# What in the kernels' sources is not C++.
s/<<</ % emulated_grid(/
s/>>>(/)(/
s/asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(\([a-z]*\)))/\1 = emulated_nanoseconds()/
# One block at a time is on a thread of the host. Race detectors do not look at what is local to a
# thread, but at what a reference leads to.
s/__shared__ \(.*\) \([a-z]*\)\(\[.*\)*;/static thread_local \1 emulated_\2\3; auto \&\2 = *emulated_share(\&emulated_\2);/
