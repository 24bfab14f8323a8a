"""Pictures of states and clips of episodes: drawn while the environment is at hand, and stored."""
