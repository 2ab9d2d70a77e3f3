"""The commands. What each needs it imports at its top: it is loaded only when it is called."""
