-- Where very many pieces have a word, the newest uses of prompts are looked at, which this index delimits.
create index found_prompt_uses_at on svc.found_prompt_uses (at);
