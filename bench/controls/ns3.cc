// One long flow through one bottleneck in ns-3 (3.37 or later), under its own congestion controls. Arguments and output as
// ns2.tcl's: a line for each change of window, threshold or congestion state, then RESULT.
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

std::map<std::string, std::string> work{{"cc", "LinuxReno"}, {"rate", "10e6"}, {"rtt", "0.04"}, {"buf", "33"},
                                        {"dur", "300"}, {"warm", "60"}, {"delack", "0"}, {"loss", "0"}, {"seed", "1"}};
double number(const std::string& key) { return std::stod(work.at(key)); }

unsigned cuts = 0;
uint64_t passed = 0;
double integral = 0, changed = 0;
uint32_t waiting = 0;
double warm = 0;

double now() { return Simulator::Now().GetSeconds(); }
void line(const char* name, double value) { std::fprintf(stderr, "%.5f 0 0 0 0 %s %.3f\n", now(), name, value); }
void window(uint32_t, uint32_t bytes) { line("cwnd_", double(bytes) / SEGMENT); }
void threshold(uint32_t, uint32_t bytes) { line("ssthresh_", double(bytes) / SEGMENT); }
void state(TcpSocketState::TcpCongState_t was, TcpSocketState::TcpCongState_t is)
{
    if (is >= TcpSocketState::CA_CWR && was < TcpSocketState::CA_CWR)
        line("ncwndcuts_", ++cuts);
}
void queued(uint32_t, uint32_t is)
{
    if (now() > warm)
        integral += waiting * (now() - std::max(changed, warm));
    changed = now();
    waiting = is;
}
void departed(Ptr<const Packet> packet) { passed += now() > warm ? packet->GetSize() - 2 : 0; } // PPP has two bytes

void watch(Ptr<BulkSendApplication> app)
{
    Ptr<Socket> socket = app->GetSocket();
    socket->TraceConnectWithoutContext("CongestionWindow", MakeCallback(&window));
    socket->TraceConnectWithoutContext("SlowStartThreshold", MakeCallback(&threshold));
    socket->TraceConnectWithoutContext("CongState", MakeCallback(&state));
}

PointToPointHelper wire(double rate)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(rate))));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(number("rtt") / 2)));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
    return link;
}

} // namespace

int main(int argc, char** argv)
{
    for (int i = 1; i < argc; i++) {
        const std::string argument = argv[i];
        const auto equals = argument.find('=');
        if (equals == std::string::npos || !work.count(argument.substr(0, equals))) {
            std::fprintf(stderr, "ns3: cannot read \"%s\"\n", argv[i]);
            return 2;
        }
        work[argument.substr(0, equals)] = argument.substr(equals + 1);
    }
    const double rate = number("rate"), seconds = number("dur");
    warm = number("warm");
    RngSeedManager::SetRun(static_cast<uint64_t>(number("seed")));
    GlobalValue::Bind("ChecksumEnabled", BooleanValue(false));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::Tcp" + work.at("cc")));
    Config::SetDefault("ns3::TcpWestwood::ProtocolType", StringValue("WestwoodPlus"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(20'000'000));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(20'000'000));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(number("delack") != 0 ? 2 : 1));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    // With 200 ms, as the other two have, it takes a queue of 133 packets for silence.
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(1)));

    NodeContainer ends(2);
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.Install(ends);
    // At the IP layer 1500 bytes take what 1502 take with the link's header.
    NetDeviceContainer devices = wire(rate * 1502 / 1500).Install(ends);
    devices.Get(1)->SetAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(100 * rate))));
    TrafficControlHelper forward, back;
    // One packet waits in the device.
    forward.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue(std::to_string(std::stoi(work["buf"]) - 1) + "p"));
    back.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue("1000000p"));
    Ptr<QueueDisc> queue = forward.Install(devices.Get(0)).Get(0);
    back.Install(devices.Get(1));
    queue->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&queued));
    devices.Get(0)->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&departed));
    if (number("loss") > 0) {
        Ptr<RateErrorModel> errors = CreateObject<RateErrorModel>();
        errors->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
        errors->SetRate(number("loss"));
        devices.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(errors));
    }

    Ipv4AddressHelper address("10.0.0.0", "255.255.255.0");
    const Ipv4Address receiver = address.Assign(devices).GetAddress(1);
    PacketSinkHelper("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5000)).Install(ends.Get(1));
    BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(receiver, 5000));
    bulk.SetAttribute("MaxBytes", UintegerValue(0));
    bulk.SetAttribute("SendSize", UintegerValue(10 * SEGMENT));
    ApplicationContainer apps = bulk.Install(ends.Get(0));
    apps.Start(Seconds(0));
    Simulator::Schedule(NanoSeconds(1), &watch, DynamicCast<BulkSendApplication>(apps.Get(0)));
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    queued(0, 0);
    std::fprintf(stderr, "RESULT util=%.5f queue=%.3f\n", passed * 8 / (seconds - warm) / rate,
                 integral / (seconds - warm));
    std::fflush(stderr);
    _exit(0); // taking a world down again takes ns-3 minutes
}
