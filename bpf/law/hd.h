/* SPDX-License-Identifier: GPL-2.0 */
/* HD, Hamilton delay, as crates/cc/src/algo/hd.rs has it; the equations and the sources are named there. */
#ifndef SOJOURN_LAW_HD_H
#define SOJOURN_LAW_HD_H

#include "hamilton.h"

struct hd_params {
	s64 reference, q_min, q_th, p_max, per, beta_delay, once_per_rtt;
};

struct hd {
	u64 outstanding; /* of the window that was reduced last, still not acknowledged */
	u64 rests;	 /* FreeBSD: no ACK has come since the back-off, or not yet all that was out at a timeout before it */
};

static struct hamilton hd_curve(const volatile struct hd_params *p)
{
	bool kernel = p->reference == HAMILTON_FREEBSD;

	return (struct hamilton){
		.q_min = p->q_min,
		.q_th = p->q_th < 0 ? (kernel ? 20 : 30) * LAW_MS : (u64)p->q_th,
		.p_max = hamilton_chance(p->p_max < 0 ? (kernel ? HAMILTON_Q30(5, 100) : HAMILTON_Q30(2, 100)) : p->p_max),
	};
}

static u64 hd_cut(const volatile struct hd_params *p, const struct law_flow *f, u64 q30)
{
	u64 to = law_part(law_min(f->cwnd, f->receive_window), q30);

	return p->reference == HAMILTON_FREEBSD ? law_segments(f, to) : to;
}

static void hd_init(struct hd *s, struct law_flow *f, const volatile struct hd_params *p)
{
	s->outstanding = s->rests = 0;
	f->at_ssthresh = p->reference == HAMILTON_FREEBSD;
}

static void hd_ack(struct hd *s, struct law_flow *f, const struct law_ack *a, const volatile struct hd_params *p)
{
	u64 queue = law_less(f->rtt, f->min_rtt), chance;
	bool per_packet = p->per == 2 ? p->reference != HAMILTON_FREEBSD : p->per == 0;
	struct hamilton h = hd_curve(p);
	bool rests = s->rests;
	u32 drew;

	s->outstanding = law_less(s->outstanding, a->cumulative);
	if (!a->cumulative)
		return;
	s->rests = rests && f->phase == LAW_TIMED_OUT;
	if (rests)
		return;
	if (queue > h.q_min && (f->phase == LAW_OPEN || f->phase == LAW_TIMED_OUT) && (!p->once_per_rtt || !s->outstanding)) {
		chance = hamilton_probability(&h, queue, law_less(f->max_rtt, f->min_rtt));
		if (per_packet)
			chance = hamilton_for(chance, a->cumulative, f->mss);
		drew = host_draw(f);
		if (drew < chance) {
			u64 to = hd_cut(p, f, p->beta_delay);

			s->outstanding = f->in_flight;
			s->rests = p->reference == HAMILTON_FREEBSD;
			law_reduce(f, to, hamilton_why(f, queue, chance, drew));
			return;
		}
	}
	if (law_may_grow(f))
		hamilton_grow(f, a->cumulative);
}

static u64 hd_congestion(struct hd *s, struct law_flow *f, u32 signal, const volatile struct hd_params *p)
{
	if (signal == LAW_SIGNAL_ECN && (s->rests || (p->once_per_rtt && s->outstanding)))
		return LAW_OWN;
	/* NewReno enters fast recovery from congestion recovery with the threshold as it is. */
	if (signal == LAW_SIGNAL_LOSS && s->rests)
		return f->ssthresh;
	if (signal == LAW_SIGNAL_TIMEOUT)
		s->outstanding = s->rests = 0;
	return hd_cut(p, f, 1ULL << 29);
}

static void hd_notice(struct hd *s, struct law_flow *f, u32 what, const volatile struct hd_params *p)
{
	if (what == LAW_RECOVERY_END)
		s->outstanding = s->rests = 0;
}

static void hd_wake(struct hd *s, struct law_flow *f, const volatile struct hd_params *p)
{
}

#endif
