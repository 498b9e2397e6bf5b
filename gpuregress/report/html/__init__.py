"""Report of a run as one HTML page that needs no other file, no network and no script."""

from gpuregress.report.html.cards import Trends as Trends
from gpuregress.report.html.comparison import comparison_page as comparison_page
from gpuregress.report.html.nights import nights_page as nights_page
from gpuregress.report.html.page import page as page
from gpuregress.report.html.page import render as render
from gpuregress.report.html.trend import LAST as LAST
