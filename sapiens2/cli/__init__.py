"""The ``sapiens2`` command: one file a verb. A verb imports torch only when it runs, so that help comes at once."""
