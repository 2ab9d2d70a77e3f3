"""The hands: what carries out what coordination decides."""
