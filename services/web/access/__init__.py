"""Who may come in, and what may be read: sessions, protection, files of reports."""
