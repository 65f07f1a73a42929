"""Where figures for monitoring go, one file per vendor."""
