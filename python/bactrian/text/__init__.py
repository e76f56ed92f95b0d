"""Text on its way to token ids and back: vocabulary, tokenizers, chat templates, stop strings."""
