/* SPDX-License-Identifier: GPL-2.0 */
/*
 * HLDG, Hybrid Loss-Delay Gradient: crates/cc/src/algo/hldg in fixed point. The equations, the source, the readings of
 * the thesis and the meaning of every parameter are written there; the parts here have the names of its files:
 * hldg_gradient.h, hldg_base_rtt.h, hldg_mode.h, and this file for the decision and the window.
 */
#ifndef SOJOURN_LAW_HLDG_H
#define SOJOURN_LAW_HLDG_H

#include "hldg_state.h"
#include "hldg_gradient.h"
#include "hldg_base_rtt.h"
#include "hldg_mode.h"

static void hldg_init(struct hldg *s, struct law_flow *f, const volatile struct hldg_params *p)
{
	*s = (struct hldg){ 0 };
	f->at_ssthresh = p->slow_start_at_ssthresh;
	s->base.rtt = s->base.due = LAW_NEVER;
	hldg_modes_new(&s->modes);
	hldg_curve_new(s);
	s->start.searching = p->own_start;
	s->start.initial = 1;
	s->shadow = p->use_shadow && !p->lpcc ? f->cwnd : 0;
}

static u64 hldg_accumulate(u64 sum, u64 chance, const volatile struct hldg_params *p)
{
	return p->accumulate && chance ? sum + chance : chance;
}

/* The packets that may queue (Eq 5.4), Q16. */
static u64 hldg_gamma(u64 bps, u64 window)
{
	if (bps < 2000000)
		return 0;
	return law_min(law_max(law_mul_div(bps, 1 << 16, 10000000), 2 << 16), (window - 1) << 16);
}

static u64 hldg_window(const volatile struct hldg_params *p)
{
	return law_max(law_min(p->window, HLDG_WINDOW), 1);
}

/* The gradient below which slow start goes on, ns: that of γ packets, which are not averaged there. */
static u64 hldg_start_threshold(const struct hldg *s, const struct law_flow *f, const volatile struct hldg_params *p)
{
	/* train, round */
	u64 bandwidth = !p->start_bandwidth && s->start.rate ? s->start.rate : s->bandwidth;
	u64 bps = law_mul_div(bandwidth, p->mtu, f->mss), window = hldg_window(p);
	/* packets, window, none */
	u64 over = p->start_threshold ? window : 1;

	if (!p->threshold || p->start_threshold == 2 || !bps)
		return 0;
	return law_mul_div(hldg_gamma(bps, window) / over, law_mul_div(8000000000ULL, p->mtu, bps), 1 << 16);
}

/* The gradient below which nothing happens, in HLDG_UNIT ns (Eq 5.3, 5.4); B counts payload, packets the network layer. */
static u64 hldg_threshold(const struct hldg *s, const struct law_flow *f, const volatile struct hldg_params *p)
{
	u64 bps = law_mul_div(s->bandwidth, p->mtu, f->mss), packet, gamma, sum = 0;
	u64 window = hldg_window(p);
	int i;

	if (!p->threshold || !bps)
		return 0;
	packet = law_mul_div(8000000000ULL, p->mtu, bps);
	gamma = hldg_gamma(bps, window);
	if (!p->threshold_by)
		/* γ packets over W_size; the bits per packet go first, lest the quotient lose them. */
		return law_mul_div(gamma * HLDG_UNIT / window, law_mul_div(8000000000ULL, p->mtu << 8, bps), 1 << 24);
	for (i = HLDG_WINDOW - 1; i >= 0; i--) {
		sum += hldg_weight(i, p) * law_min(gamma, 1 << 16);
		gamma = law_less(gamma, 1 << 16);
	}
	return law_mul_div(sum, packet, 1 << 16);
}

/* G in ns for a queueing delay (section 5.3.1). */
static u64 hldg_adaptive_g(u64 queue, const volatile struct hldg_params *p)
{
	u64 g = law_ms(p->g), most = law_max(law_ms(p->g_max), g), over = law_less(queue, p->g_queue), x;

	if (!over || p->lpcc || !law_switch(p->adaptive_g, p->bdp))
		return g;
	x = law_mul_div(over, p->g_rate, LAW_MS);
	if (x >= 20ULL << 30)
		return most;
	return law_min(law_mul_div(g, LAW_ONE, law_exp_neg(x)), most);
}

/* Tosses. True: congestion. */
static bool hldg_decide(struct hldg *s, struct law_flow *f, const volatile struct hldg_params *p)
{
	u64 queue = p->g_delay ? s->queue_min : hldg_queueing(s, f), threshold = hldg_threshold(s, f, p);
	u64 g = hldg_adaptive_g(queue, p) * HLDG_UNIT;
	s64 min = s->gradients.min.average, max = s->gradients.max.average;

	s->sum_min = hldg_accumulate(s->sum_min, min <= 0 || min < (s64)threshold ? 0 : law_probability(min, g), p);
	s->sum_max = hldg_accumulate(s->sum_max, max <= 0 || max < (s64)threshold ? 0 : law_probability(max, g), p);
	s->chance = s->sum_min || (p->min_first && min > 0) ? s->sum_min : s->sum_max;
	s->drew = 0;
	if (!s->chance)
		return false;
	s->drew = host_draw(f);
	return s->drew < s->chance;
}

/* Where a delay back-off leads (Eq 5.6, with the option 5.8). */
static u64 hldg_back_off_to(const struct hldg *s, const struct law_flow *f, const volatile struct hldg_params *p)
{
	u64 by_beta = law_part(f->cwnd, p->beta_delay), bdp = hldg_bdp(s), by_bdp;

	if (!p->bdp || bdp > f->cwnd)
		return by_beta;
	by_bdp = law_part(bdp, hldg_lambda(p));
	return p->use_max ? law_max(by_bdp, by_beta) : by_bdp;
}

/* A delay indication: back off, unless backing off has proved ineffectual. */
static void hldg_congested(struct hldg *s, struct law_flow *f, const volatile struct hldg_params *p)
{
	u64 before = f->cwnd;

	s->consecutive++;
	if (!p->use_ineffectual || p->lpcc || s->consecutive <= p->consec_cong) {
		u64 to = hldg_back_off_to(s, f, p);

		s->start.searching = 0;
		law_why(f, s->gradients.min.last, s->gradients.max.last, law_div(s->gradients.min.average, HLDG_UNIT),
			law_div(s->gradients.max.average, HLDG_UNIT), law_ppb(s->chance), law_ppb(s->drew),
			hldg_queueing(s, f), hldg_bdp(s));
		law_reduce(f, to, LAW_DELAY_BACKOFF);
		s->gradients.stage = HLDG_BLIND;
		s->sum_min = s->sum_max = 0;
	} else {
		law_why(f, law_ppb(s->chance), law_ppb(s->drew), s->consecutive, hldg_queueing(s, f), 0, 0, 0, 0);
		law_note(f, LAW_DELAY_IGNORED);
		if (s->consecutive >= p->consec_cong + p->hold_backoff)
			s->consecutive = 0;
		s->gradients.stage = HLDG_SKIP;
	}
	s->base.backed_off = f->now;
	if (s->modes.mode == LAW_MODE_DELAY && hldg_base_due(s, f->now))
		hldg_probe_base(s, f, p);
	if (p->use_shadow && !p->lpcc)
		s->shadow = law_max(s->shadow, p->shadow_after_cut ? f->cwnd : before);
}

/* Takes the gradients of a round, and what follows from them but a back-off. */
static u32 hldg_measure(struct hldg *s, const struct law_flow *f, u64 min, u64 max, const volatile struct hldg_params *p)
{
	bool repair = f->phase == LAW_RECOVERY, slow_start = !repair && f->cwnd < f->ssthresh;
	bool first = slow_start && s->start.initial && hldg_comparable(&s->gradients);
	u32 outcome;

	if (first || (slow_start && !p->every_round))
		hldg_interrupt(&s->gradients);
	if (first || ((repair || slow_start) && !p->every_round))
		return HLDG_NOTHING;
	outcome = hldg_gradients(&s->gradients, min, max, p);
	if (!outcome)
		return HLDG_NOTHING;
	if ((outcome == HLDG_EFFECTUAL && p->zsgw_effectual) || s->gradients.min.average < 0 || s->gradients.max.average < 0)
		s->consecutive = 0;
	s->queue = law_queue_state(s->queue, s->gradients.min.average, s->gradients.max.average);
	if (p->forget_shadow && s->queue == LAW_QUEUE_EMPTY && s->gradients.min.average >= 0 && s->gradients.max.average < 0)
		s->shadow = 0;
	return outcome;
}

/* Everything that happens once a round. True: congestion was indicated. */
static bool hldg_round(struct hldg *s, struct law_flow *f, const struct law_round *r, const volatile struct hldg_params *p)
{
	u64 min = p->stale_rtt ? r->min_rtt_reused : r->min_rtt, max = p->stale_rtt ? r->max_rtt_reused : r->max_rtt;
	u32 outcome;

	if (!p->bandwidth)
		s->bandwidth = hldg_rate(p->acked ? r->delivered : s->acked, law_less(r->end, r->start));
	else
		s->bandwidth = hldg_rate(f->cwnd, f->srtt);
	s->acked = 0;
	if (!r->samples)
		return false;
	if (s->modes.mode != LAW_MODE_PROBE) {
		s->queue_min = law_less(min, s->base.rtt);
		hldg_turn(s, f, hldg_modes_round(&s->modes, f->now, s->queue_min > p->queue_threshold, p), false, p);
	}
	if (hldg_base_round(s, r->start))
		hldg_end_base_probe(s, f, p);
	if (s->regrowing && f->cwnd >= f->ssthresh) {
		s->regrowing = 0;
		hldg_interrupt(&s->gradients);
		return false;
	}
	if (s->modes.mode == LAW_MODE_LOSS || s->base.probing || s->regrowing)
		return false;
	outcome = hldg_measure(s, f, min, max, p);
	if (f->phase != LAW_RECOVERY && f->cwnd < f->ssthresh) {
		bool ended = hldg_start_round(s, f, min, hldg_start_threshold(s, f, p), p);

		if (ended)
			s->gradients.stage = HLDG_SKIP;
		return ended;
	}
	if (f->phase == LAW_RECOVERY || !outcome || !hldg_decide(s, f, p))
		return false;
	hldg_congested(s, f, p);
	return true;
}

static void hldg_grow(struct hldg *s, struct law_flow *f, const struct law_ack *a, const volatile struct hldg_params *p)
{
	u64 before = f->cwnd;

	if (f->phase == LAW_RECOVERY && !s->repairing && p->repair_growth > (s->modes.mode != LAW_MODE_LOSS)) {
		/* This host keeps no window of its own for a repair. */
		if (s->modes.mode != LAW_MODE_LOSS && s->shadow)
			s->shadow += f->mss;
		return;
	}
	if (s->modes.mode == LAW_MODE_LOSS) {
		hldg_loss_ack(s, f, a, p);
		return;
	}
	if (s->repairing && f->phase == LAW_RECOVERY) {
		if (f->cwnd < f->ssthresh)
			law_slow_start(f, a->delivered);
		return;
	}
	if (!law_may_grow(f) || (s->base.probing && p->base_hold > 0))
		return;
	if (law_in_slow_start(f))
		hldg_start_ack(s, f, a, p);
	else if (a->closed)
		f->cwnd += f->mss;
	if (s->shadow)
		s->shadow += law_less(f->cwnd, before);
}

static void hldg_ack(struct hldg *s, struct law_flow *f, const struct law_ack *a, const volatile struct hldg_params *p)
{
	bool hit;

	if (a->rtt && (p->base_in_repairs || (f->phase != LAW_RECOVERY && f->phase != LAW_TIMED_OUT)))
		hldg_base_sees(s, f->now, a->rtt, p);
	s->acked += a->cumulative;
	hit = a->closed && hldg_round(s, f, &a->round, p);
	if (a->rtt && s->modes.mode == LAW_MODE_PROBE)
		hldg_probe_measures(s, f, a->rtt, p);
	if (hit)
		return;
	if (a->cumulative || s->repairing)
		hldg_grow(s, f, a, p);
}

/* What a loss in delay mode leaves (section 5.5). */
static u64 hldg_after_loss(struct hldg *s, struct law_flow *f, const volatile struct hldg_params *p)
{
	u64 window = f->cwnd, bdp = hldg_bdp(s);
	bool within = bdp < window && bdp > law_part(window, p->beta_delay);
	u64 to = p->westwood && within && window >= f->ssthresh ? bdp : law_part(window, p->beta_loss);

	s->shadow /= 2;
	if (p->shadow_cap)
		s->shadow = law_min(s->shadow, window);
	s->lift = s->shadow;
	return law_max(to, law_min(s->shadow, window));
}

/* Congestion in delay mode or in a probe. */
static u64 hldg_lose(struct hldg *s, struct law_flow *f, u32 signal, const volatile struct hldg_params *p)
{
	bool probing = s->modes.mode == LAW_MODE_PROBE;
	bool searches = signal == LAW_SIGNAL_TIMEOUT || (signal == LAW_SIGNAL_LOSS && p->search_again);
	u64 to;

	if (signal == LAW_SIGNAL_TIMEOUT)
		to = f->cwnd / 2;
	else if (probing)
		to = f->cwnd;
	else if (signal == LAW_SIGNAL_LOSS)
		to = hldg_after_loss(s, f, p);
	else
		to = law_newreno_mark(f);
	hldg_abandon_base_probe(s, f);
	s->start.searching = 0;
	if (p->own_start && searches && !probing)
		hldg_start_again(s);
	s->sum_min = s->sum_max = 0;
	if (!p->every_round)
		hldg_interrupt(&s->gradients);
	return to;
}

static u64 hldg_congestion(struct hldg *s, struct law_flow *f, u32 signal, const volatile struct hldg_params *p)
{
	bool timeout = signal == LAW_SIGNAL_TIMEOUT;

	s->repairing = 0;
	s->lift = 0;
	if (s->modes.mode == LAW_MODE_LOSS) {
		if (!timeout && hldg_modes_probes(&s->modes, f->now, p)) {
			hldg_probe_for_competitors(s, f, signal == LAW_SIGNAL_LOSS, p);
			return LAW_OWN;
		}
		s->restore.target = 0;
		return cubic_reduce(&s->curve, f, timeout, p->beta_cubic);
	}
	return hldg_lose(s, f, signal, p);
}

static void hldg_notice(struct hldg *s, struct law_flow *f, u32 what, const volatile struct hldg_params *p)
{
	u64 lift = s->lift;

	s->repairing = 0;
	if (what == LAW_UNDONE)
		return;
	s->lift = 0;
	if (what != LAW_RECOVERY_END || !p->every_round)
		hldg_interrupt(&s->gradients);
	if (s->modes.mode != LAW_MODE_DELAY)
		return;
	if (what == LAW_RECOVERY_END)
		f->ssthresh = law_max(f->ssthresh, lift);
	else if (p->own_start && p->search_again && law_in_slow_start(f))
		hldg_start_again(s);
}

/* The timers, on hosts that have none: called before every ACK. */
static void hldg_wake(struct hldg *s, struct law_flow *f, const volatile struct hldg_params *p)
{
	bool probing = s->modes.mode == LAW_MODE_PROBE;

	if (f->now < hldg_wakes_at(s, p))
		return;
	hldg_restore_steps(s, f);
	hldg_turn(s, f, hldg_modes_wake(&s->modes, f->now, p), probing, p);
	if (s->modes.mode == LAW_MODE_DELAY && f->now >= hldg_base_deadline(s, p))
		hldg_probe_base(s, f, p);
}

#endif
