# SPDX-License-Identifier: MIT
# What JSON the programs print.
schemasdir = $(pkgdatadir)/schemas
dist_schemas_DATA = \
	schemas/common.json \
	schemas/doctor.json \
	schemas/emit.json \
	schemas/exec.json \
	schemas/inventory.json \
	schemas/leases.json \
	schemas/lint.json \
	schemas/mapping.json \
	schemas/metrics.json \
	schemas/plan-diff.json \
	schemas/plan.json \
	schemas/profile.json \
	schemas/profiles.json \
	schemas/ps.json \
	schemas/rehearse.json \
	schemas/rules.json \
	schemas/run.json \
	schemas/sweep.json \
	schemas/verify.json
EXTRA_DIST += schemas/README.md
