"""Throws 4000 packets at the device, hardly one of them sound."""

import random
import socket
import struct
from contextlib import suppress

DICE = random.Random(7)


def sound(size: int) -> bytearray:
    body = DICE.randbytes(size)
    head = struct.pack(
        "!BBHHHBBH4s4s",
        0x45,
        DICE.randrange(256),
        20 + size,
        1,
        0,
        64,
        DICE.choice([1, 6, 17, 99]),
        0,
        b"\x0a\xc9\x00\x02",
        b"\x0a\xc9\x00\x01",
    )
    return bytearray(head + body)


def six(size: int) -> bytearray:
    chain = DICE.choice([0, 6, 17, 43, 44, 58, 60])
    head = struct.pack("!IHBB", 6 << 28 | DICE.randrange(1 << 28), size, chain, 64)
    return bytearray(head + DICE.randbytes(32 + size))


def main() -> None:
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
    raw.bind(("sojourn0", 0x0800))
    for n in range(4000):
        packet = DICE.choice([sound, six])(DICE.randrange(1400))
        match n % 6:
            case 0:
                packet = bytearray(DICE.randbytes(DICE.randrange(1, 1500)))
            case 1:
                packet = packet[: DICE.randrange(1, len(packet))]
            case 2:
                packet[2:6] = DICE.randbytes(4)
            case 3:
                packet[6:8] = DICE.randbytes(2)
            case 4:
                packet = sound(DICE.randrange(1481, 8900))
            case 5:
                packet[DICE.randrange(len(packet))] ^= 1 << DICE.randrange(8)
        with suppress(OSError):  # the kernel has its own idea of what is too short to send
            raw.send(packet)


main()
