/* SPDX-License-Identifier: GPL-2.0 */
/* What HD and CHD share: the back-off probability of Figure 1, its toss, and NewReno's growth. */
#ifndef SOJOURN_LAW_HAMILTON_H
#define SOJOURN_LAW_HAMILTON_H

#include "fixed.h"

enum { HAMILTON_PAPER, HAMILTON_FREEBSD };
#define HAMILTON_Q30(a, b) ((s64)(((u64)(a) << 30) / (b)))

/* A parameter that is auto (0), true (1) or false (2). */
LAW_INLINE bool law_switch(s64 given, bool reference)
{
	return given ? given == 1 : reference;
}

struct hamilton {
	u64 q_min, q_th; /* ns */
	u64 p_max;	 /* Q32 */
};

/* Packets that the window keeps: FreeBSD's repairs may leave one. */
LAW_INLINE u64 hamilton_least(s64 reference)
{
	return reference == HAMILTON_FREEBSD ? 1 : 2;
}

/* A probability in Q30 as Q32. */
LAW_INLINE u64 hamilton_chance(s64 q30)
{
	return (u64)q30 << 2;
}

/* g(q), Q32. */
static u64 hamilton_probability(const struct hamilton *h, u64 q, u64 q_max)
{
	if (q <= h->q_min)
		return 0;
	if (q <= h->q_th)
		return law_mul_div(h->p_max, q - h->q_min, h->q_th - h->q_min);
	if (q < q_max)
		return law_mul_div(h->p_max, q_max - q, q_max - h->q_th);
	return 0;
}

/*
 * One hit of as many tosses as packets. For the part f of a packet (1 - p)^f is taken as 1 - f p - f (1 - f) p^2 / 2: with
 * HD's 0.02 the rest is below 10^-6.
 */
static u64 hamilton_for(u64 chance, u64 bytes, u64 mss)
{
	u64 n = bytes / mss, rest = bytes % mss, miss, first, second;

	if (n == 1 && !rest)
		return chance;
	miss = law_pow(chance, n);
	if (rest) {
		chance = law_min(chance, LAW_ONE);
		first = law_mul_div(chance, rest, mss);
		second = law_mul_div(law_mul_div(chance, first, LAW_ONE), mss - rest, 2 * mss);
		miss = law_mul_div(miss, LAW_ONE - first - second, LAW_ONE);
	}
	return LAW_ONE - miss;
}

/* FreeBSD repairs from a window of one packet; a window not cut is reached again by slow start. */
static void hamilton_restart(struct law_flow *f)
{
	u64 cwnd = f->cwnd, to = law_max(law_min(f->ssthresh, f->in_flight + f->mss), f->floor);

	if (to >= cwnd)
		return;
	f->cwnd = to;
	law_why(f, f->in_flight, 0, 0, 0, 0, 0, 0, 0);
	law_because(f, LAW_RECOVERY_EXIT, cwnd, f->ssthresh);
}

/* Leaving the first slow start is an event of its own, so that back-offs after it can be counted. */
static u32 hamilton_why(struct law_flow *f, u64 queue, u64 chance, u32 drew)
{
	s64 probability = law_ppb(chance), draw = law_ppb(drew);

	if (law_in_slow_start(f) && f->ssthresh == LAW_NEVER) {
		law_why(f, LAW_EXIT_DELAY, f->min_rtt + queue, f->min_rtt, 0, probability, draw, 0, 0);
		return LAW_SLOW_START_EXIT;
	}
	law_why(f, 0, 0, 0, 0, probability, draw, queue, 0);
	return LAW_DELAY_BACKOFF;
}

static void hamilton_grow(struct law_flow *f, u64 acked)
{
	if (law_in_slow_start(f))
		acked = law_slow_start(f, acked);
	if (acked)
		law_additive(f, f->cwnd, law_counted(f, acked));
}

#endif
