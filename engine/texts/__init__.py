"""What problems and reasons say, in every language. `engine.problem_texts` gathers it."""
