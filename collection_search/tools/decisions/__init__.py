"""What people decided in reviews: its history, the learnt threshold, exports and statistics."""
