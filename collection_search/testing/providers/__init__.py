"""What the providers' doubles answer: one dialect a file, with its errors and their meaning."""
