"""The stages of the graphs: one stage, one file. No stage knows another."""
