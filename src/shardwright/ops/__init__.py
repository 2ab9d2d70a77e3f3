"""What an operator does: small functions over an open registry, which read, check, and write."""
