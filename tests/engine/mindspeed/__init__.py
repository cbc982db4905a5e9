"""Tests of the MindSpeed-LLM framework."""
