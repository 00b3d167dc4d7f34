"""One question with a tool, asked in each way of each library. `python ways.py <way> <question>` prints the words of the answer.

SVC_PROXY is where the capture proxy is; each way adds what a user adds to it, and changes nothing else.
"""

import asyncio
import json
import os
import sys

PROXY = os.environ["SVC_PROXY"]
OPENAI, ANTHROPIC, OLLAMA = f"{PROXY}/openai/v1", f"{PROXY}/anthropic", f"{PROXY}/ollama"
KEY = "dummy"
RESULT = "7 C, rain"

DESCRIPTION = "The weather of a city"
PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "unit": {"type": "string"}},
    "required": ["city"],
}
CHAT_TOOL = {"type": "function", "function": {"name": "get_weather", "description": DESCRIPTION, "parameters": PARAMETERS}}


def openai_chat(question, stream=False):
    from openai import OpenAI

    client = OpenAI(base_url=OPENAI, api_key=KEY)
    messages = [{"role": "user", "content": question}]

    def answer():
        params = dict(model="gpt-4o-mini", messages=messages, tools=[CHAT_TOOL])
        if not stream:
            return client.chat.completions.create(**params).choices[0].message
        with client.chat.completions.stream(**params, stream_options={"include_usage": True}) as events:
            for _ in events:
                pass
            return events.get_final_completion().choices[0].message

    first = answer()
    messages.append(first.model_dump(include={"role", "content", "tool_calls"}, exclude_none=True))
    for call in messages[-1]["tool_calls"]:
        call["function"].pop("parsed_arguments", None)
    messages.append({"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": RESULT})
    return answer().content


def openai_responses(question, stream=False):
    from openai import OpenAI

    client = OpenAI(base_url=OPENAI, api_key=KEY)
    tool = {"type": "function", "name": "get_weather", "description": DESCRIPTION, "parameters": PARAMETERS, "strict": False}
    items = [{"role": "user", "content": question}]

    def answer():
        params = dict(model="gpt-5-mini", input=items, tools=[tool])
        if not stream:
            return client.responses.create(**params)
        with client.responses.stream(**params) as events:
            for _ in events:
                pass
            return events.get_final_response()

    first = answer()
    items.extend(item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in first.output)
    [call] = [item for item in first.output if item.type == "function_call"]
    items.append({"type": "function_call_output", "call_id": call.call_id, "output": RESULT})
    return answer().output_text


def anthropic_messages(question, stream=False):
    from anthropic import Anthropic

    client = Anthropic(base_url=ANTHROPIC, api_key=KEY)
    tool = {"name": "get_weather", "description": DESCRIPTION, "input_schema": PARAMETERS}
    messages = [{"role": "user", "content": question}]

    def answer():
        params = dict(model="claude-sonnet-4-6", max_tokens=500, messages=messages, tools=[tool])
        if not stream:
            return client.messages.create(**params)
        with client.messages.stream(**params) as events:
            return events.get_final_message()

    first = answer()
    messages.append({"role": "assistant", "content": first.to_dict()["content"]})
    [use] = [block for block in first.content if block.type == "tool_use"]
    messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": use.id, "content": RESULT}]})
    return "".join(block.text for block in answer().content)


def ollama_chat(question, stream=False):
    from ollama import Client

    client = Client(host=OLLAMA)
    messages = [{"role": "user", "content": question}]

    def answer():
        answered = client.chat(model="llama3.2", messages=messages, tools=[CHAT_TOOL], stream=stream)
        if not stream:
            return answered.message.content or "", answered.message.tool_calls or []
        words, calls = "", []
        for part in answered:
            words += part.message.content or ""
            calls.extend(part.message.tool_calls or [])
        return words, calls

    words, calls = answer()
    messages.append({"role": "assistant", "content": words, "tool_calls": [call.model_dump() for call in calls]})
    messages.append({"role": "tool", "tool_name": "get_weather", "content": RESULT})
    return answer()[0]


def langchain(question, model):
    from langchain_core.messages import HumanMessage, ToolMessage

    bound = model.bind_tools([CHAT_TOOL])
    messages = [HumanMessage(question)]
    first = bound.invoke(messages)
    [call] = first.tool_calls
    messages.extend([first, ToolMessage(RESULT, tool_call_id=call["id"], name="get_weather")])
    return bound.invoke(messages).text


def langchain_openai(question):
    from langchain_openai import ChatOpenAI

    return langchain(question, ChatOpenAI(model="gpt-4o-mini", base_url=OPENAI, api_key=KEY))


def langchain_anthropic(question):
    from langchain_anthropic import ChatAnthropic

    return langchain(question, ChatAnthropic(model="claude-sonnet-4-6", base_url=ANTHROPIC, api_key=KEY))


def langchain_ollama(question):
    from langchain_ollama import ChatOllama

    return langchain(question, ChatOllama(model="llama3.2", base_url=OLLAMA))


def litellm(question, model, **where):
    import litellm as library

    messages = [{"role": "user", "content": question}]

    def answer():
        params = dict(model=model, messages=messages, tools=[CHAT_TOOL], api_key=KEY, **where)
        return library.completion(**params).choices[0].message

    first = answer()
    messages.append(first.model_dump(exclude_none=True))
    messages.append({"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": RESULT})
    return answer().content


def litellm_openai(question):
    return litellm(question, "openai/gpt-4o-mini", api_base=OPENAI)


def litellm_anthropic(question):
    return litellm(question, "anthropic/claude-sonnet-4-6", api_base=ANTHROPIC)


def pydantic_ai(question, model):
    from pydantic_ai import Agent

    agent = Agent(model)

    @agent.tool_plain
    def get_weather(city: str, unit: str = "C") -> str:
        """The weather of a city"""
        return RESULT

    return asyncio.run(agent.run(question)).output


def pydantic_ai_openai(question):
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return pydantic_ai(question, OpenAIChatModel("gpt-4o-mini", provider=OpenAIProvider(base_url=OPENAI, api_key=KEY)))


def pydantic_ai_anthropic(question):
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    client = AsyncAnthropic(base_url=ANTHROPIC, api_key=KEY)
    return pydantic_ai(question, AnthropicModel("claude-sonnet-4-6", provider=AnthropicProvider(anthropic_client=client)))


WAYS = {
    "openai chat": openai_chat,
    "openai chat, streamed": lambda question: openai_chat(question, stream=True),
    "openai responses": openai_responses,
    "openai responses, streamed": lambda question: openai_responses(question, stream=True),
    "anthropic": anthropic_messages,
    "anthropic, streamed": lambda question: anthropic_messages(question, stream=True),
    "ollama": ollama_chat,
    "ollama, streamed": lambda question: ollama_chat(question, stream=True),
    "langchain with openai": langchain_openai,
    "langchain with anthropic": langchain_anthropic,
    "langchain with ollama": langchain_ollama,
    "litellm with openai": litellm_openai,
    "litellm with anthropic": litellm_anthropic,
    "pydantic-ai with openai": pydantic_ai_openai,
    "pydantic-ai with anthropic": pydantic_ai_anthropic,
}

if __name__ == "__main__":
    way, question = sys.argv[1:]
    print(json.dumps({"answer": WAYS[way](question)}))
