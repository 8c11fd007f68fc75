/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The curve of RFC 9438, for HLDG's loss mode: crates/cc/src/algo/cubic/rfc.rs in fixed point.
 *
 * Windows are packets in Q16, times on the curve seconds in Q20 (a microsecond), C is Q30.
 */
#ifndef SOJOURN_LAW_CUBIC_H
#define SOJOURN_LAW_CUBIC_H

#include "fixed.h"

/* Beyond two minutes from the plateau the curve is at a million packets. */
#define CUBIC_FAR (128ULL << 20)

struct cubic {
	u64 w_max, cwnd_prior;	      /* Q16 */
	u64 w_est;		      /* Q32: it grows by less than a packet's 2^-16 an ACK */
	u64 k;			      /* Q20 s */
	u64 epoch;		      /* LAW_NEVER: none */
	u64 unused_since;	      /* that time does not count; LAW_NEVER: in use */
};

LAW_INLINE u64 cubic_packets(u64 bytes, u64 mss)
{
	return (bytes << 16) / mss;
}

static void cubic_new(struct cubic *s)
{
	*s = (struct cubic){ .epoch = LAW_NEVER, .unused_since = LAW_NEVER };
}

/* A stage of congestion avoidance begins. */
static void cubic_begin(struct cubic *s, u64 cwnd, u64 at, u64 c)
{
	u64 cube;
	int up;

	if (s->w_max <= cwnd) {
		s->w_max = cwnd;
		s->k = 0;
	} else {
		/* Q16 · 2^30 / Q30 is Q16; the cube root of Q36 is Q12, and gains a bit for every three that fit in. */
		cube = law_mul_div(s->w_max - cwnd, 1ULL << 50, c);
		for (up = 0; up < 8 && !(cube >> 60); up++)
			cube <<= 3;
		s->k = law_cbrt(cube) << (8 - up);
	}
	s->w_est = cwnd << 16;
	s->epoch = at;
}

/* `t` ns of the present stage as the curve counts them, Q20 s. */
LAW_INLINE u64 cubic_time(u64 t)
{
	return law_mul_div(t, 1 << 20, 1000000000);
}

/* Equation 1 at `t` ns of the present stage, Q16; zero below. */
static u64 cubic_window(const struct cubic *s, u64 t, u64 c)
{
	u64 at = cubic_time(t), d = at > s->k ? at - s->k : s->k - at, cube;

	d = law_min(d, CUBIC_FAR);
	cube = (d * d >> 20) * d >> 24; /* Q16 */
	cube = law_mul_div(cube, c, 1ULL << 30);
	return at > s->k ? s->w_max + cube : law_less(s->w_max, cube);
}

/* C Q30, beta Q30; alpha as in section 4.3. */
static void cubic_avoidance(struct cubic *s, struct law_flow *f, u64 acked, u64 c, u64 beta)
{
	u64 cwnd = cubic_packets(f->cwnd, f->mss), one = 1ULL << 30, alpha = one, t, target;

	if (s->unused_since != LAW_NEVER) {
		if (s->epoch != LAW_NEVER)
			s->epoch = law_min(s->epoch + law_less(f->now, s->unused_since), f->now);
		s->unused_since = LAW_NEVER;
	}
	if (s->epoch == LAW_NEVER)
		cubic_begin(s, cwnd, f->now, c);
	t = law_less(f->now, s->epoch);
	if (s->w_est >> 16 < s->cwnd_prior)
		alpha = law_mul_div(3 * (one - beta), one, one + beta);
	s->w_est += law_mul_div(law_mul_div(acked, LAW_ONE, f->cwnd), alpha, one);
	if (cubic_window(s, t, c) < s->w_est >> 16) {
		f->cwnd = law_max(f->cwnd, f->mss * (s->w_est >> 32));
		return;
	}
	target = law_min(cubic_window(s, t + f->srtt, c), cwnd + cwnd / 2);
	if (target > cwnd)
		law_additive(f, law_mul_div(f->cwnd, 1ULL << 16, target - cwnd), acked);
	else if (target == cwnd && cubic_time(t + f->srtt) > s->k)
		/* Less than 2^-16 of a packet, for 34 ms after the plateau: what is acknowledged counts all the same. */
		f->credit += acked;
}

/* What a reduction leaves. */
static u64 cubic_reduce(struct cubic *s, const struct law_flow *f, bool timeout, u64 beta)
{
	u64 cwnd = cubic_packets(f->cwnd, f->mss), one = 1ULL << 30;

	s->w_max = timeout ? 0 : cwnd < s->w_max ? law_mul_div(cwnd, one + beta, 2 * one) : cwnd;
	s->cwnd_prior = cwnd;
	s->epoch = LAW_NEVER;
	return law_part(f->cwnd, beta);
}

#endif
