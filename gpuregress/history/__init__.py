"""History of all runs in one SQLite file, with the questions that reports ask of it."""

from gpuregress.history.reader import Reader as Reader
from gpuregress.history.series import FAILING as FAILING
from gpuregress.history.store import History as History
from gpuregress.history.store import verdicts as verdicts
