from dataclasses import dataclass


@dataclass(frozen=True)
class Lift:
    """How many times as often as usual an episode fails when the state is mutated; 0/0 is 0."""

    def __call__(self, evidence):
        s = evidence.spectrum
        mutated, failed = s.mutated_failed + s.mutated_passed, s.mutated_failed + s.kept_failed
        total = failed + s.mutated_passed + s.kept_passed
        return s.mutated_failed * total / (mutated * failed).clip(min=1)
