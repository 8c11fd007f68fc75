/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CDG, CAIA Delay Gradient, by FreeBSD's or the paper's rules, as crates/cc/src/algo/cdg/freebsd.rs has it; the
 * equations, the sources and the meaning of every parameter are written there. Linux's rules are in Linux.
 */
#ifndef SOJOURN_LAW_CDG_H
#define SOJOURN_LAW_CDG_H

#include "gradient.h"

struct cdg_params {
	s64 reference, g, window, beta_delay, beta_loss, alpha_inc, use_ineffectual, consec_cong, hold_backoff, use_shadow;
	s64 use_tolerance, infer, unknown_full, recovery_bug, skip, raw_slow_start, slow_start_min, ack_counting;
	s64 slow_start_at_ssthresh, stale_rtt, table, shadow_after_cut, shadow_always_grows, grow_when_limited, restarts;
	s64 keep_two, own_start;
};

/* Gradients a moving average can hold here. */
#define CDG_WINDOW 16

enum { CDG_FREEBSD, CDG_LINUX, CDG_PAPER };
enum { CDG_SKIP_AUTO, CDG_SKIP_GRADIENT, CDG_SKIP_ROUND, CDG_SKIP_TOSS };

struct cdg_trend {
	s64 samples[CDG_WINDOW];
	s64 last, average;
};

struct cdg {
	struct cdg_trend min, max;
	u64 oldest;
	u64 previous, previous_min, previous_max;
	u64 queue;
	u64 shadow;
	u64 consecutive;
	u64 blind; /* the round under way follows a back-off */
	u64 outstanding;
	u64 rounds, step; /* alpha_inc */
	u64 kept;	  /* a loss under repair cut nothing */
	u64 begun;	  /* a gradient was taken */
	u64 chance, drew; /* the last toss */
};

#define CDG_KERNEL(p) ((p)->reference == CDG_FREEBSD)
#define CDG_RULE(p, name) law_switch((p)->name, CDG_KERNEL(p))

/* Packets that the window keeps. */
static u64 cdg_least(const volatile struct cdg_params *p)
{
	return law_switch(p->keep_two, !CDG_KERNEL(p)) ? 2 : 0;
}

static void cdg_init(struct cdg *s, struct law_flow *f, const volatile struct cdg_params *p)
{
	*s = (struct cdg){ .shadow = p->use_shadow ? f->cwnd : 0 };
	f->at_ssthresh = CDG_RULE(p, slow_start_at_ssthresh);
}

/* A difference of RTTs as a gradient: in FreeBSD 1/128 ms, otherwise nanoseconds. */
static s64 cdg_gradient(s64 ns, const volatile struct cdg_params *p)
{
	return CDG_RULE(p, table) ? law_div(ns * 128, LAW_MS) : ns;
}

static s64 cdg_nanos(s64 gradient, const volatile struct cdg_params *p)
{
	return CDG_RULE(p, table) ? law_div(gradient * (s64)LAW_MS, 128) : gradient;
}

static void cdg_push(struct cdg_trend *t, s64 gradient, u64 oldest, const volatile struct cdg_params *p)
{
	t->last = gradient;
	if (!p->window) {
		t->average = gradient;
		return;
	}
	oldest &= CDG_WINDOW - 1;
	t->average += law_div(gradient - t->samples[oldest], p->window);
	t->samples[oldest] = gradient;
}

/* FreeBSD's threshold of 32 random bits, Q32; the last line is Eq 2.27 without the table. */
static u64 cdg_chance(u64 gradient, const volatile struct cdg_params *p)
{
	u64 g = p->g, one = 1ULL << 30, index, entry;

	if (!CDG_RULE(p, table))
		return law_probability(gradient, law_ms(g));
	if (gradient << 30 > 5 * 128 * g)
		return LAW_ONE;
	index = ((gradient << 30) + (g > one ? g / 2 / one * one : 0)) / g;
	entry = index ? (law_probability(index, 128) + (1 << 16)) >> 17 : 10;
	return 131071 * entry;
}

/* One toss a round, for the first gradient that rises. In slow start gradients as they are come first. */
static bool cdg_toss(struct cdg *s, struct law_flow *f, const volatile struct cdg_params *p)
{
	bool slow_start = law_in_slow_start(f), raw, only_min;
	s64 gradient = 0;

	if (slow_start && !p->own_start)
		return false;
	only_min = slow_start && p->slow_start_min;
	raw = only_min || (slow_start && CDG_RULE(p, raw_slow_start));
	if (raw && s->min.last > 0)
		gradient = s->min.last;
	else if (!only_min && s->min.average > 0)
		gradient = s->min.average;
	else if (raw && !only_min && s->max.last > 0)
		gradient = s->max.last;
	else if (!only_min && s->max.average > 0)
		gradient = s->max.average;
	s->chance = s->drew = 0;
	if (gradient <= 0)
		return false;
	s->chance = cdg_chance(gradient, p);
	s->drew = host_draw(f);
	return s->drew < s->chance;
}

static u32 cdg_why(struct cdg *s, struct law_flow *f, const volatile struct cdg_params *p)
{
	s64 probability = law_ppb(s->chance), drew = law_ppb(s->drew);

	if (law_in_slow_start(f) && f->ssthresh == LAW_NEVER) {
		s64 gradient = s->min.last > 0 ? s->min.last : s->max.last;

		law_why(f, LAW_EXIT_GRADIENT, f->rtt, f->min_rtt, cdg_nanos(gradient, p), probability, drew, 0, 0);
		return LAW_SLOW_START_EXIT;
	}
	law_why(f, cdg_nanos(s->min.last, p), cdg_nanos(s->max.last, p), cdg_nanos(s->min.average, p),
		cdg_nanos(s->max.average, p), probability, drew, law_less(f->rtt, f->min_rtt), 0);
	return LAW_DELAY_BACKOFF;
}

static void cdg_back_off(struct cdg *s, struct law_flow *f, const volatile struct cdg_params *p)
{
	u64 to = law_min(f->cwnd, f->receive_window);

	if (!(p->slow_start_min && law_in_slow_start(f)))
		to = law_part(to, p->beta_delay);
	s->outstanding = f->in_flight;
	s->rounds = s->step = 0;
	law_reduce(f, to, cdg_why(s, f, p));
}

/* A delay indication: back off, unless backing off has proved ineffectual. */
static void cdg_congested(struct cdg *s, struct law_flow *f, const volatile struct cdg_params *p)
{
	u64 window = f->cwnd;

	s->consecutive++;
	if (f->phase == LAW_RECOVERY || s->outstanding)
		return;
	if (!p->use_ineffectual || s->consecutive <= p->consec_cong) {
		cdg_back_off(s, f, p);
	} else {
		law_why(f, law_ppb(s->chance), law_ppb(s->drew), s->consecutive, law_less(f->rtt, f->min_rtt), 0, 0, 0, 0);
		law_note(f, LAW_DELAY_IGNORED);
		if (s->consecutive >= p->consec_cong + p->hold_backoff)
			s->consecutive = 0;
	}
	s->blind = 1;
	if (p->use_shadow)
		s->shadow = law_max(s->shadow, CDG_RULE(p, shadow_after_cut) ? f->cwnd : window);
}

/* What the thesis calls loss mode (4.3.3.1): the next delay indication will be ignored. */
static s64 cdg_mode(const struct cdg *s, const volatile struct cdg_params *p)
{
	return p->use_ineffectual && s->consecutive >= p->consec_cong ? LAW_MODE_LOSS : LAW_MODE_DELAY;
}

/* True if the round indicated congestion, acted upon or not. */
static bool cdg_round(struct cdg *s, struct law_flow *f, const struct law_round *r, const volatile struct cdg_params *p)
{
	bool stale = CDG_RULE(p, stale_rtt), blind = s->blind, before, hit;
	u64 min = stale ? r->min_rtt_reused : r->min_rtt, max = stale ? r->max_rtt_reused : r->max_rtt;
	u64 skip = p->skip ? p->skip : CDG_KERNEL(p) ? CDG_SKIP_GRADIENT : CDG_SKIP_TOSS;
	u64 previous_min = s->previous_min, previous_max = s->previous_max;
	s64 mode;

	s->blind = 0;
	if (blind && skip == CDG_SKIP_ROUND)
		return false;
	before = s->previous && !(blind && skip == CDG_SKIP_GRADIENT);
	s->previous = max > 0;
	s->previous_min = min;
	s->previous_max = max;
	if (!before || !max)
		return false;
	if (!s->begun) {
		s->begun = 1;
		/* Of the initial window's burst (5.4.1), ignored with its RTT as a round after a back-off is. */
		if (p->slow_start_min && law_in_slow_start(f)) {
			s->previous = 0;
			return false;
		}
	}
	cdg_push(&s->min, cdg_gradient(min - previous_min, p), s->oldest, p);
	cdg_push(&s->max, cdg_gradient(max - previous_max, p), s->oldest, p);
	s->oldest = s->oldest + 1 >= p->window ? 0 : s->oldest + 1;
	hit = !(blind && skip == CDG_SKIP_TOSS) && cdg_toss(s, f, p);

	s->queue = law_queue_state(s->queue, s->min.average, s->max.average);
	if (s->queue == LAW_QUEUE_EMPTY && s->min.average >= 0 && s->max.average < 0)
		s->shadow = 0;
	mode = cdg_mode(s, p);
	if (s->min.average < 0 || s->max.average < 0)
		s->consecutive = 0;
	if (hit)
		cdg_congested(s, f, p);
	if (cdg_mode(s, p) != mode) {
		law_why(f, mode, cdg_mode(s, p), law_less(f->rtt, f->min_rtt), 0, 0, 0, 0, 0);
		law_note(f, LAW_MODE_SWITCH);
	}
	return hit;
}

static void cdg_grow_shadow(struct cdg *s, u64 by)
{
	if (s->shadow)
		s->shadow += by;
}

static void cdg_grow(struct cdg *s, struct law_flow *f, const struct law_ack *a, const volatile struct cdg_params *p)
{
	u64 before = f->cwnd, packets = 1;

	if (law_in_slow_start(f)) {
		law_slow_start(f, law_growth(a, f->mss, CDG_RULE(p, ack_counting)));
		cdg_grow_shadow(s, f->cwnd - before);
		s->rounds = s->step = 0;
	} else if (a->closed) {
		cdg_grow_shadow(s, f->mss);
		if (p->alpha_inc) {
			if (++s->rounds >= p->alpha_inc) {
				s->rounds = 0;
				s->step++;
			}
			packets = s->step;
		}
		f->cwnd += f->mss * packets;
	}
}

static void cdg_ack(struct cdg *s, struct law_flow *f, const struct law_ack *a, const volatile struct cdg_params *p)
{
	s->outstanding = law_less(s->outstanding, a->cumulative);
	if (a->closed && cdg_round(s, f, &a->round, p)) {
		if (law_switch(p->shadow_always_grows, !CDG_KERNEL(p)))
			cdg_grow_shadow(s, f->mss);
		return;
	}
	if (!a->cumulative)
		return;
	if (f->phase == LAW_RECOVERY) {
		/* FreeBSD's CDG does not ask whether a repair is under way. This host keeps no window of its own for one. */
		if (CDG_RULE(p, restarts))
			cdg_grow_shadow(s, f->mss);
		return;
	}
	if (f->cwnd_limited || (CDG_RULE(p, grow_when_limited) && f->cwnd < f->receive_window))
		cdg_grow(s, f, a, p);
}

/* Should this loss be taken for random? */
static bool cdg_tolerates(const struct cdg *s, const struct law_flow *f, const volatile struct cdg_params *p)
{
	bool full = s->queue == LAW_QUEUE_FULL || (s->queue == LAW_QUEUE_UNKNOWN && CDG_RULE(p, unknown_full));

	if (p->infer)
		full = law_less(f->rtt, f->min_rtt) * 4 >= law_less(f->max_rtt, f->min_rtt) * 3;
	return (CDG_RULE(p, recovery_bug) && s->outstanding) || (law_switch(p->use_tolerance, true) && !full);
}

static u64 cdg_loss(struct cdg *s, struct law_flow *f, const volatile struct cdg_params *p)
{
	u64 ssthresh = f->ssthresh, to;

	s->kept = 1;
	if (cdg_tolerates(s, f, p)) {
		f->ssthresh = f->cwnd;
		law_why(f, f->lost, law_less(f->rtt, f->min_rtt), s->queue, s->shadow, 0, 0, 0, 0);
		law_because(f, LAW_LOSS_TOLERATED, f->cwnd, ssthresh);
		return LAW_OWN;
	}
	s->rounds = s->step = 0;
	s->shadow /= 2;
	to = law_max(s->shadow, law_part(law_min(f->cwnd, f->receive_window), p->beta_loss));
	if (to <= f->cwnd) {
		s->kept = 0;
		return to;
	}
	/* A larger shadow is only the threshold: the window grows towards it as in slow start. */
	f->ssthresh = to;
	law_why(f, f->lost, f->in_flight, s->shadow, 0, 0, 0, 0, 0);
	law_because(f, LAW_LOSS_BACKOFF, f->cwnd, ssthresh);
	return LAW_OWN;
}

static u64 cdg_congestion(struct cdg *s, struct law_flow *f, u32 signal, const volatile struct cdg_params *p)
{
	if (signal == LAW_SIGNAL_LOSS)
		return cdg_loss(s, f, p);
	if (signal == LAW_SIGNAL_ECN) {
		if (s->outstanding)
			return LAW_OWN;
		s->outstanding = f->in_flight;
		return law_newreno_mark(f);
	}
	s->kept = s->outstanding = 0;
	return f->cwnd / 2;
}

static void cdg_notice(struct cdg *s, struct law_flow *f, u32 what, const volatile struct cdg_params *p)
{
	bool kept = s->kept;

	if (what != LAW_RECOVERY_END)
		return;
	s->outstanding = s->kept = 0;
	if (kept && CDG_RULE(p, restarts))
		hamilton_restart(f);
}

static void cdg_wake(struct cdg *s, struct law_flow *f, const volatile struct cdg_params *p)
{
}

#endif
