"""The bar: a bare aiohttp loop over the same prompts, nothing kept. Prints one JSON line.

python bench/raw_loop.py PROMPTS.jsonl N CONNECTIONS BASE_URL
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time

import aiohttp


async def main(path: str, n: int, n_connections: int, base_url: str) -> dict[str, float]:
    with open(path, encoding="utf-8") as file:
        prompts = [json.loads(line)["messages"] for line, _ in zip(file, range(n), strict=False)]
    url = f"{base_url}/chat/completions"
    headers = {"Authorization": "Bearer x", "Content-Type": "application/json"}
    connector = aiohttp.TCPConnector(limit=n_connections)
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

        async def call(messages: list[dict[str, str]]) -> bool:
            body = {"model": "m", "messages": messages, "temperature": 0.0, "max_tokens": 64}
            async with session.post(url, data=json.dumps(body).encode()) as reply:
                return json.loads(await reply.read())["choices"][0]["message"]["content"] == "No"

        await asyncio.gather(*(call(prompts[k % n]) for k in range(n_connections)))
        before, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        due, right = iter(prompts), 0

        async def work() -> None:
            nonlocal right
            for messages in due:
                is_right = await call(messages)
                right += is_right

        await asyncio.gather(*(work() for _ in range(n_connections)))
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert right == n, (right, n)
    return {"rate": n / wall, "cpu_per_thousand": 1000 * cpu / n, "megabytes": after.ru_maxrss / 1024}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]))))
