"""History of all runs in one SQLite file, with the questions that reports ask of it."""

from gpuregress.store.history.series import FAILING as FAILING
from gpuregress.store.history.store import History as History
from gpuregress.store.history.store import Reader as Reader
from gpuregress.store.history.store import verdicts as verdicts
