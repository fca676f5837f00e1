# SPDX-License-Identifier: MIT
# Rewrites what is not C++ in the kernels' sources.
s/<<</ % emulated_grid(/
s/>>>(/)(/
s/asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(\([a-z]*\)))/\1 = emulated_nanoseconds()/
# A thread of the host runs one block at a time. Race detectors ignore variables that are local to a thread, but not
# what a reference leads to.
s/__shared__ \(.*\) \([a-z]*\)\(\[.*\)*;/static thread_local \1 emulated_\2\3; auto \&\2 = *emulated_share(\&emulated_\2);/
