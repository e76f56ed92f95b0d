"""The native engine. Token ids in, logits or vectors out; text never gets here.

All calls that compute or read files release the GIL. Errors are those of ``bactrian.errors``.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

MetadataValue = int | float | bool | str | list[int] | list[float] | list[bool] | list[str]
Metadata = dict[str, int | float | bool | str | list[str] | NDArray[np.generic]]

def build_info() -> dict[str, str]:
    """``version``, ``compiler``, ``build_type`` and ``backends`` of this build."""

def supported_isas() -> list[str]:
    """Kernel tables this machine can run, worst first: always ``"ref"``, then e.g. ``"avx2"``."""

def selected_isa() -> str:
    """The kernel table in use: the best one, or the one named by ``BACTRIAN_ISA``.

    Raises UnsupportedError if ``BACTRIAN_ISA`` names one that this machine or build lacks.
    """

def default_threads() -> int:
    """min(CPU affinity, cgroup quota), at least 1."""

def dtype_names() -> list[str]:
    """Tensor formats this engine reads."""

def dequantize(dtype: str, data: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Values of quantised rows: uint8 [..., row_bytes] -> float32 [..., n_cols]."""

def quantize(dtype: str, values: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Round-to-nearest quantisation: float32 [..., n_cols] -> uint8 [..., row_bytes]."""

@final
class TensorInfo:
    name: str
    dtype: str
    shape: tuple[int, ...]  # numpy order: slowest dimension first
    n_bytes: int

@final
class GgufFile:
    """A GGUF file (or the first file of a split set), checked from end to end."""

    def __init__(self, path: str) -> None: ...
    @property
    def path(self) -> str: ...
    @property
    def paths(self) -> list[str]: ...
    @property
    def version(self) -> int: ...
    @property
    def metadata(self) -> Metadata:
        """All keys; arrays of numbers as numpy arrays, arrays of strings as lists of str."""
    @property
    def tensors(self) -> list[TensorInfo]: ...

@final
class Model:
    """Weights of one model, shared by any number of contexts."""

    def __init__(
        self,
        file: GgufFile,
        *,
        n_threads: int = 0,
        rope_scaling: str | None = None,
        rope_scale: float | None = None,
        rope_freq_base: float | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        """Packs the weights; ``progress`` gets 0..1 and may raise to cancel.

        ``rope_scaling`` (none, linear, yarn), ``rope_scale`` (factor by which the context is
        extended) and ``rope_freq_base`` replace what the file says. Raises FileFormatError,
        UnsupportedError, InvalidArgumentError or OutOfMemoryError.
        """
    architecture: str
    n_vocab: int
    n_embd: int
    n_layer: int
    n_head: int
    n_head_kv: int
    n_ctx_train: int
    n_ctx_max: int  # longest sequence: n_ctx_train, or more if rope_scale stretches it
    n_params: int
    causal: bool
    pooling: Literal["none", "mean", "cls", "last"] | None  # what the file says
    file_bytes: int  # bytes of tensor data in the file
    packed_bytes: int  # memory held beyond the mapped file
    unused_tensors: list[str]  # of the file, in file order

    def kv_bytes_per_token(self, dtype_k: str = "F16", dtype_v: str = "F16") -> int: ...

@final
class Batch:
    """Rows for one decode: either tokens of sequences (logits) or whole inputs (embeddings)."""

    def __init__(
        self,
        *,
        embedding: bool = False,
        pooling: Literal["none", "mean", "cls", "last"] = "mean",
    ) -> None: ...
    @property
    def embedding(self) -> bool: ...
    @property
    def n_tokens(self) -> int: ...
    def add_tokens(
        self,
        sequence: int,
        tokens: Sequence[int] | NDArray[np.int32],
        *,
        logits: Literal["none", "last", "all"] = "last",
    ) -> None:
        """Appends tokens to a sequence of the context.

        Raises InvalidArgumentError in an embedding batch, for a negative sequence or no tokens.
        """
    def add_input(self, tokens: Sequence[int] | NDArray[np.int32]) -> None:
        """Adds one whole input to embed. InvalidArgumentError in a token batch or if empty."""
    def __len__(self) -> int:
        """Number of rows of output: rows with logits, or inputs."""

@final
class Output:
    """Results of one decode. The arrays own their memory: later decodes never change them."""

    @property
    def logits(self) -> NDArray[np.float32]:
        """[n_rows, n_vocab], rows in the order added.

        Raises InvalidArgumentError for embedding batches.
        """
    @property
    def embeddings(self) -> list[NDArray[np.float32]]:
        """Per input [n_embd], or [n_tokens, n_embd] with pooling none; not normalised."""

@final
class Context:
    """KV cache and working memory for one model. One decode at a time; any thread."""

    def __init__(
        self,
        model: Model,
        *,
        n_ctx: int = 0,
        n_ubatch: int = 512,
        n_threads: int = 0,
        dtype_k: str = "F16",
        dtype_v: str = "F16",
    ) -> None:
        """``n_ctx``: tokens of KV cache for all sequences together, 0 = the model's context.

        ``n_ubatch``: rows of one forward pass. ``dtype_k``, ``dtype_v``: F32, F16 or Q8_0. The
        memory of the cache is taken with the first token batch.
        """
    @property
    def n_ctx(self) -> int: ...
    @property
    def n_pages(self) -> int: ...
    @property
    def page_tokens(self) -> int: ...
    @property
    def n_free_pages(self) -> int:
        """Pages that no sequence holds, those with a reusable prefix included."""
    @property
    def n_threads(self) -> int: ...
    @property
    def kv_bytes(self) -> int: ...
    def decode(self, batch: Batch) -> Output:
        """Runs the batch. On any error all sequences are as they were before the call.

        Raises ContextOverflowError (no pages, or a sequence beyond the model's context),
        AbortedError, InvalidArgumentError (token id out of range), UnsupportedError (tokens for a
        model that isn't causal). Ctrl-C ends it on the main thread.
        """
    def abort(self) -> None:
        """Interrupts the decode that runs now, from any thread; without one, does nothing."""
    def length(self, sequence: int) -> int:
        """Tokens held by a sequence; 0 for one never used."""
    def tokens(self, sequence: int) -> NDArray[np.int32]: ...
    def sequences(self) -> list[int]: ...
    def truncate(self, sequence: int, n_tokens: int) -> None: ...
    def remove(self, sequence: int) -> None: ...
    def fork(self, source: int, target: int, n_tokens: int | None = None) -> None:
        """Target becomes the first n_tokens of source; pages are shared, not copied."""
    def shift(self, sequence: int, n_keep: int, n_discard: int) -> None:
        """Drops tokens [n_keep, n_keep + n_discard); later ones move down and keep their values."""
    def reuse_prefix(self, sequence: int, tokens: Sequence[int] | NDArray[np.int32]) -> int:
        """Gives an empty sequence the longest cached prefix of ``tokens``; returns its length.

        Always leaves at least one token to evaluate.
        """
    def check(self) -> None:
        """Verifies the page accounting; raises BactrianError naming what is inconsistent."""

@final
class Sampler:
    """Sampler chain and its state for one sequence: last tokens, mirostat, random position."""

    def __init__(self, params: Mapping[str, object], n_vocab: int) -> None:
        """``params`` as ``SamplingParams.native()`` gives them; unknown names raise."""
    @property
    def seed(self) -> int:
        """The seed in use (chosen at random if the params ask for it)."""
    def accept(self, tokens: int | Sequence[int] | NDArray[np.int32]) -> None:
        """Advances the history without drawing (prompt tokens)."""
    def sample(self, logits: ArrayLike, allowed: NDArray[np.uint32] | None = None) -> int:
        """Draws from one row of logits [n_vocab] and accepts the token.

        ``allowed``: bit mask, one bit a token. Raises NonFiniteError for NaN or no finite logit.
        """
    def probabilities(self) -> list[tuple[int, float]]:
        """(token, probability) that survived the chain in the last draw, falling."""
    def clone(self) -> Sampler: ...

def sample_rows(
    samplers: Sequence[Sampler],
    logits: NDArray[np.float32],
    allowed: Sequence[NDArray[np.uint32] | None] | None = None,
) -> NDArray[np.int32]:
    """One draw per row in one call; row i belongs to ``samplers[i]``.

    A row that fails gets -1 in place of a token and leaves the other rows alone.
    """

def log_probabilities(
    logits: NDArray[np.float32], n_top: int, tokens: Sequence[int] | NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.float32]]:
    """Softmax of raw logits rows.

    Returns the top ids [n, n_top], their log-probabilities, and those of ``tokens`` [n].
    """
