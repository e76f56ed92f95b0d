"""Tensor formats: bit for bit what the gguf package reads, and errors within a format's step."""

import gguf
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bactrian import _core
from bactrian.errors import InvalidArgumentError

FORMATS = _core.dtype_names()

# Where the binary16 scales of a block lie.
HALF_OFFSETS = {
    "Q4_0": (0,), "Q4_1": (0, 2), "Q5_0": (0,), "Q5_1": (0, 2), "Q8_0": (0,),
    "Q2_K": (80, 82), "Q3_K": (108,), "Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,),
    "IQ4_NL": (0,), "IQ4_XS": (0,), "MXFP4": (), "F32": (), "F16": (0,), "BF16": (),
}  # fmt: skip


def gguf_type(name: str) -> gguf.GGMLQuantizationType:
    return gguf.GGMLQuantizationType[name]


def sizes(name: str) -> tuple[int, int]:
    return gguf.GGML_QUANT_SIZES[gguf_type(name)]


def random_blocks(name: str, n_blocks: int, seed: int = 0) -> np.ndarray:
    """Random bytes whose scales are finite."""
    rng = np.random.default_rng(seed)
    blocks = rng.integers(0, 256, (n_blocks, sizes(name)[1]), dtype=np.uint8)
    for offset in HALF_OFFSETS[name]:
        halves = rng.integers(0, 0x7C00, n_blocks) | rng.integers(0, 2, n_blocks) << 15
        blocks[:, offset : offset + 2] = halves.astype("<u2").view(np.uint8).reshape(-1, 2)
    if name in ("F32", "BF16"):
        values = rng.standard_normal(n_blocks).astype(np.float32)
        width = sizes(name)[1]
        blocks = values.view(np.uint8).reshape(n_blocks, 4)[:, 4 - width :].copy()
    return blocks


def bits(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)


def test_all_formats_are_there() -> None:
    assert sorted(FORMATS) == sorted(HALF_OFFSETS)


@pytest.mark.parametrize("name", FORMATS)
def test_dequantize_is_that_of_gguf(name: str) -> None:
    blocks = random_blocks(name, 2000)
    with np.errstate(over="ignore"):  # the largest scale of MXFP4 leaves the range of floats
        expected = gguf.dequantize(blocks, gguf_type(name)).ravel()
    actual = _core.dequantize(name, blocks.ravel())
    assert actual.dtype == np.float32
    np.testing.assert_array_equal(bits(actual), bits(expected))


@pytest.mark.parametrize("name", FORMATS)
def test_gguf_reads_what_quantize_writes(name: str) -> None:
    values = np.random.default_rng(1).standard_normal((7, 512)).astype(np.float32)
    data = _core.quantize(name, values)
    assert data.dtype == np.uint8
    expected = gguf.dequantize(data, gguf_type(name))
    assert expected.shape == values.shape
    np.testing.assert_array_equal(bits(_core.dequantize(name, data)), bits(expected))


# Root mean square errors on normal noise, a little above those of plain rounding.
@pytest.mark.parametrize(
    ("name", "limit"),
    [("F32", 0), ("F16", 3e-4), ("BF16", 2e-3), ("Q8_0", 6e-3), ("Q6_K", 0.02), ("Q5_K", 0.04),
     ("Q5_1", 0.04), ("Q5_0", 0.045), ("Q4_K", 0.082), ("Q4_1", 0.082), ("Q4_0", 0.09),
     ("IQ4_NL", 0.084), ("IQ4_XS", 0.084), ("MXFP4", 0.12), ("Q3_K", 0.16), ("Q2_K", 0.34)],
)  # fmt: skip
def test_rounding_error(name: str, limit: float) -> None:
    values = np.random.default_rng(2).standard_normal(1 << 17).astype(np.float32)
    back = _core.dequantize(name, _core.quantize(name, values))
    assert np.sqrt(np.mean((back - values) ** 2)) <= limit


@pytest.mark.parametrize("name", FORMATS)
def test_quantising_again_loses_little(name: str) -> None:
    values = np.random.default_rng(3).standard_normal(2048).astype(np.float32)
    once = _core.dequantize(name, _core.quantize(name, values))
    twice = _core.dequantize(name, _core.quantize(name, once))
    assert np.abs(twice - once).mean() <= np.abs(once - values).mean()


@given(
    name=st.sampled_from(FORMATS),
    values=st.lists(st.floats(-1e4, 1e4, width=32), min_size=256, max_size=256),
)
def test_error_is_bounded_by_the_range(name: str, values: list[float]) -> None:
    row = np.array(values, np.float32)
    back = _core.dequantize(name, _core.quantize(name, row))
    assert np.isfinite(back).all()
    # The coarsest step is that of Q2_K: half of a third of the range, and roundings of scales.
    # What lies below the smallest scale of a format may be lost altogether.
    spread = max(float(row.max()), 0.0) - min(float(row.min()), 0.0)
    assert np.abs(back - row).max() <= 0.28 * spread + 1e-3


def test_halves_are_those_of_numpy() -> None:
    every = np.arange(1 << 16, dtype=np.uint16)
    with np.errstate(invalid="ignore"):
        expected = every.view(np.float16).astype(np.float32)
    actual = _core.dequantize("F16", every.view(np.uint8))
    is_nan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(actual), is_nan)
    np.testing.assert_array_equal(bits(actual)[~is_nan], bits(expected)[~is_nan])
    back = _core.quantize("F16", actual).view(np.uint16)
    np.testing.assert_array_equal(back[~is_nan], every[~is_nan])


def test_rounding_to_halves_is_that_of_numpy() -> None:
    rng = np.random.default_rng(4)
    patterns = rng.integers(0, 1 << 32, 1 << 20, dtype=np.uint64).astype(np.uint32)
    # And each half, and the points midway between two, where ties go to even.
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    middles = (halves[:-1] + halves[1:]) / 2
    values = np.concatenate([patterns.view(np.float32), halves, middles, -middles])
    values = values[~np.isnan(values)]
    with np.errstate(over="ignore"):
        expected = values.astype(np.float16)
    np.testing.assert_array_equal(
        _core.quantize("F16", values).view(np.uint16), expected.view(np.uint16)
    )


def test_rounding_to_bfloat16_is_that_of_gguf() -> None:
    values = np.random.default_rng(5).standard_normal(1 << 16).astype(np.float32)
    expected = gguf.quantize(values, gguf.GGMLQuantizationType.BF16)
    np.testing.assert_array_equal(_core.quantize("BF16", values), expected.view(np.uint8).ravel())


def test_shapes() -> None:
    values = np.zeros((2, 3, 64), np.float32)
    assert _core.quantize("q8_0", values).shape == (2, 3, 68)
    assert _core.dequantize("Q8_0", np.zeros((2, 3, 68), np.uint8)).shape == (2, 3, 64)
    assert _core.dequantize("Q8_0", np.zeros((0, 34), np.uint8)).shape == (0, 32)
    assert _core.quantize("Q8_0", values.transpose(1, 0, 2)).shape == (3, 2, 68)


def test_arrays_in_any_order_of_memory() -> None:
    values = np.random.default_rng(6).standard_normal((64, 32)).astype(np.float32)
    np.testing.assert_array_equal(
        _core.quantize("Q8_0", values[::2]), _core.quantize("Q8_0", values)[::2]
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: _core.dequantize("Q9_9", np.zeros(34, np.uint8)), "Q4_K"),
        (lambda: _core.dequantize("Q8_0", np.zeros(33, np.uint8)), "multiple of 34"),
        (lambda: _core.dequantize("Q8_0", np.zeros(34, np.int8)), "uint8"),
        (lambda: _core.dequantize("Q8_0", np.zeros((), np.uint8)), "last dimension"),
        (lambda: _core.quantize("Q4_K", np.zeros(64, np.float32)), "multiple of 256"),
        (lambda: _core.quantize("Q8_0", np.zeros(32, np.float64)), "float32"),
    ],
)
def test_wrong_arguments(call, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        call()
