"""Runs of the graphs: started, followed, cancelled, resumed, and kept."""
