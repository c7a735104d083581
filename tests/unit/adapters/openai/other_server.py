"""A second OpenAI-compatible server, with one bad habit at a time.

It runs on http.server in threads and answers by a small rule. It shares no code with the scripted
server or the client, so that both sides cannot misunderstand the protocol in the same way.
"""

import json
import threading
from collections.abc import Callable
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random


def answer_prompt(prompt):
    """Return a minimal useful answer to one of our prompts."""
    if "<data>" not in prompt:
        return {"word": "harbour"}
    data = json.loads(prompt.split("<data>\n")[1].split("\n</data>")[0])
    if "outcome" in data:
        out = {
            name: {"helped": True, "gradient": "Say more of soul.", "edits": [edit("soul")]}
            for name in ("user", "chosen", "passed")
            if name in data
        }
        if "messages" in data:
            out["messages"] = {
                "heard": [
                    {"message": name, "helped": True, "gradient": "Speak of soul."}
                    for name in data["messages"]
                ]
            }
        for name, part in out.items():
            if name != "messages" and data[name].get("messages"):
                part |= {
                    "filter_gradient": "Trust it.",
                    "rules": [{"about": "M1", "weigh": "more", "text": "Trust soul."}],
                }
        return out
    if "candidates" in data:
        return {"ranking": {"order": [int(name) for name in reversed(data["candidates"])]}}
    if "client_1" in data:
        return {
            name: {
                "lines": [
                    {
                        "text": f"{one.get('title', 'Somebody')}, for whoever likes soul",
                        "attributes": ["soul"],
                    }
                ]
            }
            for name, one in data.items()
        }
    if "router_1" in data:
        return {
            name: {
                "name": "soul",
                "text": "A community that shares soul, and lately heard more of it.",
            }
            for name in data
        }
    out = {
        name: {"used": one["messages"][:1], "edits": [edit("soul")]}
        for name, one in data.items()
        if name != "messages" and one.get("messages")
    }
    return out | (
        {"prediction": {"why": "The first shares more.", "choice": 1}}
        if "candidate_2" in data
        else {}
    )


def edit(word):
    return {
        "op": "add",
        "line": 0,
        "text": f'It\'s drawn to {word}, as "others" are',
        "attributes": [word],
    }


def completion(message, **others):
    return {
        "id": "x",
        "object": "chat.completion",
        "model": "other",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"} | others],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


def text_completion(text, **others):
    return completion({"role": "assistant", "content": text}, **others)


def write_as_python(answer):
    """Write an answer like a model that learned from Python."""
    return repr(answer)


def write_loosely(answer):
    """Write an answer with unescaped single quotes, trailing commas and a comment."""
    return (
        "{ // here\n"
        + ",\n".join(f"'{name}': {json.dumps(part)[:-1]},}}" for name, part in answer.items())
        + ",\n}"
    )


def rename_keys(answer, name):
    if isinstance(answer, dict):
        return {name(key): rename_keys(value, name) for key, value in answer.items()}
    return [rename_keys(one, name) for one in answer] if isinstance(answer, list) else answer


def turn_into_strings(answer):
    """Turn every number and truth value into text."""
    if isinstance(answer, dict):
        return {key: turn_into_strings(value) for key, value in answer.items()}
    if isinstance(answer, list):
        return [turn_into_strings(one) for one in answer]
    return str(answer) if isinstance(answer, int) else answer


def write_events(*bodies, end=b"data: [DONE]\n\n"):
    return (
        b": ping\n\n"
        + b"".join(b"data: " + json.dumps(body).encode() + b"\n\n" for body in bodies)
        + end
    )


def stream_completion(text, **others):
    """Write the events of a streamed answer: a role, pieces of the text, its end, and the usage."""
    pieces = [text[start : start + 9] for start in range(0, len(text), 9)]
    deltas = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in pieces)]
    chunks = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    usage = {"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 7}}
    return write_events(*chunks, end, usage, **others)


def write_camel_case(name):
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


Form = Callable[[dict], object]
READ: dict[str, Form] = {
    "as it should be": lambda a: text_completion(json.dumps(a)),
    "single quotes": lambda a: text_completion(write_as_python(a)),
    "trailing commas and comments": lambda a: text_completion(write_loosely(a)),
    "quotes inside of texts": lambda a: text_completion(json.dumps(a).replace('\\"', '"')),
    "an object around it": lambda a: text_completion(json.dumps({"response": {"answer": a}})),
    "a list around it": lambda a: text_completion(json.dumps([a])),
    "names in capitals": lambda a: text_completion(json.dumps(rename_keys(a, str.upper))),
    "names with spaces": lambda a: text_completion(
        json.dumps(rename_keys(a, lambda name: name.replace("_", " ").title()))
    ),
    "names in camel case": lambda a: text_completion(json.dumps(rename_keys(a, write_camel_case))),
    "numbers as text": lambda a: text_completion(json.dumps(turn_into_strings(a))),
    "thoughts in square brackets": lambda a: text_completion(
        f"[THINK]Draft: {json.dumps({**a, 'prediction': {'choice': 2}})}[/THINK]" + json.dumps(a)
    ),
    "a lone bracket missing": lambda a: text_completion(json.dumps(a)[:-1]),
    "thoughts without an end tag before": lambda a: text_completion(
        "Hm. {maybe}</think>" + json.dumps(a)
    ),
    "a repeated prompt": lambda a: text_completion(
        '{"messages": {"M1": {"says": "x"}}, "user": {"profile": {}}}\n' + json.dumps(a)
    ),
    "content in parts": lambda a: text_completion(
        [{"type": "reasoning", "text": "{"}, {"type": "text", "text": json.dumps(a)}]
    ),
    "reasoning in the place of content": lambda a: completion(
        {"content": None, "reasoning_content": json.dumps(a)}
    ),
    "reasoning beside content": lambda a: completion(
        {"content": json.dumps(a), "reasoning": '{"choice": 2}'}
    ),
    "no usage, an odd end": lambda a: {
        "choices": [{"message": {"content": json.dumps(a)}, "finish_reason": "STOP_SEQUENCE"}]
    },
    "usage as text": lambda a: (
        text_completion(json.dumps(a))
        | {"usage": {"prompt_tokens": "11", "completion_tokens": "7"}}
    ),
    "a stream": lambda a: stream_completion(json.dumps(a)),
    "a stream with a fence": lambda a: stream_completion(f"```json\n{json.dumps(a)}\n```"),
    "a stream without an end": lambda a: stream_completion(json.dumps(a), end=b""),
    "a stream with thoughts": lambda a: stream_completion(
        f'<think>{{"prediction": {{"choice": 2}}}}?</think>{json.dumps(a)}'
    ),
    "a fence and trailing commas": lambda a: text_completion(
        f"```json\n{json.dumps(a).replace('}', ',}')}\n```"
    ),
    "thoughts and a fence": lambda a: text_completion(
        f"<think>Hm. ```json\n{{}}\n``` is no answer.</think>\n```\n{json.dumps(a)}\n```",
        finish_reason=None,
    ),
    "a role that is none": lambda a: completion({"role": "model", "content": json.dumps(a)}),
    "only the message": lambda a: {"choices": [{"message": {"content": json.dumps(a)}}]},
    "the second choice": lambda a: {
        "choices": [{"message": {"content": None}}, {"message": {"content": json.dumps(a)}}]
    },
}
BADLY: dict[str, Form] = {
    "nothing": lambda a: text_completion(""),
    "null": lambda a: text_completion(None),
    "no choices": lambda a: {"choices": []},
    "prose": lambda a: text_completion("I would choose the first one, since it shares more."),
    "a refusal": lambda a: text_completion("I'm sorry, but I can't help with that."),
    "cut in the middle": lambda a: text_completion(
        json.dumps(a)[: len(json.dumps(a)) // 3], finish_reason="max_tokens"
    ),
    "only thought": lambda a: completion(
        {"content": None, "reasoning_content": "Let me see. The user"}
    ),
    "filtered": lambda a: text_completion(None, finish_reason="SAFETY"),
    "another object": lambda a: text_completion('{"status": "ok", "items": []}'),
    "the prompt again": lambda a: text_completion(
        '{"user": {"profile": {"1": "jazz"}}, "candidate_1": {"title": "Tosca"}}'
    ),
    "two numbers": lambda a: text_completion(json.dumps(dict.fromkeys(a, "1 or 2"))),
    "a list": lambda a: text_completion("[1, 2, 3]"),
    "the form itself": lambda a: text_completion(
        '{"prediction": {"why": string, "choice": integer}, "user": {"used": [string, ...]}}'
    ),
}
UNANSWERED: dict[str, Form] = {
    "a page": lambda a: b"<html><body>502 Bad Gateway</body></html>",
    "an empty body": lambda a: b"",
    "an error with 200": lambda a: {"error": {"message": "overloaded", "code": 503}},
    "an error in the choice": lambda a: {
        "choices": [{"error": {"code": 502, "message": "upstream"}, "finish_reason": "error"}]
    },
    "an error as a stream": lambda a: write_events(
        {"error": {"message": "upstream", "code": "500"}}
    ),
    "an error within a stream": lambda a: write_events(
        {"choices": [{"index": 0, "delta": {"content": "{"}}]}, {"error": {"message": "upstream"}}
    ),
    "a stream without an answer": lambda a: write_events({"object": "chat.completion.chunk"}),
}


class Other:
    """Decides the answers, and keeps the requests.

    Attributes:
        form: Form of the next answers; None: each answer has a form drawn by the seed.
        refuses: Maps a request's body to (status, error) if the request is refused, else to None.
        asked: The bodies of all requests, in order.
        probed: Maps the word that a probe's schema demands to the word of the answer; None: probes
            are answered like other prompts.
        prompts: The prompts with data, in order.
        embedding: Maps texts to the answer of /embeddings.
    """

    def __init__(self, seed=7):
        self.form: Form | None = READ["as it should be"]
        self.refuses: Callable[[dict], tuple[int, object] | None] = lambda body: None
        self.asked: list[dict] = []
        self.probed: Callable[[str], str] | None = None
        self.prompts: list[str] = []
        self.forms = [*READ.values(), *BADLY.values(), *UNANSWERED.values()]
        self.random = Random(seed)
        self.embedding: Callable[[list[str]], object] = lambda texts: {
            "data": [
                {"index": place, "embedding": [1.0, float(len(text)), 0.5, 0.25]}
                for place, text in enumerate(texts)
            ]
        }
        self.base_url = ""
        self.lock = threading.Lock()

    def reply(self, path, body):
        with self.lock:
            self.asked.append(body)
        refused = self.refuses(body)
        if refused:
            return refused
        if path.endswith("/embeddings"):
            return self.embedding(body["input"])
        prompt = "\n".join(message["content"] for message in body["messages"])
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
        if self.probed and "word" in schema.get("properties", {}):
            return text_completion(
                json.dumps({"word": self.probed(schema["properties"]["word"]["const"])})
            )
        with self.lock:
            if "<data>" in prompt:
                self.prompts.append(prompt)
            form = self.form or self.random.choice(self.forms)
        return form(answer_prompt(prompt))


@contextmanager
def other_server():
    """Serve on a free port while the body runs, in threads."""
    other = Other()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            answer = other.reply(self.path, body)
            status, answer = answer if isinstance(answer, tuple) else (200, answer)
            payload = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *_):
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = (
            128  # with the default of 5, thirty connections at once are reset on a busy machine
        )

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    serving = threading.Thread(target=server.serve_forever, args=(0.01,))
    serving.start()
    other.base_url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield other
    finally:
        server.shutdown()
        server.server_close()
        serving.join()
