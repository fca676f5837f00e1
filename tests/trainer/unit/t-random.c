/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "data/random.h"
#include "kernels/philox.h"
#include "unit.h"
#include "vectors.h"

/* As std::mt19937: the 10,000th output of its default seed is in the C++ standard. */
START_TEST(twister)
{
	struct random_generator g;

	random_seed(&g, 5489);
	for (int i = 1; i < 10000; i++)
		random_u32(&g);
	ck_assert_uint_eq(random_u32(&g), 4123659995u);
}
END_TEST

START_TEST(only_low_bits_of_the_seed_count)
{
	struct random_generator a, b;

	random_seed(&a, 5);
	random_seed(&b, ((uint64_t)1 << 32) + 5);
	ck_assert(memcmp(&a, &b, sizeof(a)) == 0);
	random_seed(&a, (uint64_t)-1);
	random_seed(&b, UINT32_MAX);
	ck_assert(memcmp(&a, &b, sizeof(a)) == 0);
}
END_TEST

START_TEST(first_of_64_is_high)
{
	struct random_generator g, again;
	uint32_t high, low;

	random_seed(&g, 0);
	again = g;
	high = random_u32(&again);
	low = random_u32(&again);
	ck_assert_uint_eq(random_u64(&g), (uint64_t)high << 32 | low);
	ck_assert(memcmp(&g, &again, sizeof(g)) == 0);
}
END_TEST

/* torch.randperm(n, generator=torch.Generator().manual_seed(seed)), from PyTorch 1.13.1. */
static const struct {
	const char *name;
	uint64_t seed;
	int64_t n;
	int64_t first[8];
	uint64_t hash; /* 0: `first` is enough */
} permutations[] = {
	{"none", 0, 0, {0}, 0},
	{"one", 0, 1, {0}, 0},
	{"ten", 0, 10, {4, 1, 7, 5, 3, 9, 0, 8}, 0},
	{"seed 0",
	 0,
	 50000,
	 {36044, 49165, 37807, 11341, 6091, 16904, 36293, 28026},
	 0x04090b833ef6748d},
	{"seed 1", 1, 50000, {45845, 11799, 43880, 43701, -1}, 0x58760f5357a386f9},
	{"seed 42", 42, 1000, {542, 618, 816, 68, 94, 215, 60, 585}, 0xac050cc352041a61},
};

START_TEST(permutation)
{
	const char *name = permutations[_i].name;
	int64_t n = permutations[_i].n;
	int64_t *got = calloc((size_t)n + 1, sizeof(*got));
	struct random_generator g;

	ck_assert_ptr_nonnull(got);
	got[n] = 77;
	random_seed(&g, permutations[_i].seed);
	random_permutation(&g, got, n);
	for (int64_t i = 0; i < n && i < 8 && permutations[_i].first[i] >= 0; i++)
		ROW_EQ_INT(name, got[i], permutations[_i].first[i]);
	if (permutations[_i].hash)
		ck_assert_msg(hash_bytes(HASH_START, got, (size_t)n * sizeof(*got)) ==
				      permutations[_i].hash,
			      "%s: another permutation", name);
	ROW_EQ_INT(name, got[n], 77);
	free(got);
}
END_TEST

START_TEST(uniform_is_in_range)
{
	enum { N = 4096 };
	struct random_generator g, alike;
	float fused[N];

	random_seed(&g, 7);
	alike = g;
	random_uniform(&g, fused, N, -0.3f, 0.3f);
	for (int i = 0; i < N; i++) {
		float x = (float)(random_u32(&alike) & 0xffffff) / (1 << 24);

		ck_assert(fused[i] == fmaf(x, 0.6f, -0.3f));
		ck_assert(fused[i] >= -0.3f && fused[i] <= 0.3f);
	}
}
END_TEST

/* torch.empty(n).normal_(0, std, generator=torch.Generator().manual_seed(seed)) and then one
 * uniform_(), from PyTorch 2.15 with ATEN_CPU_CAPABILITY=default. */
static const struct {
	const char *name;
	uint64_t seed;
	int64_t n;
	float std, first[4], last[4], uniform;
} normals[] = {
	{"16",
	 0,
	 16,
	 1,
	 {-0x1.20370ap+0f, -0x1.270114p+0f, -0x1.0097acp-2f, -0x1.bc4abcp-2f},
	 {0x1.eadeeep-4f, 0x1.3cd726p+0f, 0x1.1de51cp+0f, -0x1.fa6cb4p-3f},
	 0x1.6534bp-1f},
	{"the last 16 again",
	 1,
	 37,
	 0.05f,
	 {-0x1.38712ap-4f, -0x1.334b82p-5f, -0x1.0bdedep-5f, -0x1.499f5ep-4f},
	 {0x1.c86726p-7f, 0x1.9447aep-7f, 0x1.e519aap-5f, -0x1.2a46bep-5f},
	 0x1.838b6p-2f},
	{"more words than a state has",
	 UINT32_MAX,
	 1000,
	 2,
	 {-0x1.5507b4p+2f, -0x1.174ef6p+1f, 0x1.ce4838p-1f, 0x1.d3aecap-2f},
	 {0x1.3cfd0ep+1f, 0x1.baa0a8p-4f, 0x1.bf1608p-3f, 0x1.533802p+0f},
	 0x1.4d7f9cp-1f},
};

/* Another C library may round logarithm, sine and cosine otherwise. */
static void expect_near(const char *name, int64_t at, float got, float want, float std)
{
	ck_assert_msg(fabsf(got - want) <= 1e-6f * std, "%s: value %d is %a, not %a", name, (int)at,
		      (double)got, (double)want);
}

START_TEST(normal)
{
	int64_t n = normals[_i].n;
	float out[1001], uniform;
	struct random_generator g;

	out[n] = 77;
	random_seed(&g, normals[_i].seed);
	random_normal(&g, out, n, normals[_i].std);
	for (int i = 0; i < 4; i++) {
		expect_near(normals[_i].name, i, out[i], normals[_i].first[i], normals[_i].std);
		expect_near(normals[_i].name, n - 4 + i, out[n - 4 + i], normals[_i].last[i],
			    normals[_i].std);
	}
	ck_assert(out[n] == 77.0f);
	random_uniform(&g, &uniform, 1, 0, 1);
	ck_assert(uniform == normals[_i].uniform);
}
END_TEST

START_TEST(skipped_numbers_are_drawn)
{
	float out[1300];
	struct random_generator g, skipped;

	random_seed(&g, 9);
	skipped = g;
	random_uniform(&g, out, 1300, 0, 1);
	random_skip(&skipped, 1299);
	random_skip(&skipped, 0);
	random_skip(&skipped, 1);
	ck_assert(random_u32(&g) == random_u32(&skipped));
}
END_TEST

/* The known answers that its authors publish with Random123 (kat_vectors). */
static const struct {
	const char *name;
	uint32_t counter[4], key[2], want[4];
} philox[] = {
	{"zeros", {0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
	{"ones",
	 {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
	 {0xffffffff, 0xffffffff},
	 {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
	{"pi",
	 {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
	 {0xa4093822, 0x299f31d0},
	 {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

START_TEST(philox_answers)
{
	uint32_t got[4];

	random_philox(got, philox[_i].counter, philox[_i].key);
	for (int i = 0; i < 4; i++)
		ROW_EQ_INT(philox[_i].name, got[i], philox[_i].want[i]);
}
END_TEST

static const struct {
	const char *name;
	struct random_key key;
	uint32_t draw;
} keys[] = {
	{"base", {1, RANDOM_AUGMENT, 2, 3}, 4},
	{"seed", {2, RANDOM_AUGMENT, 2, 3}, 4},
	{"high half of the seed", {1 + (1ull << 32), RANDOM_AUGMENT, 2, 3}, 4},
	{"purpose", {1, RANDOM_NOISE, 2, 3}, 4},
	{"epoch", {1, RANDOM_AUGMENT, 3, 3}, 4},
	{"sample", {1, RANDOM_AUGMENT, 2, 4}, 4},
	{"high half of the sample", {1, RANDOM_AUGMENT, 2, 3 + (1ll << 32)}, 4},
	{"draw", {1, RANDOM_AUGMENT, 2, 3}, 5},
};

START_TEST(each_part_of_a_key_counts)
{
	uint32_t base[4], got[4];

	random_keyed(base, &keys[0].key, keys[0].draw);
	random_keyed(got, &keys[_i].key, keys[_i].draw);
	ck_assert_msg((memcmp(got, base, sizeof(got)) == 0) == (_i == 0), "%s", keys[_i].name);
}
END_TEST

START_TEST(below)
{
	ck_assert_uint_eq(random_below(0, 9), 0);
	ck_assert_uint_eq(random_below(UINT32_MAX, 9), 8);
	ck_assert_uint_eq(random_below(UINT32_MAX, 1), 0);
	ck_assert_uint_eq(random_below(0x80000000u, 2), 1);
	ck_assert_uint_eq(random_below(0x7fffffffu, 2), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("random");
	TCase *tests = tcase_create("random");

	suite_add_tcase(suite, tests);
	tcase_add_test(tests, twister);
	tcase_add_test(tests, only_low_bits_of_the_seed_count);
	tcase_add_test(tests, first_of_64_is_high);
	tcase_add_loop_test(tests, permutation, 0, ROWS(permutations));
	tcase_add_test(tests, uniform_is_in_range);
	tcase_add_loop_test(tests, normal, 0, ROWS(normals));
	tcase_add_test(tests, skipped_numbers_are_drawn);
	tcase_add_loop_test(tests, philox_answers, 0, ROWS(philox));
	tcase_add_loop_test(tests, each_part_of_a_key_counts, 0, ROWS(keys));
	tcase_add_test(tests, below);
	return unit_run(suite);
}
