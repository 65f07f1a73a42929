"""Where observations go, one file per vendor."""
