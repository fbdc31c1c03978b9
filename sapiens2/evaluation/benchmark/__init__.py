"""One table for many models: a specification names the rows, and all are measured on the same data in the same way."""

from sapiens2.evaluation.benchmark.spec import Row, Spec, read_spec

__all__ = ['Row', 'Spec', 'read_spec']
