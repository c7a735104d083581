"""Who may come in: sessions of visitors, and protection against forgery."""
