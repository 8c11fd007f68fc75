/* SPDX-License-Identifier: GPL-2.0 */
/* What CDG and HLDG share: the queue's state by the signs of two smoothed gradients (thesis Table 2.5). */
#ifndef SOJOURN_LAW_GRADIENT_H
#define SOJOURN_LAW_GRADIENT_H

#include "hamilton.h"

enum { LAW_QUEUE_UNKNOWN, LAW_QUEUE_EMPTY, LAW_QUEUE_RISING, LAW_QUEUE_FALLING, LAW_QUEUE_FULL };

static u64 law_queue_state(u64 state, s64 min, s64 max)
{
	if (min > 0 && max <= 0)
		return LAW_QUEUE_FULL;
	if (min >= 0 && max < 0)
		return LAW_QUEUE_EMPTY;
	if (min > 0 && max > 0)
		return LAW_QUEUE_RISING;
	if (min < 0 && max < 0)
		return LAW_QUEUE_FALLING;
	return state;
}

#endif
