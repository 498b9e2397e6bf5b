"""The one place where pass or differ is decided.

Pure: records in, a verdict out.
"""

from gpuregress.verdict.amendments import with_agreement as with_agreement
from gpuregress.verdict.amendments import with_known_failure as with_known_failure
from gpuregress.verdict.amendments import without_partners as without_partners
from gpuregress.verdict.decision import broken as broken
from gpuregress.verdict.decision import decide as decide
from gpuregress.verdict.decision import failed as failed
from gpuregress.verdict.decision import infeasible as infeasible
from gpuregress.verdict.decision import skipped as skipped
from gpuregress.verdict.exit_codes import EXIT_CODES as EXIT_CODES
from gpuregress.verdict.exit_codes import EXIT_PRECEDENCE as EXIT_PRECEDENCE
from gpuregress.verdict.exit_codes import exit_code as exit_code
