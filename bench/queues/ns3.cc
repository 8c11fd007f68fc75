// One ns-3 (3.37) queue disc at a link, fed with packets from a file; no stack, no device, so that nothing waits but in
// the queue and nothing is on the wire but the packet:
//   ns3 arrivals=FILE rate=10e6 begin=0 end=30 seed=1 disc=ns3::CoDelQueueDisc MaxSize=100p Target=5ms …
// FILE has "nanoseconds flow bytes" a line, in order. Words that begin with a capital are the disc's attributes.
#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/traffic-control-module.h"

#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

using namespace ns3;

namespace {

constexpr uint32_t QUANTUM = 1514; // the fair queues take theirs from a device, and there is none

class Item : public QueueDiscItem {
  public:
    Item(uint32_t flow, uint32_t bytes) : QueueDiscItem(Create<Packet>(bytes), Address(), 0), m_flow(flow) {}
    void AddHeader() override {}
    bool Mark() override { return false; }
    uint32_t Hash(uint32_t) const override { return m_flow; } // no two flows share a sub-queue

  private:
    uint32_t m_flow;
};

class Link {
  public:
    Link(Ptr<QueueDisc> disc, double rate, double begin, double end, const std::string& arrivals)
        : m_disc(disc), m_rate(rate), m_begin(Seconds(begin)), m_end(Seconds(end)), m_arrivals(arrivals)
    {
        next();
    }
    void report()
    {
        wait();
        std::printf("RESULT arrived=%u dropped=%u queue=%.6f sojourn_ms=%.6f\n", m_arrived, m_dropped,
                    m_area / (m_end - m_begin).GetSeconds(), m_left ? 1e3 * m_sojourn / m_left : 0.0);
    }
    void drop() { m_dropped += measures(); }

  private:
    bool measures() const { return Simulator::Now() >= m_begin && Simulator::Now() < m_end; }
    // Adds up the packets that waited since the last change.
    void wait()
    {
        const Time now = std::min(std::max(Simulator::Now(), m_begin), m_end);
        m_area += m_held * (now - m_since).GetSeconds();
        m_since = now;
        m_held = m_disc->GetNPackets();
    }
    void next()
    {
        uint64_t at;
        if (m_arrivals >> at >> m_flow >> m_bytes)
            Simulator::Schedule(NanoSeconds(at) - Simulator::Now(), &Link::arrive, this);
    }
    void arrive()
    {
        wait();
        m_arrived += measures();
        m_disc->Enqueue(Create<Item>(m_flow, m_bytes));
        wait();
        if (!m_busy)
            serve();
        next();
    }
    void serve()
    {
        wait();
        Ptr<QueueDiscItem> item = m_disc->Dequeue();
        wait();
        m_busy = bool(item);
        if (!item)
            return;
        if (measures()) {
            m_left++;
            m_sojourn += (Simulator::Now() - item->GetTimeStamp()).GetSeconds();
        }
        // Whole nanoseconds: Seconds() of a double may fall one short, and a packet arrives before it should.
        const auto takes = static_cast<uint64_t>(std::llround(item->GetSize() * 8e9 / m_rate));
        Simulator::Schedule(NanoSeconds(takes), &Link::serve, this);
    }

    Ptr<QueueDisc> m_disc;
    double m_rate;
    Time m_begin, m_end, m_since = m_begin;
    std::ifstream m_arrivals;
    uint32_t m_flow = 0, m_bytes = 0, m_held = 0, m_arrived = 0, m_dropped = 0, m_left = 0;
    double m_area = 0, m_sojourn = 0;
    bool m_busy = false;
};

} // namespace

int main(int argc, char** argv)
{
    std::map<std::string, std::string> words = {{"arrivals", ""}, {"rate", "10e6"}, {"begin", "0"},
                                                {"end", "30"},    {"seed", "1"},    {"disc", "ns3::FifoQueueDisc"}};
    ObjectFactory factory;
    std::map<std::string, std::string> attributes;
    for (int i = 1; i < argc; i++) {
        const std::string argument = argv[i];
        const auto equals = argument.find('=');
        const std::string key = argument.substr(0, equals);
        const bool attribute = std::isupper(static_cast<unsigned char>(key[0]));
        if (equals == std::string::npos || (!attribute && !words.count(key))) {
            std::fprintf(stderr, "ns3: cannot read \"%s\"\n", argv[i]);
            return 2;
        }
        (attribute ? attributes : words)[key] = argument.substr(equals + 1);
    }
    RngSeedManager::SetRun(std::stoul(words["seed"]));
    factory.SetTypeId(words["disc"]);
    for (const auto& [key, value] : attributes)
        factory.Set(key, StringValue(value));
    Ptr<QueueDisc> disc = factory.Create<QueueDisc>();
    if (auto fair = DynamicCast<FqCoDelQueueDisc>(disc))
        fair->SetQuantum(QUANTUM);
    if (auto fair = DynamicCast<FqCobaltQueueDisc>(disc))
        fair->SetQuantum(QUANTUM);
    if (auto fair = DynamicCast<FqPieQueueDisc>(disc))
        fair->SetQuantum(QUANTUM);
    disc->Initialize();
    const double end = std::stod(words["end"]);
    Link link(disc, std::stod(words["rate"]), std::stod(words["begin"]), end, words["arrivals"]);
    disc->TraceConnectWithoutContext("Drop", Callback<void, Ptr<const QueueDiscItem>>([&](auto) { link.drop(); }));
    Simulator::Stop(Seconds(end));
    Simulator::Run();
    link.report();
    std::fflush(stdout);
    std::_Exit(0);
}
