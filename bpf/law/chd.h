/* SPDX-License-Identifier: GPL-2.0 */
/* CHD, CAIA-Hamilton delay, as crates/cc/src/algo/chd has it; the equations and the source are named there. */
#ifndef SOJOURN_LAW_CHD_H
#define SOJOURN_LAW_CHD_H

#include "hamilton.h"

struct chd_params {
	s64 reference, q_min, q_th, p_max, use_max, loss_fair, tolerate, beta_delay, grow_in_recovery, base_error, once_per_rtt;
};

struct chd {
	u64 h, h_b;   /* largest queueing delay of the last round, and at the last back-off */
	u64 shadow;   /* what a loss-based flow would have; 0: forgotten */
	u64 largest;  /* RTT of the round under way */
	u64 outstanding;
	u64 competing, tolerated;
};

static struct hamilton chd_curve(const volatile struct chd_params *p)
{
	bool kernel = p->reference == HAMILTON_FREEBSD;

	return (struct hamilton){
		.q_min = p->q_min,
		.q_th = p->q_th < 0 ? (kernel ? 20 : 30) * LAW_MS : (u64)p->q_th,
		.p_max = hamilton_chance(p->p_max < 0 ? (kernel ? HAMILTON_Q30(1, 2) : HAMILTON_Q30(1, 4)) : p->p_max),
	};
}

static bool chd_once(const volatile struct chd_params *p)
{
	return law_switch(p->once_per_rtt, p->reference == HAMILTON_FREEBSD);
}

static u64 chd_queue(const volatile struct chd_params *p, const struct law_flow *f, u64 rtt)
{
	return law_less(rtt, f->min_rtt + p->base_error);
}

/* A part of a window. FreeBSD counts in segments: it takes away what is not to be left, rounded down, and keeps two. */
static u64 chd_cut(const volatile struct chd_params *p, const struct law_flow *f, u64 window, u64 q30)
{
	window = law_min(window, f->receive_window);
	if (p->reference != HAMILTON_FREEBSD)
		return law_part(window, q30);
	return law_segments(f, law_part(window / f->mss * f->mss, q30) + f->mss - 1);
}

static void chd_init(struct chd *s, struct law_flow *f, const volatile struct chd_params *p)
{
	bool kernel = p->reference == HAMILTON_FREEBSD;

	*s = (struct chd){ .shadow = kernel ? f->cwnd : 0 };
	f->at_ssthresh = kernel;
}

static void chd_back_off(struct chd *s, struct law_flow *f, const struct hamilton *c, u64 chance, u32 drew,
			 const volatile struct chd_params *p)
{
	bool compete = p->reference == HAMILTON_FREEBSD ?
			       s->competing || s->h > s->h_b :
			       p->loss_fair && (s->h > c->q_th || (s->h < c->q_th && s->h > s->h_b)); /* Eq (3) */
	u64 to = chd_cut(p, f, f->cwnd, p->beta_delay);

	s->shadow = compete ? law_max(s->shadow, f->cwnd) : 0;
	s->h_b = s->h;
	s->outstanding = f->in_flight;
	law_reduce(f, to, hamilton_why(f, s->h, chance, drew));
}

/* Takes the round's delay and tosses, unless it rests after a back-off. True for a back-off. */
static bool chd_round(struct chd *s, struct law_flow *f, const struct law_round *r, bool rests,
		      const volatile struct chd_params *p)
{
	bool kernel = p->reference == HAMILTON_FREEBSD, hit = false;
	struct hamilton c = chd_curve(p);
	u64 rtt = p->use_max ? (kernel ? law_max(r->max_rtt_reused, r->max_rtt) : r->max_rtt) : f->rtt, chance = 0;
	u32 drew = 0;

	s->largest = 0;
	if (!rtt)
		return false;
	s->h = chd_queue(p, f, rtt);
	if (rests || f->phase == LAW_RECOVERY || f->phase == LAW_REDUCED)
		return false;
	if (s->h > c.q_min) {
		chance = hamilton_probability(&c, s->h, chd_queue(p, f, f->max_rtt));
		drew = host_draw(f);
		hit = drew < chance;
	}
	/* A miss in region B leaves the flag as it is; region A takes it back. */
	s->competing = s->h > c.q_th && (s->competing || (p->loss_fair && hit));
	if (hit)
		chd_back_off(s, f, &c, chance, drew, p);
	return hit;
}

/* Eq (2) without a hit. FreeBSD counts acknowledged bytes where the paper counts rounds. */
static void chd_grow(struct chd *s, struct law_flow *f, const struct law_ack *a, const volatile struct chd_params *p)
{
	u64 before = f->cwnd;

	if (p->reference == HAMILTON_FREEBSD || law_in_slow_start(f))
		hamilton_grow(f, a->cumulative);
	else if (a->closed)
		f->cwnd += f->mss;
	if (s->shadow)
		s->shadow += f->cwnd - before;
}

static void chd_ack(struct chd *s, struct law_flow *f, const struct law_ack *a, const volatile struct chd_params *p)
{
	/* FreeBSD ends its congestion recovery after the algorithm has seen the ACK that ends it. */
	bool rests = chd_once(p) && s->outstanding, repairing = f->phase == LAW_RECOVERY;

	s->outstanding = law_less(s->outstanding, a->cumulative);
	s->largest = law_max(s->largest, f->rtt);
	if (a->closed && chd_round(s, f, &a->round, rests, p))
		return;
	if (law_may_grow(f) || (repairing && s->tolerated && p->grow_in_recovery && f->cwnd_limited))
		chd_grow(s, f, a, p);
	else if (p->reference == HAMILTON_FREEBSD && repairing && s->shadow)
		/* FreeBSD does not ask whether a repair is under way. This host keeps no window of its own for one. */
		s->shadow += law_min(a->cumulative, 2 * f->mss);
}

/* Eq (4), and what NewReno's window would have done. */
static u64 chd_loss(struct chd *s, struct law_flow *f, const volatile struct chd_params *p)
{
	bool kernel = p->reference == HAMILTON_FREEBSD;
	struct hamilton c = chd_curve(p);
	u64 queue = kernel ? chd_queue(p, f, law_max(f->rtt, s->largest)) : s->h;
	u64 shadow = !kernel || s->competing ? s->shadow : 0, to;

	s->shadow /= 2;
	if (kernel && s->shadow)
		s->shadow = law_segments(f, s->shadow);
	s->tolerated = (kernel && s->outstanding) || (p->tolerate && queue <= c.q_th);
	if (s->tolerated) {
		u64 ssthresh = f->ssthresh;

		f->ssthresh = f->cwnd;
		law_why(f, f->lost, queue, 0, shadow, 0, 0, 0, 0);
		law_because(f, LAW_LOSS_TOLERATED, f->cwnd, ssthresh);
		return LAW_OWN;
	}
	to = chd_cut(p, f, law_max(f->cwnd, shadow), 1ULL << 29);
	if (shadow > f->cwnd) {
		law_why(f, to, 0, 0, 0, 0, 0, 0, 0);
		law_note(f, LAW_RESTORE);
	}
	return to;
}

static u64 chd_congestion(struct chd *s, struct law_flow *f, u32 signal, const volatile struct chd_params *p)
{
	if (signal == LAW_SIGNAL_LOSS)
		return chd_loss(s, f, p);
	if (signal == LAW_SIGNAL_ECN)
		return chd_once(p) && s->outstanding ? LAW_OWN : p->reference == HAMILTON_FREEBSD ? law_newreno_mark(f) : f->cwnd / 2;
	s->tolerated = s->outstanding = 0;
	if (p->reference != HAMILTON_FREEBSD)
		s->shadow = 0;
	return f->cwnd / 2;
}

static void chd_notice(struct chd *s, struct law_flow *f, u32 what, const volatile struct chd_params *p)
{
	bool tolerated = s->tolerated;

	if (what != LAW_RECOVERY_END)
		return;
	s->outstanding = s->tolerated = 0;
	if (tolerated && p->reference == HAMILTON_FREEBSD)
		hamilton_restart(f);
}

static void chd_wake(struct chd *s, struct law_flow *f, const volatile struct chd_params *p)
{
}

#endif
