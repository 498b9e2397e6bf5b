"""The one place where pass or differ is decided.

Pure: records in, a verdict out.
"""

from gpuregress.judge.verdict.amendments import with_agreement as with_agreement
from gpuregress.judge.verdict.amendments import with_known_failure as with_known_failure
from gpuregress.judge.verdict.amendments import without_partners as without_partners
from gpuregress.judge.verdict.decision import EXIT_CODES as EXIT_CODES
from gpuregress.judge.verdict.decision import EXIT_PRECEDENCE as EXIT_PRECEDENCE
from gpuregress.judge.verdict.decision import broken as broken
from gpuregress.judge.verdict.decision import decide as decide
from gpuregress.judge.verdict.decision import exit_code as exit_code
from gpuregress.judge.verdict.decision import failed as failed
from gpuregress.judge.verdict.decision import infeasible as infeasible
from gpuregress.judge.verdict.decision import skipped as skipped
