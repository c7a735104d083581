"""Who may come in and read what: sessions, protection, reports."""
