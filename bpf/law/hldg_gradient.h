/* SPDX-License-Identifier: GPL-2.0 */
/* Delay gradients after a back-off, their weighted average and its reset: hldg/gradient.rs. */
#ifndef SOJOURN_LAW_HLDG_GRADIENT_H
#define SOJOURN_LAW_HLDG_GRADIENT_H

#include "hldg_state.h"

/* The weight of gradient i, 0 the oldest, in HLDG_UNITs. */
static u64 hldg_weight(u32 i, const volatile struct hldg_params *p)
{
	u64 window = law_min(p->window, HLDG_WINDOW);

	if (p->wwma && p->weights)
		i = HLDG_WINDOW - 1 - i;
	if (p->wwma)
		return i >= 6 ? HLDG_UNIT / 4 : i >= 4 ? HLDG_UNIT / 8 : HLDG_UNIT / 16;
	return i < HLDG_WINDOW - window ? 0 : HLDG_UNIT / window;
}

static void hldg_signal_clear(struct hldg_signal *s)
{
	int i;

	for (i = 0; i < HLDG_WINDOW; i++)
		s->ring[i] = 0;
	s->average = 0;
}

static void hldg_push(struct hldg_signal *s, const volatile struct hldg_params *p)
{
	int i;

	for (i = 0; i < HLDG_WINDOW - 1; i++)
		s->ring[i] = s->ring[i + 1];
	s->ring[HLDG_WINDOW - 1] = s->last;
	s->average = 0;
	for (i = 0; i < HLDG_WINDOW; i++)
		s->average += s->ring[i] * (s64)hldg_weight(i, p);
}

static void hldg_interrupt(struct hldg_gradients *g)
{
	g->previous = 0;
	g->stage = HLDG_USUAL;
}

static void hldg_gradients_clear(struct hldg_gradients *g)
{
	hldg_interrupt(g);
	hldg_signal_clear(&g->min);
	hldg_signal_clear(&g->max);
}

/* One signal in the round that shows a back-off's effect; true if it fell. */
static bool hldg_effect(struct hldg_signal *s, const volatile struct hldg_params *p)
{
	bool fell = s->last < 0;

	if (fell && p->zsgw)
		hldg_signal_clear(s);
	if (!fell || !p->zsgw || p->zsgw_push)
		hldg_push(s, p);
	return fell;
}

/* The next round has something to be compared with. */
static bool hldg_comparable(const struct hldg_gradients *g)
{
	return g->previous && (g->stage == HLDG_USUAL || g->stage == HLDG_EFFECT);
}

/* A round with these smallest and largest RTTs ended. */
static u32 hldg_gradients(struct hldg_gradients *g, u64 min, u64 max, const volatile struct hldg_params *p)
{
	u64 stage = g->stage, previous = g->previous, previous_min = g->previous_min, previous_max = g->previous_max;
	bool fell;

	g->stage = stage == HLDG_BLIND ? HLDG_EFFECT : HLDG_USUAL;
	if (stage == HLDG_BLIND && p->gradient_fix)
		return HLDG_NOTHING;
	g->previous = 1;
	g->previous_min = min;
	g->previous_max = max;
	if (stage == HLDG_BLIND || stage == HLDG_SKIP || !previous)
		return HLDG_NOTHING;
	g->min.last = min - previous_min;
	g->max.last = max - previous_max;
	if (stage == HLDG_USUAL) {
		hldg_push(&g->min, p);
		hldg_push(&g->max, p);
		return HLDG_MEASURED;
	}
	fell = hldg_effect(&g->min, p);
	fell |= hldg_effect(&g->max, p);
	return fell ? HLDG_EFFECTUAL : HLDG_MEASURED;
}

#endif
