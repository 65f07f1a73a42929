"""What programs and models call: each module holds one tool, which receives its ports."""
