"""The schemas of the RabbitMQ that is installed here, and RabbitMQ's own reader of files.

The reader is the release's cuttlefish with the release's schemas: at a boot it decides whether a
`rabbitmq.conf` is accepted (`rabbit_prelaunch_conf`).  One Erlang process reads all files.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from random import Random

from joinproto.discovery.keys import SETTINGS, Owner, Setting
from joinproto.discovery.releases import Release, release
from tests.needs import need
from tools.faults.ports import free_ports
from tools.fixtures.rabbitmq_node import LIBRARIES, all_in

ROOTS = sorted(LIBRARIES.glob("rabbitmq_server-*/plugins"))
PLUGINS = ("aws", "common", "consul", "etcd", "k8s")
READER = """
Files = string:split(os:getenv("SCHEMAS"), ",", all),
Schema = cuttlefish_schema:files(Files),
{ok, Names} = file:list_dir("."),
lists:foreach(fun(Name) ->
  Verdict = try
    case cuttlefish_conf:file(Name) of
      {errorlist, _} -> refused;
      Conf -> case cuttlefish_generator:map(Schema, Conf) of
                {error, _, _} -> refused;
                _ -> accepted
              end
    end
  catch _:_ -> refused end,
  io:format("~s ~s~n", [Name, Verdict])
end, [Name || Name <- Names, filename:extension(Name) =:= ".conf"]),
halt().
"""


def installed() -> Release:
    """Return the installed release; skip the test if there is none."""
    need("rabbitmq-server")
    return release(ROOTS[-1].parent.name.rpartition("-")[2])


def accepted(texts: list[str], folder: Path) -> list[bool]:
    """Return for each text whether the installed release, with all our plugins, accepts it."""
    for number, text in enumerate(texts):
        (folder / f"{number}.conf").write_text(text, "utf-8")
    root = ROOTS[-1]
    names = ("rabbit-*", "rabbitmq_aws-*", *(f"rabbitmq_peer_discovery_{one}-*" for one in PLUGINS))
    schemas = [str(one) for name in names for one in root.glob(f"{name}/priv/schema/*.schema")]
    code = [str(one) for one in root.glob("*/ebin")]
    done = subprocess.run(
        ["erl", "-noshell", "-pa", *code, "-eval", READER],
        cwd=folder,
        env={"SCHEMAS": ",".join(schemas), "PATH": "/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    told = dict(line.split(" ") for line in done.stdout.splitlines() if ".conf " in line)
    return [told[f"{number}.conf"] == "accepted" for number in range(len(texts))]


# A PEM file that the machine has, and that can be read.
READABLE = "/etc/ssl/certs/ca-certificates.crt"
NUMBERS = ("0", "1", "-1", "7", "255", "256", "65534", "65535", "65536", "1.5", "seven")
TEXTS = ("true", "false", "text", "none", "disc", "disk", "ram", "unlimited", "ip", "hostname")


def drawn(random: Random) -> str:
    """Return a configuration of one to five settings, with values that are accepted or refused."""
    lines = {}
    for _ in range(random.randint(1, 5)):
        setting = random.choice(SETTINGS)
        key = setting.key.replace("$", random.choice(("1", "2", "name")))
        lines[key] = f"{key} = {random.choice(_values(setting))}"
    return "\n".join(lines.values()) + "\n"


def _values(setting: Setting) -> tuple[str, ...]:
    first = setting.datatype.partition(" ")[0]
    if first.startswith("enum:"):
        return (*first.removeprefix("enum:").split(","), *TEXTS[:4])
    if {"file", "pem"} & {*re.split("[ :]", setting.datatype)}:
        return (READABLE,)  # the file's contents are not checked
    if first in ("string", "atom", "secret", "words", "backend"):
        return TEXTS
    return NUMBERS if first != "boolean" else TEXTS[:4]


OWNERS = frozenset(one.value for one in Owner)


def starts(text: str, place: Path, sbin: Path) -> bool:
    """Return whether the installed server gets past its configuration with this file.

    The server really starts: it prints its banner once the file is accepted, and is ended then.
    """
    place.mkdir()
    (place / "enabled").write_text(f"[{','.join(sorted(OWNERS - {'rabbit', 'rabbitmq_aws'}))}].")
    (place / "rabbitmq.conf").write_text(f"listeners.tcp = none\n{text}", "utf-8")
    port, distribution = free_ports(2)
    epmd = str(port)
    with (place / "out").open("wb") as out:
        process = subprocess.Popen(
            [sbin / "rabbitmq-server"],
            cwd=place,
            env={
                **os.environ,
                "HOME": str(place),
                "RABBITMQ_NODENAME": f"{place.name}@localhost",
                "RABBITMQ_DIST_PORT": str(distribution),  # two tests may run at once
                "ERL_EPMD_PORT": epmd,
                **all_in(place),
            },
            stdout=out,
            stderr=out,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    try:
        end = time.monotonic() + 120
        while time.monotonic() < end:
            told = (place / "out").read_text("utf-8", "replace")
            if "##  RabbitMQ" in told or "## RabbitMQ" in told or "Starting broker" in told:
                return True
            if process.poll() is not None:
                assert "BOOT FAILED" in told or "rror" in told, told
                return False
            time.sleep(0.2)
        raise AssertionError("after 120 s the server has neither started nor ended")
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        # The server's own epmd is a daemon that outlives the server; it ends once it has no node.
        for _ in range(50):
            ended = subprocess.run(
                ["epmd", "-port", epmd, "-kill"], capture_output=True, text=True, check=False
            )
            if "not allowed" not in ended.stdout + ended.stderr:
                break
            time.sleep(0.1)
