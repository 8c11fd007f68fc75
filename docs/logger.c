/* Two loggers of TCP's state, as small as they can be, for docs/loggers_cpu.py.
 *
 *   logger poll NAMESPACE MILLISECONDS OUT   asks for each connection's tcp_info at an interval (inet_diag over netlink; for
 *                                            new connections once a second), as web10g's userland asks its patch
 *   logger trace INSTANCE OUT                writes what a tracefs instance records, page by page, every 100 ms, as the
 *                                            reader of an event log does
 *
 * Both end at SIGTERM and print the records they wrote (poll) or the bytes (trace). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t over;

static void end(int number) {
    (void)number;
    over = 1;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

struct record {
    struct timespec at;
    struct inet_diag_sockid id;
    struct tcp_info info;
};

enum { MOST = 4096 };
/* The connections that there were at the last look around. */
static struct inet_diag_sockid known[MOST];
static int count;

/* Asks for one connection, or for all: only then are they made known, for a walk through all the sockets of a machine costs
 * more than any answer. Writes the answers; how many there were. */
static long ask(int netlink, const struct inet_diag_sockid *one, FILE *out, const struct timespec *now) {
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 request;
    } message = {
        .head = {sizeof message, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | (one ? 0 : NLM_F_DUMP), 0, 0},
        .request = {.sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP, .idiag_ext = 1 << (INET_DIAG_INFO - 1),
                    .idiag_states = 1 << 1 /* established */},
    };
    char buffer[65536];
    long found = 0;
    if (one) message.request.id = *one;
    if (send(netlink, &message, sizeof message, 0) < 0) fail("asking");
    for (;;) {
        ssize_t length = recv(netlink, buffer, sizeof buffer, 0);
        if (length < 0 && errno == EINTR) continue;
        if (length < 0) fail("hearing");
        for (struct nlmsghdr *head = (void *)buffer; NLMSG_OK(head, length); head = NLMSG_NEXT(head, length)) {
            if (head->nlmsg_type == NLMSG_DONE || head->nlmsg_type == NLMSG_ERROR) return found;
            struct inet_diag_msg *told = NLMSG_DATA(head);
            if (!one) {
                if (count < MOST) known[count++] = told->id;
                continue;
            }
            struct record record = {*now, told->id, {0}};
            int left = head->nlmsg_len - NLMSG_LENGTH(sizeof *told);
            for (struct rtattr *part = (void *)(told + 1); RTA_OK(part, left); part = RTA_NEXT(part, left)) {
                if (part->rta_type != INET_DIAG_INFO) continue;
                size_t size = RTA_PAYLOAD(part) < sizeof record.info ? RTA_PAYLOAD(part) : sizeof record.info;
                memcpy(&record.info, RTA_DATA(part), size);
            }
            fwrite(&record, sizeof record, 1, out);
            found++;
        }
        if (one) return found;
    }
}

static long poll_all(const char *namespace, long milliseconds, FILE *out) {
    int home = open(namespace, O_RDONLY);
    if (home < 0 || setns(home, CLONE_NEWNET)) fail(namespace);
    int netlink = socket(AF_NETLINK, SOCK_DGRAM, NETLINK_SOCK_DIAG);
    if (netlink < 0) fail("netlink");
    struct timespec next;
    long found = 0, until = 0;
    clock_gettime(CLOCK_MONOTONIC, &next);
    while (!over) {
        if (until <= 0) {
            until = 1000, count = 0;
            ask(netlink, NULL, out, &next);
        }
        for (int i = 0; i < count; i++) found += ask(netlink, &known[i], out, &next);
        until -= milliseconds;
        next.tv_nsec += milliseconds * 1000000;
        while (next.tv_nsec >= 1000000000) next.tv_nsec -= 1000000000, next.tv_sec++;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    return found;
}

static long trace_all(const char *instance, FILE *out) {
    int files[256], cpus = 0;
    for (; cpus < 256; cpus++) {
        char path[512];
        snprintf(path, sizeof path, "%s/per_cpu/cpu%d/trace_pipe_raw", instance, cpus);
        if ((files[cpus] = open(path, O_RDONLY | O_NONBLOCK)) < 0) break;
    }
    if (!cpus) fail(instance);
    char page[4096];
    long bytes = 0;
    for (int last = 0; !last;) {
        last = over;
        for (int i = 0; i < cpus; i++)
            for (ssize_t n; (n = read(files[i], page, sizeof page)) > 0; bytes += n) fwrite(page, n, 1, out);
        if (!last) usleep(100000);
    }
    return bytes;
}

int main(int given, char **words) {
    signal(SIGTERM, end);
    int polls = given == 5 && !strcmp(words[1], "poll"), traces = given == 4 && !strcmp(words[1], "trace");
    if (!polls && !traces) return 2;
    FILE *out = fopen(words[given - 1], "wb");
    if (!out) fail(words[given - 1]);
    printf("%ld\n", polls ? poll_all(words[2], atol(words[3]), out) : trace_all(words[2], out));
    return fclose(out) != 0;
}
