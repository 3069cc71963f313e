"""lm-eval over our prompts, as its users run it: a task in YAML, its command line, logged samples. Needs lm-eval only.

python bench/peer_lmeval.py PROMPTS.jsonl N CONNECTIONS BASE_URL OUT
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

TASK = """\
task: isogloss_words
dataset_path: json
dataset_kwargs:
  data_files:
    test: {data}
test_split: test
output_type: generate_until
doc_to_text: "{{{{question}}}}"
doc_to_target: "{{{{answer}}}}"
generation_kwargs:
  until: ["###"]
  max_gen_toks: 64
  temperature: 0.0
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
"""


def main(path: str, n: int, n_connections: int, base_url: str, out: str) -> None:
    folder = Path(out)
    tasks = folder / "task"
    tasks.mkdir(parents=True)
    with open(path, encoding="utf-8") as given, open(folder / "data.jsonl", "w", encoding="utf-8") as file:
        for line in islice(given, n):
            [message] = json.loads(line)["messages"]
            file.write(json.dumps({"question": message["content"], "answer": "No"}, ensure_ascii=False) + "\n")
    (tasks / "words.yaml").write_text(TASK.format(data=folder / "data.jsonl"), encoding="utf-8")
    model = {
        "model": "m",
        "base_url": f"{base_url}/chat/completions",
        "num_concurrent": n_connections,
        "tokenizer_backend": "None",
        "tokenized_requests": "False",
    }
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(folder / "cache")}
    subprocess.run(
        [
            sys.executable, "-m", "lm_eval", "--model", "local-chat-completions",
            "--model_args", ",".join(f"{key}={value}" for key, value in model.items()),
            "--tasks", "isogloss_words", "--include_path", str(tasks), "--apply_chat_template",
            "--log_samples", "--output_path", str(folder / "results"),
        ],
        check=True, env={**os.environ, **offline, "OPENAI_API_KEY": "x"},
    )  # fmt: skip
    [results] = (folder / "results").rglob("results_*.json")
    held = json.loads(results.read_text(encoding="utf-8"))
    assert held["results"]["isogloss_words"]["exact_match,none"] == 1.0, held["results"]
    assert held["n-samples"]["isogloss_words"]["effective"] == n, held["n-samples"]


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5])
