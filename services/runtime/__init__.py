"""What the whole service uses: errors, clock, console, log, measurements; knows no other room."""
