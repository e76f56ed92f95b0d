"""No object outside an ISA's own folder may hold instructions beyond the baseline.

    check_baseline.py <build folder of csrc>

A wheel built on a new machine must run on an old one: VEX- and EVEX-encoded instructions (their
mnemonics begin with "v" and name a vector register) are allowed in kernels/avx2 alone.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

WIDE = re.compile(r"\tv[a-z0-9]+\s.*%[xyz]mm")


def wide_instructions(obj: Path) -> list[str]:
    listing = subprocess.run(
        ["objdump", "--disassemble", "--no-show-raw-insn", obj],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [line for line in listing.splitlines() if WIDE.search(line)]


def main() -> int:
    objects = sorted(Path(sys.argv[1]).rglob("*.o"))
    wide = {obj: wide_instructions(obj) for obj in objects}
    inside = [obj for obj in objects if "/avx2/" in str(obj)]
    if not inside or not any(wide[obj] for obj in inside):
        print("no wide instruction found in kernels/avx2: this check sees nothing")
        return 1
    bad = [obj for obj in objects if wide[obj] and obj not in inside]
    for obj in bad:
        print(f"{obj}: {len(wide[obj])} wide instructions, first: {wide[obj][0].strip()}")
    print(f"{len(objects)} objects, {len(bad)} beyond the baseline")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
