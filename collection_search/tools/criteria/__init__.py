"""The judgement of pages against the criteria of a run."""
