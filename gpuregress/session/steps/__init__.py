"""Steps of a run: planning, checking, execution, summary; each takes and returns frozen records."""
