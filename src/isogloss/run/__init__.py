"""The engine: plan, ask, resume, code, score. It knows no study."""
