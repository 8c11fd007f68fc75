/*
 * The floor: the least a window-based simulation of this work can cost. Not a TCP.
 *
 * One bottleneck, bulk flows, every data packet and every ACK accounted for one by one. What a TCP does beyond that is
 * left out: no segments, no scoreboard, no timers, no digest. A loss is read off the order of arrival (no path
 * reorders) and repaired by nothing more than one packet to send again. So a simulator's distance from this program is
 * the price of being a TCP simulator, measured on the machine at hand.
 *
 *   schedule=heap  every departure, arrival and ACK is an event in one heap: what an event-driven simulator pays
 *   schedule=ring  a path of constant delay is a FIFO, so its packets wait in a ring; only heads are compared
 *
 * Takes the arguments of the other bench programs (bench/README.md) and prints the same RESULT line.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t nanos;
static const nanos NEVER = UINT64_MAX;
static const double PACKET_BITS = 1500 * 8;

struct flow {
	double window, threshold;           /* packets */
	double peak, inflection, reno;      /* CUBIC (RFC 9438): W_max, K in seconds, W_est */
	nanos epoch, rtt, heard;            /* start of the CUBIC curve, base RTT, last ACK */
	uint32_t next, expected, in_flight; /* transmit order: next to use, next to be acknowledged */
	uint32_t recovery_ends;             /* losses before this order belong to a cut already made */
	uint32_t held;                      /* packets received and not yet acknowledged */
};

struct packet {
	nanos at; /* when it does what comes next */
	uint32_t flow, order;
};

struct ack {
	nanos at;
	uint32_t order, count;
};

/* A queue in a circular buffer whose size is a power of two. */
struct bottleneck {
	struct packet *slot;
	uint32_t head, tail, mask, limit;
	nanos busy_until; /* departure of the packet in service, NEVER if idle */
};

struct path {
	struct ack *slot;
	uint32_t head, tail, mask;
};

static struct {
	int flows, cubic, delayed_acks;
	double rate, rtt_low, rtt_high, seconds, spread;
	uint32_t buffer;
	const char *schedule;
} work = {1, 0, 0, 12e6, 0.04, 0.04, 100, 0.1, 40, "heap"};

static struct flow *flows;
static struct bottleneck link_;
static nanos now, per_packet;
static uint64_t delivered, dropped, events;

static void *allocate(size_t count, size_t size)
{
	void *p = calloc(count, size);
	if (!p) {
		fprintf(stderr, "floor: out of memory for %zu x %zu bytes\n", count, size);
		exit(1);
	}
	return p;
}

static uint32_t power_of_two(double at_least)
{
	uint32_t size = 16;
	while (size < at_least)
		size *= 2;
	return size;
}

/* Windows -------------------------------------------------------------------------------------------------------- */

static void cut(struct flow *f)
{
	if (work.cubic) {
		/* fast convergence, then beta = 0.7 and C = 0.4 */
		f->peak = f->window < f->peak ? f->window * 0.85 : f->window;
		f->window *= 0.7;
		f->inflection = cbrt((f->peak - f->window) / 0.4);
		f->epoch = now;
		f->reno = f->window;
	} else {
		f->window *= 0.5;
	}
	if (f->window < 2)
		f->window = 2;
	f->threshold = f->window;
	f->recovery_ends = f->next;
}

static void grow(struct flow *f, uint32_t acked)
{
	if (f->window < f->threshold) {
		f->window += acked;
	} else if (work.cubic) {
		double t = (double)(now - f->epoch + f->rtt) * 1e-9 - f->inflection;
		double target = f->peak + 0.4 * t * t * t;
		f->reno += 0.53 * acked / f->window;
		if (target < f->reno)
			target = f->reno;
		if (target > f->window)
			f->window += acked * (target > 1.5 * f->window ? 0.5 : (target - f->window) / f->window);
	} else {
		f->window += acked / f->window;
	}
}

static void fill_window(uint32_t i)
{
	struct flow *f = &flows[i];
	while (f->in_flight < (uint32_t)f->window) {
		uint32_t order = f->next++;
		f->in_flight++;
		if (link_.tail - link_.head >= link_.limit) {
			dropped++;
			continue;
		}
		if (link_.tail == link_.head)
			link_.busy_until = now + per_packet;
		link_.slot[link_.tail++ & link_.mask] = (struct packet){now, i, order};
	}
}

static void acknowledge(uint32_t i, uint32_t order, uint32_t count)
{
	struct flow *f = &flows[i];
	if (order < f->expected)
		return; /* sent before a timeout that wrote it off */
	uint32_t missing = order + 1 - f->expected - count;
	f->expected = order + 1;
	f->in_flight -= count + missing;
	f->heard = now;
	if (!missing)
		grow(f, count);
	else if (order >= f->recovery_ends)
		cut(f);
	fill_window(i);
}

/* A packet reached the receiver. Returns how many the ACK it causes stands for; 0 for none. */
static uint32_t received(struct flow *f)
{
	if (work.delayed_acks && ++f->held < 2)
		return 0;
	uint32_t count = work.delayed_acks ? 2 : 1;
	f->held = 0;
	return count;
}

static struct packet depart(void)
{
	struct packet p = link_.slot[link_.head++ & link_.mask];
	link_.busy_until = link_.head != link_.tail ? now + per_packet : NEVER;
	delivered++;
	return p;
}

static int started;
static nanos next_start;

static void start_one(void)
{
	now = next_start;
	flows[started].heard = now;
	fill_window((uint32_t)started++);
	next_start = started < work.flows ? (nanos)(work.spread * 1e9 * started / work.flows) : NEVER;
}

/* Once in 200 ms of simulated time: whoever heard nothing for an RTT and 400 ms starts again from two packets. */
static void restart_the_silent(void)
{
	static nanos next = 1000000000;
	if (now < next)
		return;
	next += 200000000;
	for (int i = 0; i < started; i++) {
		struct flow *f = &flows[i];
		if (now - f->heard <= f->rtt + 400000000)
			continue;
		f->expected = f->recovery_ends = f->next;
		f->in_flight = f->held = 0;
		f->threshold = f->window > 4 ? f->window / 2 : 2;
		f->window = 2;
		f->heard = now;
		fill_window((uint32_t)i);
	}
}

/* Events --------------------------------------------------------------------------------------------------------- */

struct event {
	nanos at;
	uint32_t what, count, order; /* what: LINK, or a flow, with TO_RECEIVER set on the way out */
};
enum { LINK = UINT32_MAX };
#define TO_RECEIVER 0x80000000u

static struct event *heap;
static uint32_t heap_len, heap_room;

static void sift_down(struct event e)
{
	uint32_t i = 0;
	for (;;) {
		uint32_t child = 4 * i + 1;
		if (child >= heap_len)
			break;
		uint32_t end = child + 4 < heap_len ? child + 4 : heap_len, least = child;
		for (uint32_t j = child + 1; j < end; j++)
			if (heap[j].at < heap[least].at)
				least = j;
		if (heap[least].at >= e.at)
			break;
		heap[i] = heap[least];
		i = least;
	}
	heap[i] = e;
}

static void push(struct event e)
{
	if (heap_len == heap_room) {
		heap_room = heap_room ? 2 * heap_room : 1024;
		heap = realloc(heap, heap_room * sizeof *heap);
		if (!heap)
			exit(1);
	}
	uint32_t i = heap_len++;
	while (i && heap[(i - 1) / 4].at > e.at) {
		heap[i] = heap[(i - 1) / 4];
		i = (i - 1) / 4;
	}
	heap[i] = e;
}

static struct event pop(void)
{
	struct event top = heap[0], last = heap[--heap_len];
	if (heap_len)
		sift_down(last);
	return top;
}

static void run_on_heap(nanos end)
{
	int scheduled = 0;
	for (;;) {
		if (!scheduled && link_.busy_until != NEVER) {
			push((struct event){link_.busy_until, LINK, 0, 0});
			scheduled = 1;
		}
		nanos due = heap_len ? heap[0].at : NEVER;
		if (next_start <= due && next_start != NEVER) {
			start_one();
			continue;
		}
		if (due >= end)
			return;
		struct event e = pop();
		now = e.at;
		events++;
		if (e.what == LINK) {
			struct packet p = depart();
			scheduled = 0;
			push((struct event){now + flows[p.flow].rtt / 2, p.flow | TO_RECEIVER, 0, p.order});
		} else if (e.what & TO_RECEIVER) {
			struct flow *f = &flows[e.what & ~TO_RECEIVER];
			uint32_t count = received(f);
			if (count)
				push((struct event){now + f->rtt / 2, e.what & ~TO_RECEIVER, count, e.order});
		} else {
			acknowledge(e.what, e.order, e.count);
		}
		restart_the_silent();
	}
}

/* Rings ---------------------------------------------------------------------------------------------------------- */

/* One ring serves all flows of one RTT; its ACKs then name the flow through `owner`. */
static struct path *paths;
static uint32_t *owner;

static void append(struct path *path, struct ack a)
{
	if (path->tail - path->head > path->mask) {
		uint32_t room = 2 * (path->mask + 1);
		struct ack *slot = allocate(room, sizeof *slot);
		for (uint32_t k = path->head; k != path->tail; k++)
			slot[k & (room - 1)] = path->slot[k & path->mask];
		free(path->slot);
		path->slot = slot;
		path->mask = room - 1;
	}
	path->slot[path->tail++ & path->mask] = a;
}

static void run_on_rings(nanos end)
{
	int shared = work.rtt_low == work.rtt_high;
	int count = shared ? 1 : work.flows;
	paths = allocate(count, sizeof *paths);
	for (int i = 0; i < count; i++) {
		double bound = shared ? flows[0].rtt / per_packet + 2.0 : 64;
		paths[i].mask = power_of_two(bound) - 1;
		paths[i].slot = allocate(paths[i].mask + 1, sizeof *paths[i].slot);
	}
	if (shared)
		owner = allocate(paths[0].mask + 1, sizeof *owner);
	for (;;) {
		nanos ack_at = NEVER;
		if (!shared)
			ack_at = heap_len ? heap[0].at : NEVER;
		else if (paths[0].head != paths[0].tail)
			ack_at = paths[0].slot[paths[0].head & paths[0].mask].at;
		nanos due = ack_at < link_.busy_until ? ack_at : link_.busy_until;
		if (next_start <= due && next_start != NEVER) {
			start_one();
			continue;
		}
		if (due >= end)
			return;
		now = due;
		events++;
		if (due != ack_at) {
			struct packet p = depart();
			uint32_t acked = received(&flows[p.flow]);
			if (acked) {
				struct path *path = &paths[shared ? 0 : p.flow];
				struct ack a = {now + flows[p.flow].rtt, p.order, acked};
				if (shared)
					owner[path->tail & path->mask] = p.flow;
				else if (path->head == path->tail)
					push((struct event){a.at, p.flow, 0, 0});
				append(path, a);
			}
		} else if (shared) {
			uint32_t k = paths[0].head++ & paths[0].mask;
			acknowledge(owner[k], paths[0].slot[k].order, paths[0].slot[k].count);
		} else {
			uint32_t i = heap[0].what;
			struct path *path = &paths[i];
			struct ack a = path->slot[path->head++ & path->mask];
			if (path->head != path->tail)
				sift_down((struct event){path->slot[path->head & path->mask].at, i, 0, 0});
			else
				pop();
			acknowledge(i, a.order, a.count);
		}
		restart_the_silent();
	}
}

/* ---------------------------------------------------------------------------------------------------------------- */

static void unsupported(const char *what, const char *value)
{
	printf("UNSUPPORTED %s=%s\n", what, value);
	exit(3);
}

static void read_arguments(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		if (!value) {
			fprintf(stderr, "floor: \"%s\" is not key=value\n", argv[i]);
			exit(2);
		}
		*value++ = 0;
		const char *key = argv[i];
		if (!strcmp(key, "n"))
			work.flows = atoi(value);
		else if (!strcmp(key, "rate"))
			work.rate = atof(value);
		else if (!strcmp(key, "rttlo"))
			work.rtt_low = atof(value);
		else if (!strcmp(key, "rtthi"))
			work.rtt_high = atof(value);
		else if (!strcmp(key, "dur"))
			work.seconds = atof(value);
		else if (!strcmp(key, "buf"))
			work.buffer = (uint32_t)atof(value);
		else if (!strcmp(key, "spread"))
			work.spread = atof(value);
		else if (!strcmp(key, "delack"))
			work.delayed_acks = atoi(value);
		else if (!strcmp(key, "schedule"))
			work.schedule = value;
		else if (!strcmp(key, "cc")) {
			work.cubic = !strcmp(value, "cubic");
			if (!work.cubic && strcmp(value, "newreno"))
				unsupported(key, value);
		} else if (!strcmp(key, "aqm")) {
			if (strcmp(value, "fifo"))
				unsupported(key, value);
		} else if (strcmp(key, "seed")) {
			fprintf(stderr, "floor: no argument \"%s\" (n rate rttlo rtthi dur cc aqm buf spread seed delack schedule)\n", key);
			exit(2);
		}
	}
	if (work.flows < 1 || work.rate <= 0 || work.buffer < 1 || work.seconds <= 0) {
		fprintf(stderr, "floor: n, rate, buf and dur must be positive\n");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	read_arguments(argc, argv);
	per_packet = (nanos)(PACKET_BITS * 1e9 / work.rate);
	link_.limit = work.buffer;
	link_.mask = power_of_two(work.buffer + 1.0) - 1;
	link_.slot = allocate(link_.mask + 1, sizeof *link_.slot);
	link_.busy_until = NEVER;
	flows = allocate(work.flows, sizeof *flows);
	for (int i = 0; i < work.flows; i++) {
		double share = work.flows > 1 ? (double)i / (work.flows - 1) : 0;
		flows[i].window = 10;
		flows[i].threshold = 1e9;
		flows[i].rtt = (nanos)((work.rtt_low + (work.rtt_high - work.rtt_low) * share) * 1e9);
	}
	nanos end = (nanos)(work.seconds * 1e9);
	if (!strcmp(work.schedule, "ring"))
		run_on_rings(end);
	else if (!strcmp(work.schedule, "heap"))
		run_on_heap(end);
	else
		unsupported("schedule", work.schedule);
	printf("RESULT goodput_pkts=%llu util=%.4f drops=%llu events=%llu\n", (unsigned long long)delivered,
	       (double)delivered * PACKET_BITS / work.seconds / work.rate, (unsigned long long)dropped,
	       (unsigned long long)events);
	return 0;
}
