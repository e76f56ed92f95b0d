"""Every error bactrian raises on purpose, one tree.

The native engine raises the same classes: its error codes are mapped here once, in
``FROM_NATIVE_CODE``.
"""

from __future__ import annotations


class BactrianError(Exception):
    """Base of all errors here. The message says what is wrong and what would be right."""


class FileFormatError(BactrianError, ValueError):
    """A model file is damaged or contradicts itself; the message names file, key or tensor."""


class UnsupportedError(BactrianError, ValueError):
    """The input is well formed, but this version can't do it; the message names what it can do."""


class InvalidArgumentError(BactrianError, ValueError):
    """A caller's argument is out of range or of the wrong kind."""


class ContextOverflowError(InvalidArgumentError):
    """A sequence does not fit the context, or the KV cache has no free pages."""


class OutOfMemoryError(BactrianError, MemoryError):
    """An allocation failed; the message names its size and purpose."""


class AbortedError(BactrianError):
    """A running decode was interrupted by :meth:`bactrian.Context.abort`; the context is usable."""


class NonFiniteError(BactrianError, ArithmeticError):
    """A row of logits or an embedding contains NaN or infinity."""


class TemplateError(BactrianError, ValueError):
    """A chat template is invalid, was refused by the sandbox, or raised an error of its own."""


class DownloadError(BactrianError, OSError):
    """A model could not be fetched; the message says what to do."""


#: Native error code (see ``csrc/base/error.h``) -> exception class.
FROM_NATIVE_CODE: dict[str, type[BaseException]] = {
    "file_not_found": FileNotFoundError,
    "bad_file": FileFormatError,
    "unsupported": UnsupportedError,
    "invalid_argument": InvalidArgumentError,
    "context_overflow": ContextOverflowError,
    "out_of_memory": OutOfMemoryError,
    "aborted": AbortedError,
    "non_finite": NonFiniteError,
    "internal": BactrianError,
}
