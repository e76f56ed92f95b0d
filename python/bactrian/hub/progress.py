"""What the user sees while files travel: lines and bars on stderr, never on stdout."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from tqdm import tqdm


def say(line: str) -> None:
    """One line for people, on stderr."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


class ByteBar:
    """A progress bar in bytes that appears with the first figure, if stderr is a terminal."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._bar: tqdm[NoReturn] | None = None

    def __enter__(self) -> ByteBar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def at(self, n_done: int, n_total: int) -> None:
        """Shows ``n_done`` of ``n_total`` bytes."""
        if self._bar is None:
            from tqdm import tqdm

            # disable=None: silent where stderr is not a terminal.
            self._bar = tqdm(
                total=n_total, desc=self._label, unit="B", unit_scale=True, disable=None
            )
        self._bar.total = n_total
        self._bar.update(n_done - self._bar.n)
