"""Footprint: memory of each process at rest and under 256 connections, and how long a start takes."""

import statistics
import time
from dataclasses import dataclass

from bench import rescue
from bench.history import lived_in
from bench.load import drive
from bench.report import Table, Teller
from bench.scale import Scale
from bench.site import Site, embedded_server, resident_mib
from portaria.db.embedded import EmbeddedServer

_WORKS = "SELECT count(*) FROM procrastinate_workers WHERE last_heartbeat > now() - interval '5 seconds'"


@dataclass
class Footprint:
    """Resident memory in MiB, times in seconds."""

    web_at_rest: float
    web_at_256: float
    worker_at_rest: float
    web_start: float
    worker_start: float
    postgres_start: float
    rescue: float


def measure(server: EmbeddedServer, scale: Scale, tell: Teller) -> Footprint:
    """Starts are the median of some. Meanwhile a worker idles that will rescue a job."""
    site = lived_in(server, "footprint")
    with rescue.killed(server) as rescued:
        starts = [_web(site)[0] for _ in range(scale.starts - 1)]
        worker_start, worker_at_rest = _worker(site)
        began = time.monotonic()
        with embedded_server():
            postgres = time.monotonic() - began
        start, at_rest, loaded = _web(site, seconds=scale.answer_seconds)
        tell(f"memory: web {at_rest:.0f} MiB at rest, {loaded:.0f} MiB at 256 connections")
        back = rescued()
    tell(f"a killed worker's job is begun again after {back:.1f} s")
    middle = statistics.median([*starts, start])
    return Footprint(at_rest, loaded, worker_at_rest, middle, worker_start, postgres, back)


def _web(site: Site, seconds: float = 0) -> tuple[float, float, float]:
    """Seconds to the first answer, MiB then, MiB after so many seconds with 256 connections."""
    began = time.monotonic()
    with site.web() as (port, web):
        took, at_rest = time.monotonic() - began, resident_mib(web.pid)
        if seconds:
            drive(site.plan(port, connections=256, seconds=seconds))
        return took, at_rest, resident_mib(web.pid)


def _worker(site: Site) -> tuple[float, float]:
    began = time.monotonic()
    with site.process("worker") as worker:
        while not site.value(_WORKS) and time.monotonic() - began < 20:
            time.sleep(0.02)
        return time.monotonic() - began, resident_mib(worker.pid)


def tables(found: Footprint) -> list[Table]:
    """What the report shows."""
    table = Table("Footprint", ("", "figure", "unit"))
    table.add("web at rest", found.web_at_rest, "MiB resident")
    table.add("web after 256 connections", found.web_at_256, "MiB resident")
    table.add("worker at rest", found.worker_at_rest, "MiB resident")
    table.add("web: from its start to its first answer", found.web_start, "s")
    table.add("worker: from its start to its first beat", found.worker_start, "s")
    table.add("PostgreSQL: an empty cluster, made and started", found.postgres_start, "s")
    table.add("a killed worker's job, from the kill to its next beginning", found.rescue, "s")
    return [table]
