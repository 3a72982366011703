"""What `make bench` runs: how fast the front desk is, beside others, in one run on one server.

**What is measured.** Real processes (`portaria web`, `portaria worker`) on the embedded PostgreSQL with
its default settings, durability on, and the settings an installation has by default. Everything that is
compared runs on the same server, one after another, under the same load generator.

**What the figures mean.** A machine is slow or fast, busy or idle; the targets are ratios of figures
taken minutes apart in one run. The load generator shares the machine with what it measures, for all of
them alike: `bench.load` is an epoll loop over requests made and signed beforehand.

**Where things are.** `load` sends, `site` runs the processes, `pgbench` and `peers` are what stands
beside, one module per part of the run (`answer`, `through`, `growth`, `overload`, `footprint`, and
`inbox` and `rotation` of their capabilities), `targets` says what is expected, `report` writes it down.
"""
