"""What was my model missing? The learned residual as a formula, and the physics completed with it."""

from greymatch.explain.explanation import Coefficient, Explanation
from greymatch.explain.reading import explain
from greymatch.explain.terms import Term

__all__ = ["Coefficient", "Explanation", "Term", "explain"]
