"""From the stored suite to rankings, without playing anything."""
