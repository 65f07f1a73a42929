"""What a run may spend, what it spent, and what need not be paid for again."""
