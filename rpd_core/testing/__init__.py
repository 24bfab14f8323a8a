"""The conformance kit: what every component promises, checked on the real thing."""

from rpd_core.testing.kit import (
    Imagined,
    Report,
    check_component,
    check_recipe,
    check_registration,
)

__all__ = ["Imagined", "Report", "check_component", "check_recipe", "check_registration"]
