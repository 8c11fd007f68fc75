/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Arithmetic without floating point, signed division or 128 bits, none of which BPF has.
 *
 * Probabilities and exponentials are Q32 (1 is 2^32), factors Q30, exponents Q30. 2^-f comes from a table of eighths and
 * a Taylor polynomial of degree 6 for the rest: (ln 2 / 8)^7 / 7! is 7·10^-12, less than the last bit.
 */
#ifndef SOJOURN_LAW_FIXED_H
#define SOJOURN_LAW_FIXED_H

#include "flow.h"

#define LAW_ONE (1ULL << 32)

/* Global functions are verified once, however often they are called; natively one copy a file will do. */
#ifdef __bpf__
#define LAW_ONCE __attribute__((noinline))
#define LAW_TABLE const
#else
#define LAW_ONCE static
#define LAW_TABLE static const
#endif

/* a · b / c, rounded down, exact for any a and b; saturates. */
LAW_ONCE u64 law_mul_div(u64 a, u64 b, u64 c)
{
	u64 a1 = a >> 32, a0 = a & 0xffffffff, b1 = b >> 32, b0 = b & 0xffffffff;
	u64 middle = a1 * b0 + (a0 * b0 >> 32), high, low = a * b, rest;
	u64 other = a0 * b1 + (middle & 0xffffffff);
	int i;

	high = a1 * b1 + (middle >> 32) + (other >> 32);
	if (!high)
		return c ? low / c : LAW_NEVER;
	if (high >= c)
		return LAW_NEVER;
	rest = high;
	for (i = 0; i < 64; i++) {
		bool carry = rest >> 63;

		rest = rest << 1 | low >> 63;
		low <<= 1;
		if (carry || rest >= c) {
			rest -= c;
			low |= 1;
		}
	}
	return low;
}

/* Signed a / c, rounded towards zero. */
LAW_INLINE s64 law_div(s64 a, u64 c)
{
	return a < 0 ? -(s64)(-(u64)a / c) : (s64)((u64)a / c);
}

/* x times a factor in Q30, rounded down. */
LAW_INLINE u64 law_part(u64 x, u64 q30)
{
	return x >> 34 ? law_mul_div(x, q30, 1ULL << 30) : x * q30 >> 30;
}

LAW_INLINE u64 law_mul32(u64 a, u64 b)
{
	return a * b >> 32;
}

/* 2^(-i/8) in Q31. Not static within the function: libbpf loses the place of such tables. */
LAW_TABLE u32 law_eighths[8] = { 2147483648u, 1969251188u, 1805811301u, 1655936265u,
				 1518500250u, 1392470869u, 1276901417u, 1170923762u };

/* e^-x in Q32 for x in Q30; nothing is left from 22 on. */
LAW_ONCE u64 law_exp_neg(u64 x)
{
	u64 y, n, f, t, e;

	if (x >= 22ULL << 30)
		return 0;
	y = x * 387270501;		      /* log2(e) in Q28 */
	n = y >> 58;
	f = y >> 26 & 0xffffffff;	      /* of 2^-n 2^-f, Q32 */
	t = law_mul32(f & 0x1fffffff, 2977044472ULL); /* ln 2 in Q32 */
	e = LAW_ONE - t / 6;
	e = LAW_ONE - law_mul32(t / 5, e);
	e = LAW_ONE - law_mul32(t / 4, e);
	e = LAW_ONE - law_mul32(t / 3, e);
	e = LAW_ONE - law_mul32(t / 2, e);
	e = LAW_ONE - law_mul32(t, e);
	return (e * law_eighths[f >> 29 & 7] >> 31) >> n;
}

/* Eq 2.27 of the thesis: 1 - e^-(a/b), in Q32. */
LAW_ONCE u64 law_probability(u64 a, u64 b)
{
	u64 x;

	if (!a || !b)
		return a ? LAW_ONE : 0;
	if (a / b >= 22)
		return LAW_ONE;
	x = law_mul_div(a, 1ULL << 30, b);
	/* Rounding must not make a chance of nothing out of a small one. */
	return law_max(LAW_ONE - law_exp_neg(x), 1);
}

/* (1 - p)^n for p in Q32. */
LAW_ONCE u64 law_pow(u64 p, u64 n)
{
	u64 base = LAW_ONE - law_min(p, LAW_ONE), result = LAW_ONE;
	int i;

	if (base == LAW_ONE || !n)
		return LAW_ONE;
	for (i = 0; i < 32 && n; i++) {
		if (n & 1)
			result = result == LAW_ONE ? base : law_mul32(result, base);
		base = law_mul32(base, base);
		n >>= 1;
	}
	return result;
}

/*
 * The cube root of x < 2^63, rounded down: Newton's steps from above. From 2^21 to 1 they take 36 steps of two thirds,
 * and then double their digits. A search bit by bit would be shorter, but the verifier walks all its 2^21 branches.
 */
LAW_ONCE u64 law_cbrt(u64 x)
{
	u64 y = 1ULL << 21;
	int i;

	for (i = 0; i < 44; i++)
		y = law_max((2 * y + x / (y * y)) / 3, 1);
	return y * y * y > x ? y - 1 : y;
}

/* Q32 as the billionths of an event. */
LAW_INLINE s64 law_ppb(u64 q32)
{
	return (s64)law_mul_div(q32, 1000000000, LAW_ONE);
}

/* A parameter in ms, Q30 (law/params.h), in ns. */
LAW_INLINE u64 law_ms(u64 q30)
{
	return law_mul_div(q30, LAW_MS, 1ULL << 30);
}

#endif
