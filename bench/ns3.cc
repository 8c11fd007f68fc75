// The bench workloads in ns-3 (3.37 or later): bulk TCP flows through one bottleneck. Arguments as in bench/README.md,
// and schedule=Map|Heap|Calendar|List|PriorityQueue for the event list.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <unistd.h>

using namespace ns3;

namespace {

constexpr uint32_t SEGMENT = 1448; // with TCP timestamps: 1500 bytes at the IP layer

using Words = std::map<std::string, std::string>;

const Words ALGORITHMS = {{"newreno", "ns3::TcpLinuxReno"}, {"cubic", "ns3::TcpCubic"}, {"bbr", "ns3::TcpBbr"}};
const Words QUEUES = {{"fifo", "ns3::FifoQueueDisc"}, {"codel", "ns3::CoDelQueueDisc"}, {"pie", "ns3::PieQueueDisc"},
                      {"fq_codel", "ns3::FqCoDelQueueDisc"}, {"red", "ns3::RedQueueDisc"}};

class Work {
  public:
    Work(int argc, char** argv)
    {
        for (int i = 1; i < argc; i++) {
            std::string argument = argv[i];
            auto equals = argument.find('=');
            auto known = m_values.find(argument.substr(0, equals));
            if (equals == std::string::npos || known == m_values.end()) {
                std::fprintf(stderr, "ns3: cannot read \"%s\"\n", argv[i]);
                std::exit(2);
            }
            known->second = argument.substr(equals + 1);
        }
    }
    double number(const std::string& key) const { return std::stod(m_values.at(key)); }
    const std::string& word(const std::string& key) const { return m_values.at(key); }
    std::string among(const std::string& key, const Words& choices) const
    {
        auto found = choices.find(word(key));
        if (found == choices.end()) {
            std::printf("UNSUPPORTED %s=%s\n", key.c_str(), word(key).c_str());
            std::exit(3);
        }
        return found->second;
    }

  private:
    Words m_values{{"n", "1"}, {"rate", "12e6"}, {"rttlo", "0.04"}, {"rtthi", "0.04"}, {"dur", "100"},
                   {"cc", "newreno"}, {"aqm", "fifo"}, {"buf", "40"}, {"spread", "0.1"}, {"seed", "1"},
                   {"delack", "1"}, {"schedule", "Map"}};
};

void configure(const Work& work)
{
    const double pipe = work.number("rate") * work.number("rtthi") / 8 + work.number("buf") * 1500;
    // Room for the pipe and the buffer several times over, so that only the congestion window limits.
    const auto socket = static_cast<uint32_t>(std::min(4e7, std::max(1e6, 4 * pipe)));
    RngSeedManager::SetRun(static_cast<uint64_t>(work.number("seed")));
    GlobalValue::Bind("ChecksumEnabled", BooleanValue(false));
    GlobalValue::Bind("SchedulerType", StringValue("ns3::" + work.word("schedule") + "Scheduler"));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue(work.among("cc", ALGORITHMS)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(socket));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(socket));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(work.number("delack") != 0 ? 2 : 1));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
}

PointToPointHelper wire(double rate, double delay, const std::string& room)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(rate))));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(delay)));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue(room));
    return link;
}

} // namespace

int main(int argc, char** argv)
{
    const Work work(argc, argv);
    configure(work);
    const int count = static_cast<int>(work.number("n"));
    const double rate = work.number("rate"), low = work.number("rttlo"), high = work.number("rtthi");
    const bool mixed = low != high;
    const double core = mixed ? 0.001 : low / 2; // with mixed RTTs, access links take the rest

    NodeContainer routers(2), hosts;
    if (mixed)
        hosts.Create(count);
    InternetStackHelper stack;
    Ipv4StaticRoutingHelper routing;
    stack.SetRoutingHelper(routing);
    stack.SetIpv6StackInstall(false);
    stack.Install(routers);
    stack.Install(hosts);

    // One packet in the device, so that packets wait in the queue under test; ACKs come back at ten times the rate.
    NetDeviceContainer ends = wire(rate, core, "1p").Install(routers);
    ends.Get(1)->SetAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(10 * rate))));
    TrafficControlHelper forward, back;
    forward.SetRootQueueDisc(work.among("aqm", QUEUES), "MaxSize", StringValue(work.word("buf") + "p"));
    back.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue("1000000p"));
    Ptr<QueueDisc> queue = forward.Install(ends.Get(0)).Get(0);
    back.Install(ends.Get(1));

    Ipv4AddressHelper address("10.255.0.0", "255.255.255.0");
    Ipv4InterfaceContainer core_addresses = address.Assign(ends);
    address.SetBase("10.0.0.0", "255.255.255.252");
    const Ipv4Address receiver = core_addresses.GetAddress(1);
    routing.GetStaticRouting(routers.Get(1)->GetObject<Ipv4>())->SetDefaultRoute(core_addresses.GetAddress(0), 1);

    ApplicationContainer sinks;
    for (int i = 0; i < count; i++) {
        Ptr<Node> sender = routers.Get(0);
        if (mixed) {
            const double rtt = low + (high - low) * i / std::max(1, count - 1);
            sender = hosts.Get(i);
            NetDeviceContainer access = wire(10 * rate, rtt / 2 - core, "100000p").Install(sender, routers.Get(0));
            Ipv4InterfaceContainer pair = address.Assign(access);
            address.NewNetwork();
            routing.GetStaticRouting(sender->GetObject<Ipv4>())->SetDefaultRoute(pair.GetAddress(1), 1);
            TrafficControlHelper().Uninstall(access);
        }
        const auto port = static_cast<uint16_t>(5000 + i);
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        sinks.Add(sink.Install(routers.Get(1)));
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(receiver, port));
        bulk.SetAttribute("MaxBytes", UintegerValue(0));
        bulk.SetAttribute("SendSize", UintegerValue(10 * SEGMENT));
        bulk.Install(sender).Start(Seconds(work.number("spread") * i / count));
    }
    sinks.Start(Seconds(0));
    Simulator::Stop(Seconds(work.number("dur")));
    Simulator::Run();

    double packets = 0;
    for (uint32_t i = 0; i < sinks.GetN(); i++)
        packets += DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx() / double(SEGMENT);
    std::printf("RESULT goodput_pkts=%.0f util=%.4f drops=%u events=%lu\n", packets,
                packets * 12000 / work.number("dur") / rate, queue->GetStats().nTotalDroppedPackets,
                static_cast<unsigned long>(Simulator::GetEventCount()));
    std::fflush(stdout);
    _exit(0); // taking a large world down again takes ns-3 minutes
}
