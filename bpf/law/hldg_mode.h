/* SPDX-License-Identifier: GPL-2.0 */
/* Delay, loss and probe mode and what changes with them: hldg/mode.rs, hldg/loss_mode.rs and half of hldg/probes.rs. */
#ifndef SOJOURN_LAW_HLDG_MODE_H
#define SOJOURN_LAW_HLDG_MODE_H

#include "hldg_base_rtt.h"
#include "hldg_start.h"

enum { HLDG_STAY, HLDG_ENTER_LOSS, HLDG_ENTER_DELAY, HLDG_BACK_TO_LOSS };
enum { HLDG_REGROW, HLDG_SEARCH, HLDG_STAY_SMALL }; /* after_probe */

static void hldg_modes_new(struct hldg_modes *m)
{
	*m = (struct hldg_modes){ .mode = LAW_MODE_DELAY, .entry = LAW_NEVER, .probe_until = LAW_NEVER };
}

static void hldg_curve_new(struct hldg *s)
{
	cubic_new(&s->curve);
	s->restore.target = 0;
}

static u64 hldg_count(u64 bits)
{
	u64 n = 0;
	int i;

	for (i = 0; i < 32; i++)
		n += bits >> i & 1;
	return n;
}

static bool hldg_all_high(const struct hldg_modes *m, const volatile struct hldg_params *p)
{
	return m->len == p->rounds && hldg_count(m->high) == p->rounds;
}

static bool hldg_mostly_low(const struct hldg_modes *m, const volatile struct hldg_params *p)
{
	return m->len == p->rounds && 4 * hldg_count(m->high) <= p->rounds;
}

static u32 hldg_return_to_loss(struct hldg_modes *m, u64 now, const volatile struct hldg_params *p)
{
	m->mode = LAW_MODE_LOSS;
	m->probe_epoch = law_less(now, m->probe_began);
	m->entered = now;
	if (p->dwell_again)
		m->switched = now;
	return HLDG_BACK_TO_LOSS;
}

/* A round ended, or in a probe an RTT; `high`: its smallest queueing delay exceeded the threshold. */
static u32 hldg_modes_round(struct hldg_modes *m, u64 now, bool high, const volatile struct hldg_params *p)
{
	if (p->lpcc || !law_switch(p->mode_switch, p->bdp))
		return HLDG_STAY;
	m->high = (m->high << 1 | high) & ((1ULL << p->rounds) - 1);
	m->len = law_min(m->len + 1, p->rounds);
	if (m->mode == LAW_MODE_DELAY) {
		if (hldg_all_high(m, p) && m->entry == LAW_NEVER)
			m->entry = now + p->loss_entry;
		return HLDG_STAY;
	}
	if (m->mode == LAW_MODE_LOSS) {
		if (!p->leave_loss || law_less(now, m->switched) <= p->loss_dwell || !hldg_mostly_low(m, p))
			return HLDG_STAY;
		m->mode = LAW_MODE_DELAY;
		return HLDG_ENTER_DELAY;
	}
	m->probe_rounds++;
	if (hldg_mostly_low(m, p)) {
		m->mode = LAW_MODE_DELAY;
		return HLDG_ENTER_DELAY;
	}
	return m->probe_rounds >= p->rounds ? hldg_return_to_loss(m, now, p) : HLDG_STAY;
}

static u32 hldg_modes_wake(struct hldg_modes *m, u64 now, const volatile struct hldg_params *p)
{
	if (now >= m->entry) {
		m->entry = LAW_NEVER;
		if (m->mode == LAW_MODE_DELAY && hldg_all_high(m, p)) {
			m->mode = LAW_MODE_LOSS;
			m->switched = m->entered = now;
			return HLDG_ENTER_LOSS;
		}
	}
	if (m->mode == LAW_MODE_PROBE && now >= m->probe_until)
		return hldg_return_to_loss(m, now, p);
	return HLDG_STAY;
}

/* Is this loss an occasion to look whether the competitors are still there? */
static bool hldg_modes_probes(const struct hldg_modes *m, u64 now, const volatile struct hldg_params *p)
{
	return m->mode == LAW_MODE_LOSS && law_less(now, m->switched) > p->loss_dwell &&
	       law_less(now, m->entered) > m->probe_epoch;
}

static u64 hldg_wakes_at(const struct hldg *s, const volatile struct hldg_params *p)
{
	u64 at = s->modes.mode == LAW_MODE_PROBE ? s->modes.probe_until : s->modes.entry;

	if (s->restore.target)
		at = law_min(at, s->restore.next);
	return s->modes.mode == LAW_MODE_DELAY ? law_min(at, hldg_base_deadline(s, p)) : at;
}

static void hldg_forget_delay(struct hldg *s)
{
	hldg_gradients_clear(&s->gradients);
	s->sum_min = s->sum_max = 0;
	s->consecutive = 0;
	s->queue = LAW_QUEUE_UNKNOWN;
}

/* Takes the steps towards the curve that are due (Eq 5.14). */
static void hldg_restore_steps(struct hldg *s, struct law_flow *f)
{
	struct hldg_restore *r = &s->restore;
	u64 steps;

	if (!r->target || f->now < r->next)
		return;
	steps = 1 + (f->now - r->next) / law_max(r->interval, 1);
	f->cwnd = law_max(f->cwnd, law_min(f->cwnd + f->mss * steps, r->target));
	r->next += r->interval * steps;
	if (f->cwnd >= r->target)
		r->target = 0;
}

/* Back from the probe: heads for the curve. */
static void hldg_restore_begin(struct hldg *s, struct law_flow *f, const volatile struct hldg_params *p)
{
	u64 t = s->curve.epoch == LAW_NEVER ? 0 : law_less(f->now, s->curve.epoch);
	u64 target = law_mul_div(cubic_window(&s->curve, t, p->c_cubic), f->mss, 1 << 16);

	if (target <= f->cwnd)
		return;
	/* The threshold of two packets was the probe's: a repair that outlasts it may have CUBIC's. */
	f->ssthresh = law_max(s->restore.threshold, f->floor);
	s->restore.target = target;
	s->restore.interval = law_max(law_mul_div(2 * f->rtt, f->mss, target - f->cwnd), 1);
	s->restore.next = f->now + s->restore.interval;
	law_why(f, target, s->restore.interval, 0, 0, 0, 0, 0, 0);
	law_note(f, LAW_RESTORE);
}

/* Growth in loss mode. */
static void hldg_loss_ack(struct hldg *s, struct law_flow *f, const struct law_ack *a, const volatile struct hldg_params *p)
{
	u64 acked = law_advance(a);

	if (s->restore.target) {
		hldg_restore_steps(s, f);
		return;
	}
	if (!law_may_grow(f)) {
		if (f->phase == LAW_OPEN && s->curve.unused_since == LAW_NEVER)
			s->curve.unused_since = f->now;
		return;
	}
	if (f->cwnd < f->ssthresh)
		acked = law_slow_start(f, law_growth(a, f->mss, p->loss_ack_counting));
	if (acked)
		cubic_avoidance(&s->curve, f, acked, p->c_cubic, p->beta_cubic);
}

/* Nobody there: the window grows as in slow start to what it had. */
static void hldg_enter_delay(struct hldg *s, struct law_flow *f, bool probing, const volatile struct hldg_params *p)
{
	hldg_forget_delay(s);
	s->restore.target = 0;
	if (p->after_probe != HLDG_STAY_SMALL) {
		u64 bdp = hldg_carries(probing ? s->bandwidth_before_probe : s->bandwidth, s->base.rtt);

		f->ssthresh = law_max(law_part(bdp, hldg_lambda(p)), f->floor);
		f->cwnd = law_min(f->cwnd, f->ssthresh);
	}
	if (p->after_probe == HLDG_SEARCH && p->own_start)
		hldg_start_again(s);
	if (p->use_shadow && !p->lpcc)
		s->shadow = f->cwnd;
	hldg_base_begin(s, f->now, p);
}

/* Carries out a change of mode. */
static void hldg_turn(struct hldg *s, struct law_flow *f, u32 turn, bool probing, const volatile struct hldg_params *p)
{
	u64 cwnd = f->cwnd, ssthresh = f->ssthresh, from = LAW_MODE_PROBE, to = LAW_MODE_LOSS;

	if (turn == HLDG_STAY)
		return;
	if (turn == HLDG_ENTER_LOSS) {
		hldg_abandon_base_probe(s, f);
		hldg_forget_delay(s);
		hldg_curve_new(s);
		s->start.searching = 0;
		f->ssthresh = LAW_NEVER;
		from = LAW_MODE_DELAY;
	} else if (turn == HLDG_ENTER_DELAY) {
		hldg_enter_delay(s, f, probing, p);
		from = probing ? LAW_MODE_PROBE : LAW_MODE_LOSS;
		to = LAW_MODE_DELAY;
	} else {
		hldg_restore_begin(s, f, p);
	}
	if (from == LAW_MODE_PROBE) {
		law_why(f, LAW_PROBE_COMPETITORS, s->base.rtt, s->queue_min, 0, 0, 0, 0, 0);
		law_note(f, LAW_PROBE_END);
	}
	law_why(f, from, to, s->queue_min, s->bandwidth, 0, 0, 0, 0);
	law_because(f, LAW_MODE_SWITCH, cwnd, ssthresh);
}

/* An RTT measured in a probe. Its RTTs go by the clock, as rounds by sequence last as long as its repair. */
static void hldg_probe_measures(struct hldg *s, struct law_flow *f, u64 rtt, const volatile struct hldg_params *p)
{
	struct hldg_modes *m = &s->modes;

	m->smallest = law_min(m->smallest, rtt);
	if (law_less(f->now, m->elapsing) < rtt)
		return;
	s->queue_min = law_less(m->smallest, s->base.rtt);
	m->elapsing = f->now;
	m->smallest = LAW_NEVER;
	hldg_turn(s, f, hldg_modes_round(m, f->now, s->queue_min > p->queue_threshold, p), true, p);
}

/* A loss in loss mode: look whether the competitors are still there, as the queue falls anyway. */
static void hldg_probe_for_competitors(struct hldg *s, struct law_flow *f, bool lost, const volatile struct hldg_params *p)
{
	u64 cwnd = f->cwnd, ssthresh = f->ssthresh, after;

	s->restore.target = 0;
	after = cubic_reduce(&s->curve, f, false, p->beta_cubic);
	cubic_begin(&s->curve, cubic_packets(after, f->mss), f->now, p->c_cubic);
	s->restore.threshold = after;
	s->bandwidth_before_probe = s->bandwidth;
	s->repairing = lost;
	hldg_forget_delay(s);
	s->modes.mode = LAW_MODE_PROBE;
	s->modes.high = s->modes.len = s->modes.probe_rounds = 0;
	s->modes.probe_began = s->modes.elapsing = f->now;
	s->modes.smallest = LAW_NEVER;
	s->modes.probe_until = f->now + f->rtt * 2 * p->rounds;
	f->cwnd = f->ssthresh = law_min(f->cwnd, 2 * f->mss);
	law_why(f, f->lost, f->in_flight, 0, hldg_bdp(s), 0, 0, 0, 0);
	law_because(f, LAW_LOSS_BACKOFF, cwnd, ssthresh);
	law_why(f, LAW_MODE_LOSS, LAW_MODE_PROBE, s->queue_min, s->bandwidth, 0, 0, 0, 0);
	law_note(f, LAW_MODE_SWITCH);
	law_why(f, LAW_PROBE_COMPETITORS, s->base.rtt, 0, 0, 0, 0, 0, 0);
	law_note(f, LAW_PROBE_START);
}

#endif
