"""The registry of all checks of claims, and the measured exponents beside the claimed ones."""

from recallbook_studies.claims import checks_memory, checks_model  # noqa: F401 (fill the registry)
from recallbook_studies.claims.checks_scaling import exponent_table
from recallbook_studies.claims.findings import CHECKS

__all__ = ["CHECKS", "exponent_table"]
