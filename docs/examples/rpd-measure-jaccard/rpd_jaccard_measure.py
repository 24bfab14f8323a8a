from dataclasses import dataclass


@dataclass(frozen=True)
class Jaccard:
    """Mutated failures among all episodes that were mutated here or failed."""

    def __call__(self, evidence):
        s = evidence.spectrum
        return s.mutated_failed / (s.mutated_failed + s.mutated_passed + s.kept_failed).clip(min=1)
