"""Two runs side by side: where their policies agree, and which decisions gained or lost effect."""
