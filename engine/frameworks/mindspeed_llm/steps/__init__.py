"""Steps of our own between upstream's programs, each a process: `python -m engine.frameworks.mindspeed_llm.steps.<x>
STAGE_JSON`. They need the standard library alone, and turn what upstream passes over in silence into a failure.
"""
