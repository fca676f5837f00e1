# SPDX-License-Identifier: MIT
include tests/unit/local.mk
