"""What several test folders share. Imported as `support`; nothing in src may import it."""
