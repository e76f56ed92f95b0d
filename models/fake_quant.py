"""Rounding of matrices as the coarsest tensor formats do it, with gradients passed through.

Only the shape of the error matters here, so scales are rounded plainly and nothing is packed.
Matrices are [rows, cols] with cols a multiple of 256.
"""

from __future__ import annotations

import random

import torch
from torch import Tensor

# Magnitudes of E2M1, and the points half way between neighbours.
_E2M1 = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
_E2M1_MIDPOINTS = (_E2M1[1:] + _E2M1[:-1]) / 2
_TINY = 1e-12


def _round_to_levels(x: Tensor, n_levels: int, group: Tensor) -> Tensor:
    # x [n, 16, 1] in steps of the largest of its super-block, as K formats store sub-scales.
    step = group / n_levels
    return (x / (step + _TINY)).round() * step


def q2_k(w: Tensor) -> Tensor:
    """Two bits per element, 4-bit scale and minimum per 16 elements, both per 256."""
    blocks = w.view(-1, 16, 16)
    low = blocks.amin(-1, keepdim=True).clamp(max=0.0)
    scale = (blocks.amax(-1, keepdim=True) - low) / 3
    scale = _round_to_levels(scale, 15, scale.amax(1, keepdim=True))
    low = _round_to_levels(low, 15, low.amin(1, keepdim=True))
    return (((blocks - low) / (scale + _TINY)).round().clamp(0, 3) * scale + low).view_as(w)


def q3_k(w: Tensor) -> Tensor:
    """Three bits per element, signed; 6-bit scale per 16 elements, in units per 256."""
    blocks = w.view(-1, 16, 16)
    largest = blocks.gather(-1, blocks.abs().argmax(-1, keepdim=True))
    scale = _round_to_levels(largest / -4, 31, largest.abs().amax(1, keepdim=True) / 4)
    scale = torch.where(scale.abs() < _TINY, torch.full_like(scale, _TINY), scale)
    return ((blocks / scale).round().clamp(-4, 3) * scale).view_as(w)


def q4_0(w: Tensor) -> Tensor:
    """Four bits per element, signed; one scale per 32."""
    blocks = w.view(-1, 32)
    largest = blocks.gather(-1, blocks.abs().argmax(-1, keepdim=True))
    scale = largest / -8
    scale = torch.where(scale.abs() < _TINY, torch.full_like(scale, _TINY), scale)
    return ((blocks / scale).round().clamp(-8, 7) * scale).view_as(w)


def mxfp4(w: Tensor) -> Tensor:
    """E2M1 elements; a power of two as scale per 32."""
    blocks = w.view(-1, 32)
    scale = torch.exp2(torch.floor(torch.log2(blocks.abs().amax(-1, keepdim=True) + _TINY)) - 2)
    magnitude = _E2M1[torch.bucketize(blocks.abs() / scale, _E2M1_MIDPOINTS)]
    return (magnitude * blocks.sign() * scale).view_as(w)


def random_format(w: Tensor) -> Tensor:
    """The matrix as one format drawn at random stores it; the gradient is that of ``w``."""
    formats = (None, q2_k, q3_k, q4_0, mxfp4)
    chosen = random.choices(formats, weights=(2, 5, 2, 1, 2))[0]
    if chosen is None:
        return w
    with torch.no_grad():
        error = chosen(w) - w
    return w + error
