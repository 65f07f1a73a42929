"""The only way to addresses that came from the web: judged, polite, bounded."""
