"""A congestion control in 20 lines of Python: additive increase, multiplicative decrease, beside CUBIC."""

import sojourn as sj


class Aimd(sj.CongestionControl):
    """Doubles each round trip below ssthresh, then adds one segment; a loss leaves the part `beta`."""

    def __init__(self, beta: float = 0.5) -> None:
        self.beta = beta

    def on_ack(self, flow, ack):
        if flow.phase == "open" and flow.cwnd_limited:
            flow.cwnd += ack.acked if flow.cwnd < flow.ssthresh else flow.mss * ack.acked / flow.cwnd

    def on_congestion(self, flow, signal):
        return flow.cwnd * self.beta


if __name__ == "__main__":
    print(sj.run("10Mbit/s 40ms 1BDP fifo: aimd(beta=0.7), cubic@10s", algorithms={"aimd": Aimd}))
