"""The ``bactrian`` command: one module per subcommand."""
