"""Builds a SentencePiece model from a GGUF vocabulary, in memory.

The model is a protocol buffer (``sentencepiece_model.proto``); the few fields needed are written
here, so that no protobuf library is needed.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from bactrian.errors import FileFormatError
from bactrian.text.vocab import TokenType, Vocab

#: ``TrainerSpec.ModelType``
UNIGRAM, BPE = 1, 2


@dataclass(frozen=True)
class Options:
    """What differs between the SentencePiece models that GGUF files carry."""

    model_type: int
    charsmap: bytes = b""
    add_dummy_prefix: bool = False
    remove_extra_whitespaces: bool = False


def build_processor(vocab: Vocab, options: Options) -> Any:  # noqa: ANN401 (no stubs)
    """A ``SentencePieceProcessor``. Raises FileFormatError if the vocabulary makes no model."""
    from sentencepiece import SentencePieceProcessor

    processor = SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(_model_proto(vocab, options))
    except (RuntimeError, OSError) as error:
        raise FileFormatError(
            f"tokenizer.ggml.tokens makes no SentencePiece model: {error}"
        ) from error
    return processor


def _model_proto(vocab: Vocab, options: Options) -> bytes:
    if vocab.scores is None:
        raise FileFormatError(
            f"tokenizer.ggml.scores is missing: a {vocab.model!r} tokenizer needs it"
        )
    if vocab.unk_id is None:
        raise FileFormatError(
            f"tokenizer.ggml.unknown_token_id is missing: a {vocab.model!r} tokenizer needs it"
        )
    proto = bytearray()
    types = vocab.token_types.tolist()
    scores = vocab.scores.tolist()
    for i, text in enumerate(vocab.tokens):
        kind = types[i]
        if i == vocab.unk_id:
            kind = TokenType.UNKNOWN  # exactly one is allowed
        elif kind == TokenType.UNKNOWN:
            kind = TokenType.CONTROL
        if not text or "\0" in text or vocab.id_of[text] != i:
            # The library refuses these texts, but their ids must stay taken.
            kind, text = TokenType.UNUSED, _free_name(i, vocab)
        piece = text.encode()
        body = _bytes_field(1, piece) + b"\x15" + struct.pack("<f", scores[i]) + _int_field(3, kind)
        proto += _bytes_field(1, body)
    trainer = _int_field(3, options.model_type)
    trainer += _int_field(35, int(options.model_type == BPE and has_all_bytes(vocab)))
    trainer += _int_field(40, vocab.unk_id)
    trainer += _bytes_field(45, vocab.tokens[vocab.unk_id].encode())
    normalizer = _bytes_field(1, b"identity" if not options.charsmap else b"charsmap")
    normalizer += _bytes_field(2, options.charsmap)
    normalizer += _int_field(3, int(options.add_dummy_prefix))
    normalizer += _int_field(4, int(options.remove_extra_whitespaces))
    normalizer += _int_field(5, 1)  # spaces become U+2581
    proto += _bytes_field(2, trainer) + _bytes_field(3, normalizer)
    return bytes(proto)


def _free_name(token: int, vocab: Vocab) -> str:
    """A text for a token out of reach that is no other token's: noncharacters and its id."""
    name = f"\ufffe{token}\ufffe"
    while name in vocab.id_of:
        name += "\ufffe"
    return name


def has_all_bytes(vocab: Vocab) -> bool:
    """Whether there is a byte token ``<0xNN>`` for each of the 256 bytes."""
    found = {vocab.tokens[i] for i in vocab.ids_of_types(TokenType.BYTE)}
    return found == {f"<0x{byte:02X}>" for byte in range(256)}


def piece_bytes(text: str, kind: int) -> bytes:
    """Bytes that an ordinary SentencePiece token stands for."""
    if kind == TokenType.BYTE:
        try:
            return bytes([int(text[3:-1], 16)])
        except ValueError:
            return text.encode()
    return text.replace("\u2581", " ").encode()


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _int_field(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _bytes_field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value
