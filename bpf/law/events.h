/* SPDX-License-Identifier: GPL-2.0 */
/* Written from the table of causes in crates/cc/src/cause.rs by its test c_header; do not edit. */
#ifndef SOJOURN_LAW_EVENTS_H
#define SOJOURN_LAW_EVENTS_H

#define LAW_EVENT_VERSION 1

/* One event: the layout of cc::EventRecord. Windows in bytes, the time in nanoseconds. */
struct law_event {
	u16 version, kind;
	u32 flow;
	u64 time;
	u64 cwnd_before, cwnd_after, ssthresh_before, ssthresh_after;
	s64 values[8];
};

/* Kinds, each with the values it carries. */
#define LAW_DELAY_BACKOFF 1 /* g_min (ns), g_max (ns), average_min (ns), average_max (ns), probability (billionths), drew (billionths), queue (ns), bdp (bytes) */
#define LAW_DELAY_IGNORED 2 /* probability (billionths), drew (billionths), consecutive (number), queue (ns) */
#define LAW_LOSS_BACKOFF 3 /* lost (bytes), in_flight (bytes), shadow (bytes), bdp (bytes) */
#define LAW_LOSS_TOLERATED 4 /* lost (bytes), queue (ns), queue_state (number), shadow (bytes) */
#define LAW_ECN_BACKOFF 5 /* marked (bytes), fraction (billionths) */
#define LAW_TIMEOUT 6 /* in_flight (bytes), timeouts (number), rto (ns) */
#define LAW_UNDO 7 /* how (number) */
#define LAW_SLOW_START_EXIT 8 /* reason (number), rtt (ns), base_rtt (ns), gradient (ns), probability (billionths), drew (billionths), bandwidth (bit/s), bdp (bytes) */
#define LAW_MODE_SWITCH 9 /* from (number), to (number), queue (ns), bandwidth (bit/s) */
#define LAW_PROBE_START 10 /* what (number), base_rtt (ns) */
#define LAW_PROBE_END 11 /* what (number), base_rtt (ns), queue (ns) */
#define LAW_RESTORE 12 /* target (bytes), interval (ns) */
#define LAW_IDLE_RESTART 13 /* idle (ns) */
#define LAW_SLOW_START_PACE 14 /* divisor (number), rtt (ns), base_rtt (ns) */
#define LAW_SLOW_START_CAP 15 /* bandwidth (bit/s), base_rtt (ns), bdp (bytes) */
#define LAW_RECOVERY_EXIT 16 /* in_flight (bytes) */
#define LAW_CURVE 17 /* cubic (bytes), reno (bytes) */
#define LAW_PERSIST 18 /* room (bytes), wait (ns) */

/* The reason of a slow_start_exit. */
#define LAW_EXIT_ACK_TRAIN 1
#define LAW_EXIT_DELAY 2
#define LAW_EXIT_CONSERVATIVE 3
#define LAW_EXIT_QUEUED 4
#define LAW_EXIT_PLATEAU 5
#define LAW_EXIT_GRADIENT 6
#define LAW_EXIT_BANDWIDTH 7
#define LAW_EXIT_LOSS 8
#define LAW_EXIT_DISPERSION 9
#define LAW_EXIT_TRAINS 10
#define LAW_EXIT_GRANTED 11

/* What a probe is for. */
#define LAW_PROBE_BASE_RTT 1
#define LAW_PROBE_BANDWIDTH 2
#define LAW_PROBE_COMPETITORS 3

/* The modes of a mode_switch. */
#define LAW_MODE_DELAY 0
#define LAW_MODE_LOSS 1
#define LAW_MODE_PROBE 2
#define LAW_MODE_RESTORE 3
#define LAW_MODE_STARTUP 4
#define LAW_MODE_DRAIN 5
#define LAW_MODE_PROBE_BW 6
#define LAW_MODE_PROBE_RTT 7

#endif
