"""The longest packet of an MQTT client, read by amqtt's own classes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import pytest

pytest.importorskip("amqtt", reason="needs the extra amqtt")

from amqtt.adapters import StreamReaderAdapter
from amqtt.errors import NoDataError
from amqtt.mqtt.packet import MQTTFixedHeader
from amqtt.mqtt.publish import PublishPacket

from joinproto.apps.contrib.amqtt import PacketLimiter


def header(length: int) -> bytes:
    """Return the first bytes of a PUBLISH packet."""
    found = bytearray(b"\x30")
    while True:
        length, digit = divmod(length, 128)
        found.append(digit | (0x80 if length else 0))
        if not length:
            return bytes(found)


def do_nothing() -> None:
    """Leave the connection open."""


def read_lengths(most: int, packets: Sequence[bytes]) -> list[int]:
    """Return the length of each message that amqtt reads, until the end."""

    async def read() -> list[int]:
        stream = asyncio.StreamReader()
        stream.feed_data(b"".join(packets))
        stream.feed_eof()
        reader, found = PacketLimiter(StreamReaderAdapter(stream), most, do_nothing), list[int]()
        with suppress(NoDataError):
            while fixed := await MQTTFixedHeader.from_stream(reader):
                packet = await PublishPacket.from_stream(reader, fixed_header=fixed)
                found.append(len(packet.payload.data))
        return found

    return asyncio.run(read())


def packet(size: int) -> bytes:
    return header(3 + size) + b"\x00\x01t" + b"x" * size


def test_packets_up_to_the_limit_are_read_and_a_longer_packet_ends_the_stream() -> None:
    """The bytes after a longer packet are not read, either."""
    assert [10, 997, 0] == read_lengths(1_000, [packet(10), packet(997), packet(0)])
    assert [10] == read_lengths(1_000, [packet(10), packet(998), packet(0)])


def test_no_byte_of_an_oversized_packet_is_read() -> None:
    """The header announces 256 MB, and no byte of them has arrived."""
    assert [3] == read_lengths(1_000, [packet(3), header(2**28 - 1)])


def test_a_wrong_length_within_a_packet_does_not_bypass_the_limit() -> None:
    """If a topic is longer than its packet, amqtt reads on in the next packet."""
    hidden = b"\x30\x02\xff\xff" + b"t" * 65_535
    assert [0, 90_000] == read_lengths(100_000, [hidden, packet(90_000)])
    assert [0] == read_lengths(100_000, [hidden, packet(200_000)])
